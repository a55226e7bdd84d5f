import Testing

@testable import BBSimulation

/// Packet types of Core Vol 2, Part B, 6.5 and 6.7, with their maximum durations.
@Suite struct BREDRPacketTypeTests {
    typealias Row = (name: String, code: UInt8, slots: Int, header: Int, octets: Int, microseconds: Int)

    static let types: [Row] = [
        ("NULL", 0, 1, 0, 0, 126), ("POLL", 1, 1, 0, 0, 126), ("FHS", 2, 1, 0, 18, 366),
        ("DM1", 3, 1, 1, 17, 366),
        ("DH1", 4, 1, 1, 27, 366),
        ("DM3", 10, 3, 2, 121, 1626),
        ("DH3", 11, 3, 2, 183, 1622),
        ("DM5", 14, 5, 2, 224, 2871),
        ("DH5", 15, 5, 2, 339, 2870),
        ("AUX1", 9, 1, 1, 29, 366),
        ("2-DH1", 4, 1, 2, 54, 376),
        ("2-DH3", 10, 3, 2, 367, 1628),
        ("2-DH5", 14, 5, 2, 679, 2876),
        ("3-DH1", 8, 1, 2, 83, 376),
        ("3-DH3", 11, 3, 2, 552, 1627),
        ("3-DH5", 15, 5, 2, 1021, 2878),
        ("HV1", 5, 1, 0, 10, 366),
        ("HV2", 6, 1, 0, 20, 366),
        ("HV3", 7, 1, 0, 30, 366),
        ("EV3", 7, 1, 0, 30, 382),
        ("EV4", 12, 3, 0, 120, 1596),
        ("EV5", 13, 3, 0, 180, 1582),
        ("2-EV3", 6, 1, 0, 60, 392),
        ("2-EV5", 12, 3, 0, 360, 1592),
        ("3-EV3", 7, 1, 0, 90, 390),
        ("3-EV5", 13, 3, 0, 540, 1590),
    ]

    @Test(arguments: types) func aTypeAtItsLongest(_ row: Row) throws {
        let type = try #require(BREDRPacketType(rawValue: row.name))
        #expect(type.code == row.code && type.slots == row.slots && type.payloadHeaderLength == row.header && type.capacity == row.octets)
        let longest = type.airTime(payload: row.header + row.octets)
        #expect(longest == row.microseconds)
        // The rest of the last slot is needed to change channels.
        #expect(longest <= row.slots * 625 - 212)
    }

    @Test func everyTypeHasItsRow() {
        #expect(Set(Self.types.map(\.name)) == Set(BREDRPacketType.allCases.map(\.rawValue)))
    }

    @Test(arguments: [
        (1, 0b0001_0110, 2), (1, 0b1111_1010, 31), (2, 0b0001_0110, 2), (2, 0b1111_1010, 1_023),
    ]) func payloadHeaders(_ count: Int, _ first: Int, _ length: Int) throws {
        let octets = [UInt8(first)] + (count == 2 ? [UInt8(length >> 5)] : [])
        let header = try #require(BREDRPayloadHeader(octets, count: count))
        #expect(header.length == length && header.logicalLink == .start && header.flow == (first & 4 != 0))
        #expect(header.octets(count: count) == octets)
        #expect(BREDRPayloadHeader(octets.dropLast(), count: count) == nil)
        // Reserved bits are ignored.
        if count == 2 { #expect(BREDRPayloadHeader([octets[0], octets[1] | 0xE0], count: 2) == header) }
    }
}
