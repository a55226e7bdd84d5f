import BBPackets
import Testing

@testable import BBSimulation

/// Sample data of Core Vol 2, Part G, and values from an independent implementation.
@Suite struct BasebandCodeTests {
    /// Sync words in transmission order, the first bit in the most significant position.
    @Test(arguments: [
        (UInt32(0x00_0000), UInt64(0x7E70_41E3_4000_000D)), (0xFF_FFFF, 0xE758_B522_7FFF_FFF2), (0x9E_8B33, 0x475C_58CC_7334_5E72),
        (0x9E_8D64, 0x6432_60C1_C9AC_5E72), (0x61_6CEC, 0x586A_491F_0DCD_A18D),
    ]) func syncWords(_ lap: UInt32, _ sent: UInt64) {
        let word = SyncWord.of(lap: lap)
        let reversed = (0..<64).reduce(UInt64(0)) { $0 << 1 | word >> UInt64($1) & 1 }
        #expect(reversed == sent)
    }

    @Test(arguments: [
        (UInt8(0x00), UInt32(0x123), UInt8(0xE1)), (0x47, 0x123, 0x06), (0x00, 0x124, 0x32), (0x47, 0x125, 0xBD), (0x00, 0x11B, 0x9E),
        (0x47, 0x11F, 0x12),
    ]) func headerErrorChecks(_ uap: UInt8, _ header: UInt32, _ expected: UInt8) {
        #expect(HeaderErrorCheck.of(header, uap: uap) == expected)
    }

    @Test func payloadCRC() {
        #expect(CRC16.of([0x4E, 1, 2, 3, 4, 5, 6, 7, 8, 9], uap: 0x47) == [0x6D, 0xD2])
    }

    /// RF channels by phase of the page or inquiry hopping sequence of an address.
    static let scans: [(address: UInt32, channels: [UInt8])] = [
        (0x000_0000, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]), (0xA96_EF25, [49, 13, 17, 51, 55, 19, 23, 53, 57, 21]),
        (0x587_CBA9, [16, 65, 67, 18, 20, 53, 55, 6, 8, 57]), (0x09E_8B33, [43, 59, 27, 77, 45, 61, 29, 0, 47, 63]),
    ]

    @Test(arguments: scans) func scanChannels(_ address: UInt32, _ expected: [UInt8]) {
        #expect((0..<10).map { HopSelection.rfChannel(phase: $0, isResponse: false, address: address) } == expected)
    }

    /// RF channels by ticks of the inquirer's clock; every second slot is a response slot.
    static let trains: [(HopTrain, clock: UInt32, channels: [UInt8])] = [
        (.a, 0, [55, 71, 34, 62, 39, 10, 30, 74, 57, 73, 42, 70, 41, 75, 38, 48, 43, 59, 16, 44]),
        (.b, 0x1000, [55, 63, 34, 46, 31, 2, 14, 58, 49, 65, 26, 54, 33, 4, 22, 64, 51, 67, 32, 60]),
    ]

    @Test(arguments: trains) func inquiryTrains(_ train: HopTrain, _ start: UInt32, _ expected: [UInt8]) {
        let channels = (start..<start + 20).map { clock in
            let phase = train.phase(clock: clock)
            return (clock & 2 == 0 ? InquiryHops.idChannels : InquiryHops.responseChannels)[phase]
        }
        #expect(channels == expected)
    }

    @Test func anFHSPacketCarriesTheResponse() throws {
        let response = FHSPayload(
            address: 0xC0FF_EE9E_8D64, classOfDevice: 0x5A_020C, pageScanRepetition: 2, clock: 0x2AB_CDEF, announcesExtended: true)
        #expect(FHSPayload(payload: response.payload) == response)
        let packet = BREDRPacket(rfChannel: 3, lap: InquiryLAP.general, type: .fhs, payload: response.payload)
        #expect(packet.airTime == 366 && packet.header & 0x3FF == 2 << 3)
        #expect(BREDRPacket(rfChannel: 3, lap: InquiryLAP.general).airTime == 68)
        #expect(FHSPayload(payload: Array(response.payload.dropLast())) == nil)
    }

    /// Packet type and duration by data length, and the decoded data.
    @Test(arguments: [
        (1, false, BREDRPacketType.dh1, 158), (27, false, .dh1, 366), (28, false, .dh3, 382), (183, false, .dh3, 1_622),
        (240, false, .dh5, 2_078), (17, true, .dm1, 366), (18, true, .dm3, 396), (121, true, .dm3, 1_626), (224, true, .dm5, 2_871),
        (225, true, .dh5, 1_958), (240, true, .dh5, 2_078),
    ]) func extendedResponses(_ length: Int, _ isCorrected: Bool, _ type: BREDRPacketType, _ airTime: Int) throws {
        let data = [UInt8](repeating: 7, count: length) + [UInt8](repeating: 0, count: 240 - length)
        let response = try #require(ExtendedResponse(data, isForwardErrorCorrected: isCorrected))
        let packet = BREDRPacket(rfChannel: 0, lap: 0, type: response.packetType, payload: response.payload)
        #expect(packet.type == type && packet.airTime == Microseconds(airTime))
        #expect(ExtendedResponse(packet)?.data == data)
        #expect(ExtendedResponse([UInt8](repeating: 0, count: 240), isForwardErrorCorrected: isCorrected) == nil)
    }
}
