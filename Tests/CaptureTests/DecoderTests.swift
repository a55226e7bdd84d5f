import BBCapture
import BBPackets
import BBTiming
import BBTraffic
import Testing

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

    /// Encryption_Change with the value 0x01 on a BR/EDR link, on an LE link and on a link whose beginning is missing; both decoders agree.
    @Test(arguments: [(Optional(true), "On_E0"), (false, "On_AES_CCM"), (nil, "On_E0_Or_AES_CCM")])
    func encryptionIsNamedByTheTransport(isClassic: Bool?, name: String) {
        let handle = ConnectionHandle(0x40)
        var packets: [HCIPacket] = []
        switch isClassic {
        case true:
            packets.append(HCIPacket(event: HCIEvents.ConnectionComplete(status: .success, connectionHandle: handle, linkType: .acl)))
        case false: packets.append(HCIPacket(event: HCIEvents.LEConnectionComplete(status: .success, connectionHandle: handle)))
        case nil: break
        }
        packets.append(HCIPacket(event: HCIEvents.EncryptionChange(status: .success, connectionHandle: handle, encryptionEnabled: 1)))
        // The second of two equal events would come from a cache.
        packets.append(packets[packets.count - 1])
        var decoder = PacketDecoder()
        for packet in packets {
            var text = TextBuffer()
            decoder.write(CaptureRecord(time: .virtualEpoch, content: .hci(packet, .controllerToHost)), to: &text)
            guard packet.eventCode == HCIEvents.EncryptionChange.code else { continue }
            #expect(text.text.hasSuffix("Encryption_Enabled=\(name)"), "\(text.text)")
        }
        #expect(texts(packets.map { ($0, .controllerToHost) }).last?.hasSuffix("Encryption_Enabled=\(name)") == true)
    }

    @Test(arguments: [
        ([0x40, 0x10, 0x01, 0x00, 0x00], "continuation without a start"),
        ([0x40, 0x20, 0x06, 0x00, 0x01, 0x00, 0x04, 0x00, 0x0A, 0x0B], "more octets than"),
        ([0x40], "too short"),
        ([0x40, 0x20, 0x09, 0x00, 0x00], "cut: 1 of 9 octets"),
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
