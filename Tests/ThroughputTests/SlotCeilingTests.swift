import BBSimulation
import Testing

@testable import BBThroughput

/// Rates by slots, in kbit/s with one decimal: those of Core Vol 2, Part B, 6.7, and the share of L2CAP.
@Suite struct SlotCeilingTests {
    static func digits(_ rate: Double) -> Double { (rate * 10).rounded() / 10 }

    /// kbit/s, unencrypted and with AES-CCM: an SDU that fills one packet, with acknowledgements and with the same type in return; and the
    /// limit for long SDUs.
    struct SDU: Sendable {
        var plain, authenticated, both, bothAuthenticated, limit, authenticatedLimit: Double

        init(
            _ plain: Double, _ authenticated: Double, both: Double, _ bothAuthenticated: Double, limit: Double, _ authenticatedLimit: Double
        ) {
            (self.plain, self.authenticated, self.both, self.bothAuthenticated) = (plain, authenticated, both, bothAuthenticated)
            (self.limit, self.authenticatedLimit) = (limit, authenticatedLimit)
        }
    }

    /// Rates of a packet type: the same type in both directions; this type in one direction and the single-slot type of its family in the
    /// other.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var symmetric, forward, reverse: Double
        /// Nil for the type without retransmission, which carries no L2CAP.
        var sdu: SDU?

        init(_ type: String, symmetric: Double, forward: Double, reverse: Double, _ sdu: SDU? = nil) {
            (testDescription, self.symmetric, self.forward, self.reverse, self.sdu) = (type, symmetric, forward, reverse, sdu)
        }
    }

    static let rows = [
        Row("DM1", symmetric: 108.8, forward: 108.8, reverse: 108.8, SDU(83.2, 57.6, both: 83.2, 57.6, limit: 108.8, 83.2)),
        Row("DH1", symmetric: 172.8, forward: 172.8, reverse: 172.8, SDU(147.2, 121.6, both: 147.2, 121.6, limit: 172.8, 147.2)),
        Row("DM3", symmetric: 258.1, forward: 387.2, reverse: 54.4, SDU(374.4, 361.6, both: 249.6, 241.1, limit: 387.2, 374.4)),
        Row("DH3", symmetric: 390.4, forward: 585.6, reverse: 86.4, SDU(572.8, 560.0, both: 381.9, 373.3, limit: 585.6, 572.8)),
        Row("DM5", symmetric: 286.7, forward: 477.9, reverse: 36.3, SDU(469.3, 460.8, both: 281.6, 276.5, limit: 477.9, 469.3)),
        Row("DH5", symmetric: 433.9, forward: 723.2, reverse: 57.6, SDU(714.7, 706.1, both: 428.8, 423.7, limit: 723.2, 714.7)),
        Row("AUX1", symmetric: 185.6, forward: 185.6, reverse: 185.6),
        Row("2-DH1", symmetric: 345.6, forward: 345.6, reverse: 345.6, SDU(320.0, 294.4, both: 320.0, 294.4, limit: 345.6, 320.0)),
        Row("2-DH3", symmetric: 782.9, forward: 1174.4, reverse: 172.8, SDU(1161.6, 1148.8, both: 774.4, 765.9, limit: 1174.4, 1161.6)),
        Row("2-DH5", symmetric: 869.1, forward: 1448.5, reverse: 115.2, SDU(1440.0, 1431.5, both: 864.0, 858.9, limit: 1448.5, 1440.0)),
        Row("3-DH1", symmetric: 531.2, forward: 531.2, reverse: 531.2, SDU(505.6, 480.0, both: 505.6, 480.0, limit: 531.2, 505.6)),
        Row("3-DH3", symmetric: 1177.6, forward: 1766.4, reverse: 265.6, SDU(1753.6, 1740.8, both: 1169.1, 1160.5, limit: 1766.4, 1753.6)),
        Row("3-DH5", symmetric: 1306.9, forward: 2178.1, reverse: 177.1, SDU(2169.6, 2161.1, both: 1301.8, 1296.6, limit: 2178.1, 2169.6)),
    ]

    @Test(arguments: rows) func maximumRates(_ row: Row) throws {
        let type = try #require(BREDRPacketType(rawValue: row.testDescription))
        let short = try #require(type == .aux1 ? type : PacketFamily.allCases.first { $0.types.contains(type) }?.types.first)
        #expect(Self.digits(SlotRate.maximum(type, reverse: type)) == row.symmetric)
        #expect(Self.digits(SlotRate.maximum(type, reverse: short)) == row.forward)
        #expect(Self.digits(SlotRate.maximum(short, reverse: type)) == row.reverse)
    }

    @Test(arguments: rows.filter { $0.sdu != nil }) func anSDUInAPacket(_ row: Row) throws {
        let type = try #require(BREDRPacketType(rawValue: row.testDescription))
        let family = try #require(PacketFamily.allCases.first { $0.types.contains(type) })
        let expected = try #require(row.sdu)
        for (isAuthenticated, oneWay, both, limit) in [
            (false, expected.plain, expected.both, expected.limit),
            (true, expected.authenticated, expected.bothAuthenticated, expected.authenticatedLimit),
        ] {
            let sdu = type.capacity - 4 - (isAuthenticated ? 4 : 0)
            func ceiling(_ sdu: Int, _ reverse: SlotCeiling.Reverse) -> SlotCeiling {
                SlotCeiling(sdu: sdu, family: family, maximumSlots: type.slots, isAuthenticated: isAuthenticated, reverse: reverse)
            }
            #expect(ceiling(sdu, .acknowledgements).packets == [type])
            #expect(Self.digits(ceiling(sdu, .acknowledgements).goodput) == oneWay)
            #expect(Self.digits(ceiling(sdu, .same).goodput) == both)
            let maximum = SlotRate.maximum(type, reverse: .null, isAuthenticated: isAuthenticated)
            #expect(Self.digits(maximum) == limit)
            // The basic header and the last packet matter less with the length of the SDU.
            #expect(ceiling(65_535, .acknowledgements).goodput < maximum && ceiling(65_535, .acknowledgements).goodput > maximum * 0.98)
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
