import Simulation
import Testing

@testable import Throughput

/// What slots let through, in kbit/s to one digit: the rates of Core Vol 2, Part B, 6.7, and L2CAP's share of them.
@Suite struct SlotCeilingTests {
    static func digits(_ rate: Double) -> Double { (rate * 10).rounded() / 10 }

    typealias Rates = (name: String, symmetric: Double, forward: Double, reverse: Double)

    /// The same type both ways; this type one way, and the type of one slot of its family the other.
    static let rates: [Rates] = [
        ("DM1", 108.8, 108.8, 108.8),
        ("DH1", 172.8, 172.8, 172.8),
        ("DM3", 258.1, 387.2, 54.4),
        ("DH3", 390.4, 585.6, 86.4),
        ("DM5", 286.7, 477.9, 36.3),
        ("DH5", 433.9, 723.2, 57.6),
        ("AUX1", 185.6, 185.6, 185.6),
        ("2-DH1", 345.6, 345.6, 345.6),
        ("2-DH3", 782.9, 1174.4, 172.8),
        ("2-DH5", 869.1, 1448.5, 115.2),
        ("3-DH1", 531.2, 531.2, 531.2),
        ("3-DH3", 1177.6, 1766.4, 265.6),
        ("3-DH5", 1306.9, 2178.1, 177.1),
    ]

    @Test(arguments: rates) func maximumRates(_ row: Rates) throws {
        let type = try #require(BREDRPacketType(rawValue: row.name))
        let short = try #require(type == .aux1 ? type : PacketFamily.allCases.first { $0.types.contains(type) }?.types.first)
        #expect(Self.digits(SlotRate.maximum(type, reverse: type)) == row.symmetric)
        #expect(Self.digits(SlotRate.maximum(type, reverse: short)) == row.forward)
        #expect(Self.digits(SlotRate.maximum(short, reverse: type)) == row.reverse)
    }

    typealias Goodput = (
        name: String, plain: Double, authenticated: Double, both: Double, bothAuthenticated: Double, long: (Double, Double)
    )

    /// An SDU that fills one packet, against acknowledgements and against the same; and where long SDUs tend to.
    static let goodputs: [Goodput] = [
        ("DM1", 83.2, 57.6, 83.2, 57.6, (108.8, 83.2)),
        ("DH1", 147.2, 121.6, 147.2, 121.6, (172.8, 147.2)),
        ("DM3", 374.4, 361.6, 249.6, 241.1, (387.2, 374.4)),
        ("DH3", 572.8, 560.0, 381.9, 373.3, (585.6, 572.8)),
        ("DM5", 469.3, 460.8, 281.6, 276.5, (477.9, 469.3)),
        ("DH5", 714.7, 706.1, 428.8, 423.7, (723.2, 714.7)),
        ("2-DH1", 320.0, 294.4, 320.0, 294.4, (345.6, 320.0)),
        ("2-DH3", 1161.6, 1148.8, 774.4, 765.9, (1174.4, 1161.6)),
        ("2-DH5", 1440.0, 1431.5, 864.0, 858.9, (1448.5, 1440.0)),
        ("3-DH1", 505.6, 480.0, 505.6, 480.0, (531.2, 505.6)),
        ("3-DH3", 1753.6, 1740.8, 1169.1, 1160.5, (1766.4, 1753.6)),
        ("3-DH5", 2169.6, 2161.1, 1301.8, 1296.6, (2178.1, 2169.6)),
    ]

    @Test(arguments: goodputs) func anSDUInAPacket(_ row: Goodput) throws {
        let type = try #require(BREDRPacketType(rawValue: row.name))
        let family = try #require(PacketFamily.allCases.first { $0.types.contains(type) })
        for (isAuthenticated, oneWay, both, long) in [
            (false, row.plain, row.both, row.long.0), (true, row.authenticated, row.bothAuthenticated, row.long.1),
        ] {
            let sdu = type.capacity - 4 - (isAuthenticated ? 4 : 0)
            func ceiling(_ sdu: Int, _ reverse: SlotCeiling.Reverse) -> SlotCeiling {
                SlotCeiling(sdu: sdu, family: family, maximumSlots: type.slots, isAuthenticated: isAuthenticated, reverse: reverse)
            }
            #expect(ceiling(sdu, .acknowledgements).packets == [type])
            #expect(Self.digits(ceiling(sdu, .acknowledgements).goodput) == oneWay)
            #expect(Self.digits(ceiling(sdu, .same).goodput) == both)
            let limit = SlotRate.maximum(type, reverse: .null, isAuthenticated: isAuthenticated)
            #expect(Self.digits(limit) == long)
            // The basic header and a last packet that is not full matter less and less.
            #expect(ceiling(65_535, .acknowledgements).goodput < limit && ceiling(65_535, .acknowledgements).goodput > limit * 0.98)
        }
    }

    typealias Size = (sdu: Int, family: PacketFamily, plain: Double, authenticated: Double)

    static let sizes: [Size] = [
        (23, .dh, 147.2, 73.6),
        (23, .dm, 73.6, 73.6),
        (23, .twoDH, 147.2, 147.2),
        (23, .threeDH, 147.2, 147.2),
        (335, .dh, 714.7, 536.0),
        (335, .dm, 428.8, 357.3),
        (335, .twoDH, 1072.0, 1072.0),
        (335, .threeDH, 1072.0, 1072.0),
        (672, .dh, 716.8, 614.4),
        (672, .dm, 430.1, 391.0),
        (672, .twoDH, 1433.6, 1075.2),
        (672, .threeDH, 1433.6, 1433.6),
        (1017, .dh, 650.9, 650.9),
        (1017, .dm, 433.9, 433.9),
        (1017, .twoDH, 1301.8, 1301.8),
        (1017, .threeDH, 2169.6, 1627.2),
        (1691, .dh, 721.5, 676.4),
        (1691, .dm, 450.9, 450.9),
        (1691, .twoDH, 1352.8, 1352.8),
        (1691, .threeDH, 1803.7, 1803.7),
        (2048, .dh, 689.9, 655.4),
        (2048, .dm, 452.0, 452.0),
        (2048, .twoDH, 1310.7, 1310.7),
        (2048, .threeDH, 1872.5, 1872.5),
    ]

    @Test(arguments: sizes) func sizesInUse(_ row: Size) {
        #expect(Self.digits(SlotCeiling(sdu: row.sdu, family: row.family).goodput) == row.plain)
        #expect(Self.digits(SlotCeiling(sdu: row.sdu, family: row.family, isAuthenticated: true).goodput) == row.authenticated)
    }

    @Test func anSDUIsCutIntoPackets() {
        let ceiling = SlotCeiling(sdu: 1_017, family: .dh)
        #expect(ceiling.packets == [.dh5, .dh5, .dh5, .dh1] && ceiling.slots == 20)
        #expect(SlotCeiling(sdu: 180, family: .dh, maximumSlots: 3).packets == [.dh3, .dh1])
        #expect(SlotCeiling(sdu: 100, family: .dh, maximumSlots: 1, reverse: .same).slots == 8)
    }
}
