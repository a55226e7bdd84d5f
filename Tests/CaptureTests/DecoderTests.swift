import Capture
import Packets
import Testing
import Timing

@Suite struct DecoderTests {
    private func texts(_ packets: [(HCIPacket, CaptureDirection)]) -> [String] {
        var decoder = PacketDecoder()
        return packets.map { decoder.decode($0.0, $0.1).description }
    }

    @Test func commandsEventsAndFragmentedAttributePDUsAreNamed() {
        let lines = texts([
            (HCIPacket(.command, [0x03, 0x0C, 0x00]), .hostToController),
            (HCIPacket(.event, [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]), .controllerToHost),
            (HCIPacket(.acl, [0x40, 0x00, 0x05, 0x00, 0x03, 0x00, 0x04, 0x00, 0x02]), .hostToController),
            (HCIPacket(.acl, [0x40, 0x20, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x03, 0x17, 0x00]), .controllerToHost),
            (HCIPacket(.acl, [0x40, 0x10, 0x02, 0x00, 0xF7, 0x00]), .hostToController),
        ])
        #expect(lines[0].hasPrefix("Reset"))
        #expect(lines[1].hasPrefix("Command_Complete") && lines[1].contains("Reset"))
        #expect(lines[2] == "ACL 0x0040 first 5 octets")
        #expect(lines[3] == "ACL 0x0040 ATT_EXCHANGE_MTU_RSP Server_Rx_MTU=23 octets")
        #expect(lines[4] == "ACL 0x0040 ATT_EXCHANGE_MTU_REQ Client_Rx_MTU=247 octets")
    }

    @Test(arguments: [
        ([0x40, 0x10, 0x01, 0x00, 0x00], "continuation without a start"),
        ([0x40, 0x20, 0x06, 0x00, 0x01, 0x00, 0x04, 0x00, 0x0A, 0x0B], "more octets than"),
        ([0x40], "too short"),
        ([0x40, 0x20, 0x09, 0x00, 0x00], "header says 9"),
    ])
    func brokenDataIsShownAsBroken(bytes: [UInt8], words: String) {
        #expect(texts([(HCIPacket(.acl, bytes), .controllerToHost)])[0].contains(words))
    }

    @Test func noOctetsTrapTheDecoder() {
        var random = RandomSource(seed: 1)
        var decoder = PacketDecoder()
        for round in 0..<4_000 {
            let octets = random.octets(Int.random(in: 0...40, using: &random))
            for kind in HCIPacket.Kind.allCases {
                _ = decoder.decode(HCIPacket(kind, octets), nil).description
            }
            var frame = sampleFrame
            frame.bytes = octets
            frame.channel = AirFrame.Channel.allCases[round % AirFrame.Channel.allCases.count]
            frame.modulation = AirFrame.Modulation.allCases[round % AirFrame.Modulation.allCases.count]
            #expect(!decoder.decode(frame).description.isEmpty)
        }
    }
}
