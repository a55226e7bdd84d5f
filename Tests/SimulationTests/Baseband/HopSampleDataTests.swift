import Testing

@testable import BBSimulation

/// The sample data of Core Vol 2, Part G for hop sequences: three addresses, and RF channels by the ticks of a clock.
@Suite struct HopSampleDataTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let address: UInt32
        let map: UInt128
        let channels: [UInt8]
        var testDescription: String { "\(String(address, radix: 16)) \(String(map, radix: 16))" }

        init(address: UInt32, map: UInt128 = AdaptedChannelMap.all.mask, _ channels: String) {
            self.address = address
            self.map = map
            self.channels = channels.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0) }
        }
    }

    /// The slots in both rows of the tables.
    static let clocks = Array(stride(from: UInt32(0x10), through: 0x2E, by: 2)) + stride(from: UInt32(0x3F0), through: 0x40E, by: 2)

    static let basic = [
        Row(address: 0x0000_0000, "8 66 10 70 12 19 14 23 16 1 18 5 20 33 22 37 29 65 33 2 45 18 49 34 19 4 21 8 23 20 25 24"),
        Row(address: 0x2A96_EF25, "55 26 19 20 23 22 53 40 57 42 21 36 25 38 27 63 20 9 65 78 67 7 26 5 44 29 32 23 36 25 70 43"),
        Row(address: 0x6587_CBA9, "20 60 53 62 55 66 6 64 8 68 57 70 59 74 10 72 76 45 34 19 38 27 66 23 11 71 5 18 7 22 13 20"),
    ]

    @Test(arguments: basic) func basicChannels(_ row: Row) {
        #expect(Self.clocks.map { HopSelection.basicChannel(clock: $0, address: row.address) } == row.channels)
        // With all channels in use, only the peripheral's slots differ.
        for (clock, channel) in zip(Self.clocks, row.channels) where clock & 2 == 0 {
            #expect(HopSelection.adaptedChannel(clock: clock, address: row.address, map: .all) == channel)
            #expect(HopSelection.adaptedChannel(clock: clock | 2, address: row.address, map: .all) == channel)
        }
    }

    static let adapted = [
        Row(address: 0x0000_0000, map: 0x7FFF_FFFF_FFFF_FFC0_0000, "30 32 34 36 38 40 42 22 29 33 45 49 50 52 23 25"),
        Row(address: 0x0000_0000, map: 0x5555_5555_5555_5555_5555, "8 10 12 14 16 18 20 22 26 30 42 46 16 18 20 22"),
        Row(address: 0x0000_0000, map: 0x2AAA_AAAA_AAAA_AAAA_AAAA, "9 11 13 15 17 19 21 23 29 33 45 49 19 21 23 25"),
        Row(address: 0x2A96_EF25, map: 0x7FFF_FFFF_FFFF_FFC0_0000, "55 50 23 53 57 52 25 27 60 65 67 26 44 32 36 70"),
        Row(address: 0x2A96_EF25, map: 0x5555_5555_5555_5555_5555, "52 16 20 50 54 18 22 24 20 60 62 26 44 32 36 70"),
        Row(address: 0x2A96_EF25, map: 0x2AAA_AAAA_AAAA_AAAA_AAAA, "55 19 23 53 57 21 25 27 27 65 67 33 51 39 43 77"),
        Row(address: 0x6587_CBA9, map: 0x7FFF_FFFF_FFFF_FFC0_0000, "29 53 55 72 74 57 59 76 76 34 38 66 29 23 25 31"),
        Row(address: 0x6587_CBA9, map: 0x5555_5555_5555_5555_5555, "20 52 54 6 8 56 58 10 76 34 38 66 6 0 2 8"),
        Row(address: 0x6587_CBA9, map: 0x2AAA_AAAA_AAAA_AAAA_AAAA, "23 53 55 9 11 57 59 13 3 39 43 71 11 5 7 13"),
    ]

    @Test(arguments: adapted) func adaptedChannels(_ row: Row) throws {
        let map = try #require(AdaptedChannelMap(row.map))
        for (index, clock) in Self.clocks.enumerated() {
            #expect(HopSelection.adaptedChannel(clock: clock, address: row.address, map: map) == row.channels[index / 2])
        }
    }

    @Test func mapsThatAreNone() {
        #expect(AdaptedChannelMap(1 << 79 - 1) == .all)
        #expect(AdaptedChannelMap(1 << 80 - 1) == nil)
        #expect(AdaptedChannelMap(1 << 20 - 1) != nil)
        #expect(AdaptedChannelMap(1 << 19 - 1) == nil)
    }

    /// By CLKN16-12.
    static let scans = [
        Row(address: 0x0000_0000, "0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62"),
        Row(address: 0x2A96_EF25, "49 13 17 51 55 19 23 53 57 21 25 27 31 74 78 29 33 76 1 35 39 3 7 37 41 5 9 43 47 11 15 45"),
        Row(address: 0x6587_CBA9, "16 65 67 18 20 53 55 6 8 57 59 10 12 69 71 22 24 73 75 26 28 45 47 77 0 49 51 2 4 61 63 14"),
    ]

    @Test(arguments: scans) func pageScanChannels(_ row: Row) {
        let channels = (0..<32).map { clock in
            HopSelection.rfChannel(phase: PageHops.scanPhase(clock: UInt32(clock) << 12 | 0xFFF), isResponse: false, address: row.address)
        }
        #expect(channels == row.channels)
    }

    /// Train A from tick 0 on, train B from tick 0x1000 on.
    static let trains = [
        Row(
            address: 0x0000_0000,
            """
            48 50 9 13 52 54 41 45 56 58 11 15 60 62 43 47 0 2 64 68 4 6 17 21 8 10 66 70 12 14 19 23 48 18 9 5 20 22 33 37 24 26 3
            7 28 30 35 39 32 34 72 76 36 38 25 29 40 42 74 78 44 46 27 31
            """),
        Row(
            address: 0x2A96_EF25,
            """
            41 5 10 4 9 43 6 16 47 11 18 12 15 45 14 32 49 13 34 28 17 51 30 24 55 19 26 20 23 53 22 40 41 21 10 36 25 27 38 63 31
            74 65 59 78 29 61 0 33 76 2 75 1 35 77 71 39 3 73 67 7 37 69 8
            """),
        Row(
            address: 0x6587_CBA9,
            """
            0 49 36 38 51 2 42 40 4 61 44 46 63 14 50 48 16 65 52 54 67 18 58 56 20 53 60 62 55 6 66 64 0 57 36 70 59 10 74 72 12
            69 76 78 71 22 3 1 24 73 5 7 75 26 11 9 28 45 13 30 47 77 34 32
            """),
    ]

    @Test(arguments: trains) func pageChannels(_ row: Row) {
        let channels = (0..<64).map { index in
            let clock = index < 32 ? UInt32(index) : 0x1000 + UInt32(index - 32)
            let phase = (index < 32 ? HopTrain.a : .b).phase(clock: clock)
            return HopSelection.rfChannel(phase: phase, isResponse: clock & 2 != 0, address: row.address)
        }
        #expect(channels == row.channels)
    }

    /// Every second tick: the paged device from 0x12 on, after a page at 0x10; the pager from 0x14 on, after its page at 0x12.
    static let responses = [
        Row(address: 0x0000_0000, "64 2 68 4 17 6 21 8 66 10 70 12 19 14 2 68 4 17 6 21 8 66 10 70 12 19 14 23"),
        Row(address: 0x2A96_EF25, "34 13 28 17 30 51 24 55 26 19 20 23 22 53 13 28 17 30 51 24 55 26 19 20 23 22 53 40"),
        Row(address: 0x6587_CBA9, "52 65 54 67 58 18 56 20 60 53 62 55 66 6 65 54 67 58 18 56 20 60 53 62 55 66 6 64"),
    ]

    @Test(arguments: responses) func pageResponseChannels(_ row: Row) {
        func channel(_ phase: Int, _ clock: Int) -> UInt8 {
            HopSelection.rfChannel(phase: phase, isResponse: clock & 2 != 0, address: row.address)
        }
        let peripheral = stride(from: 0x12, through: 0x2C, by: 2).map {
            channel(PageHops.peripheralResponsePhase(clock: 0x10, count: ($0 - 0x10) >> 2), $0)
        }
        let central = stride(from: 0x14, through: 0x2E, by: 2).map {
            channel(PageHops.centralResponsePhase(clock: 0x12, train: .a, count: ($0 - 0x10) >> 2), $0)
        }
        #expect(peripheral + central == row.channels)
    }
}
