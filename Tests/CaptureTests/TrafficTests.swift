import BBCapture
import BBPackets
import BBTiming
import BBTraffic
import Testing

/// Decoding that depends on earlier packets: fragments, channels, keys, manufacturer of the controller.
@Suite struct TrafficTests {
    private static func acl(_ direction: CaptureDirection, _ channel: UInt8, _ pdu: [UInt8]) -> CaptureRecord.Content {
        .hci(HCIPacket(acl: 0x40, .first, [UInt8(pdu.count), 0, channel, 0] + pdu), direction)
    }

    private static func data(_ header: UInt8, _ payload: [UInt8], _ way: AirFrame.Channel = .dataFromCentral, rf: UInt8 = 1)
        -> CaptureRecord.Content
    {
        .air(
            AirFrame(
                rfChannel: rf, signalPower: -40, referenceAccessAddress: 0, flags: [.dewhitened], channel: way, modulation: .le1M,
                bytes: [0xA7, 0x4C, 0x65, 0x50, header, UInt8(payload.count)] + payload + [0, 0, 0]))
    }

    /// PDU type 0 of the capture header: advertising, or data of unknown direction.
    private static func advertising(_ pdu: [UInt8], rf: UInt8) -> CaptureRecord.Content {
        .air(
            AirFrame(
                rfChannel: rf, signalPower: -40, referenceAccessAddress: 0x5065_4CA7, flags: [.dewhitened], channel: .advertising,
                modulation: .le1M, bytes: [0xD6, 0xBE, 0x89, 0x8E] + pdu + [0, 0, 0]))
    }

    struct Story: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var packets: [CaptureRecord.Content]
        var lines: [String]
    }

    static let stories: [Story] = [
        Story(
            testDescription: "enhanced ATT on a channel that signalling opened",
            packets: [
                acl(.hostToController, 5, [0x17, 1, 10, 0, 0x27, 0, 64, 0, 64, 0, 1, 0, 0x50, 0]),
                acl(.controllerToHost, 5, [0x18, 1, 10, 0, 64, 0, 64, 0, 1, 0, 0, 0, 0x60, 0]),
                acl(.hostToController, 0x60, [3, 0, 0x0A, 3, 0]),
                acl(.controllerToHost, 0x50, [2, 0, 0x0B, 7]),
                acl(.controllerToHost, 0x60, [2, 0, 0x0B, 7]),
            ],
            lines: [
                "ACL 0x0040 L2CAP_CREDIT_BASED_CONNECTION_REQ SPSM=", "ACL 0x0040 L2CAP_CREDIT_BASED_CONNECTION_RSP MTU=64 octets",
                "ACL 0x0040 ATT_READ_REQ Attribute_Handle=0x0003", "ACL 0x0040 ATT_READ_RSP Attribute_Value=07",
                "ACL 0x0040 L2CAP 0x0060 4 octets: 02000B07",
            ]),
        Story(
            testDescription: "an SDU in two K-frames",
            packets: [
                acl(.hostToController, 5, [0x14, 1, 10, 0, 0x80, 0, 0x50, 0, 64, 0, 64, 0, 1, 0]),
                acl(.controllerToHost, 5, [0x15, 1, 10, 0, 0x60, 0, 64, 0, 64, 0, 1, 0, 0, 0]),
                acl(.hostToController, 0x60, [3, 0, 0xAA, 0xBB]), acl(.hostToController, 0x60, [0xCC]),
            ],
            lines: [
                "ACL 0x0040 L2CAP_LE_CREDIT", "ACL 0x0040 L2CAP_LE_CREDIT", "ACL 0x0040 L2CAP 0x0060 part of an SDU 2 octets: AABB",
                "ACL 0x0040 L2CAP 0x0060 SPSM 0x0080 3 octets: AABBCC",
            ]),
        Story(
            testDescription: "fragments on the air, each way for itself, and one that came twice",
            packets: [
                data(0x02, [3, 0, 4, 0, 0x0A]), data(0x06, [3, 0, 4, 0, 0x02, 23, 0], .dataFromPeripheral), data(0x09, [3, 0]),
                data(0x09, [3, 0]),
            ],
            lines: [
                "channel 0 1M 0x50654CA7 C>P SN=0 NESN=0 MD=0 start 5 octets",
                "channel 0 1M 0x50654CA7 P>C SN=0 NESN=1 MD=0 ATT_EXCHANGE_MTU_REQ Client_Rx_MTU=23 octets",
                "channel 0 1M 0x50654CA7 C>P SN=1 NESN=0 MD=0 ATT_READ_REQ Attribute_Handle=0x0003",
                "channel 0 1M 0x50654CA7 C>P SN=1 NESN=0 MD=0 continued 2 octets",
            ]),
        Story(
            testDescription: "a link that is encrypted",
            packets: [
                data(0x03, [5], .dataFromPeripheral), data(0x03, [0x11, 1, 2, 3, 4]), data(0x0E, [9, 9, 9, 9, 9], .dataFromPeripheral),
            ],
            lines: [
                "channel 0 1M 0x50654CA7 P>C SN=0 NESN=0 MD=0 LL_START_ENC_REQ",
                "channel 0 1M 0x50654CA7 C>P SN=0 NESN=0 MD=0 encrypted 5 octets",
                "channel 0 1M 0x50654CA7 P>C SN=1 NESN=1 MD=0 encrypted 5 octets",
            ]),
        Story(
            testDescription: "an encrypted link that the capturing tool has decrypted",
            packets: [data(0x03, [5], .dataFromPeripheral), data(0x03, [6]), data(0x0E, [3, 0, 4, 0, 0x0A, 3, 0], .dataFromPeripheral)],
            lines: [
                "channel 0 1M 0x50654CA7 P>C SN=0 NESN=0 MD=0 LL_START_ENC_REQ",
                "channel 0 1M 0x50654CA7 C>P SN=0 NESN=0 MD=0 LL_START_ENC_RSP",
                "channel 0 1M 0x50654CA7 P>C SN=1 NESN=1 MD=0 ATT_READ_REQ Attribute_Handle=0x0003",
            ]),
        Story(
            testDescription: "security and signalling on the air",
            packets: [
                data(0x02, [2, 0, 6, 0, 0x0B, 1]), data(0x02, [6, 0, 5, 0, 1, 9, 2, 0, 0, 0], .dataFromPeripheral, rf: 39),
                data(0x03, [0x3C, 150, 0, 1, 1, 0], .dataFromPeripheral, rf: 12),
            ],
            lines: [
                "channel 0 1M 0x50654CA7 C>P SN=0 NESN=0 MD=0 SMP Security_Request AuthReq=Bonding",
                "channel 39 1M 0x50654CA7 P>C SN=0 NESN=0 MD=0 L2CAP_COMMAND_REJECT_RSP Reason=Command_Not_Understood",
                "channel 38 1M 0x50654CA7 P>C SN=0 NESN=0 MD=0 LL_FRAME_SPACE_RSP FS=150 us PHYS=LE_1M Spacing_Types=1",
            ]),
        // Core Vol 6, Part B, 2.1.2: the advertising access address. The one in the capture header is only the receiver's setting.
        Story(
            testDescription: "of advertising and data, the access address in the packet decides",
            packets: [
                advertising([0x02, 7, 1, 0, 0, 0xBE, 0xB1, 0xC0, 0xAA], rf: 0), advertising([0x07, 1, 0], rf: 12),
                advertising([0x07, 9, 0x08, 0x09, 1, 0, 0, 0, 0, 0x41, 0], rf: 20), advertising([0x07, 1, 0], rf: 20),
            ],
            lines: [
                "channel 37 1M ADV_NONCONN_IND AdvA=", "channel 38 1M ADV_EXT_IND ", "channel 18 1M AUX_ADV_IND ",
                "channel 18 1M AUX_CHAIN_IND ",
            ]),
        Story(
            testDescription: "opcode 0 in an answer is no command's",
            packets: [
                .hci(HCIPacket(.event, [0x0E, 3, 1, 0, 0]), .controllerToHost),
                .hci(HCIPacket(.event, [0x0F, 4, 0, 1, 0, 0]), .controllerToHost),
            ],
            lines: [
                "Command_Complete Num_HCI_Command_Packets=1 Command_Opcode=No_Operation",
                "Command_Status Status=Success Num_HCI_Command_Packets=1 Command_Opcode=No_Operation",
            ]),
        Story(
            testDescription: "a sniffer that does not tell the direction",
            packets: [data(0x02, [3, 0, 4, 0, 0x0A, 3, 0], .advertising, rf: 0xFF)],
            lines: ["1M 0x50654CA7 SN=0 NESN=0 MD=0 ATT_READ_REQ Attribute_Handle=0x0003"]),
        Story(
            testDescription: "vendor commands bear the names of the controller's company",
            packets: [
                .hci(HCIPacket(.command, [0x61, 0xFC, 0]), .hostToController),
                .hci(HCIPacket(.event, [0x0E, 12, 1, 1, 0x10, 0, 12, 0, 0, 12, 0x5D, 0, 0, 0]), .controllerToHost),
                .hci(HCIPacket(.command, [0x6D, 0xFC, 0]), .hostToController),
                .hci(HCIPacket(.command, [0x05, 0xFC, 0]), .hostToController),
            ],
            lines: [
                "Vendor_Command_0xFC61",
                "Command_Complete Num_HCI_Command_Packets=1 Command_Opcode=Read_Local_Version_Information Status=Success HCI_Version=5.3 "
                    + "HCI_Subversion=0 LMP_Version=5.3 Company_Identifier=0x005D (Realtek) LMP_Subversion=0",
                "Realtek_Read_ROM_Version", "Vendor_Command_0xFC05",
            ]),
        Story(
            testDescription: "text from outside commands no terminal",
            packets: [.note("a\u{1B}[2J\nb\u{202E}")], lines: ["note: a\\u{1B}[2J b\\u{202E}"]),
    ]

    @Test("Lines of a story", arguments: stories) func lines(_ story: Story) {
        var decoder = PacketDecoder()
        for (packet, line) in zip(story.packets, story.lines) {
            let text = decoder.decode(CaptureRecord(time: .virtualEpoch, content: packet)).description
            #expect(text.hasPrefix(line))
        }
        #expect(story.packets.count == story.lines.count)
    }

    /// Complete PDUs, fragments of others, and answers of controllers of two companies, repeatedly in any order.
    @Test("A line that is looked up is the one that would be decoded", arguments: [1, 2, 3] as [UInt64]) func knownLines(seed: UInt64) {
        let version: [UInt8] = [0x0E, 12, 1, 1, 0x10, 0, 12, 0, 0, 12]
        let others: [CaptureRecord.Content] = [
            .hci(HCIPacket(.event, version + [0x5D, 0, 0, 0]), .controllerToHost),
            .hci(HCIPacket(.event, version + [2, 0, 0, 0]), .controllerToHost),
            .hci(HCIPacket(.acl, [0x40, 0, 5, 0, 3, 0, 4, 0, 2]), .hostToController),
            .hci(HCIPacket(.acl, [0x40, 0x10, 2, 0, 0xF7, 0]), .hostToController),
            .hci(HCIPacket(.event, [0x05, 4, 0, 0x40, 0, 0x13]), .controllerToHost),
            Self.acl(.hostToController, 4, [0x0A, 3, 0]), Self.acl(.controllerToHost, 4, [0x0B, 7]),
            Self.acl(.hostToController, 6, [5, 8]),
        ]
        let packets = Self.stories.flatMap(\.packets) + others
        var random = RandomSource(seed: seed)
        var (decoding, writing) = (PacketDecoder(), PacketDecoder())
        for _ in 0..<1_000 {
            let record = CaptureRecord(time: .virtualEpoch, content: packets[Int.random(in: packets.indices, using: &random)])
            #expect(TextBuffer.text { writing.write(record, to: &$0) } == decoding.decode(record).description)
        }
    }

    struct Sniffed: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Event id, then flags, channel index and RSSI, then the packet.
        var event: UInt8
        var circumstances: [UInt8]
        var packet: [UInt8]
        var line: String
    }

    static let sniffed: [Sniffed] = [
        Sniffed(
            testDescription: "advertising", event: 2, circumstances: [1, 38, 40],
            packet: [0xD6, 0xBE, 0x89, 0x8E, 0x40, 9, 1, 0, 0, 0xBE, 0xB1, 0xC0, 2, 1, 6, 0, 0, 0],
            line: "channel 38 1M ADV_IND AdvA=C0:B1:BE:00:00:01 (random) AdvData={Flags=LE_General_Discoverable|BR_EDR_Not_Supported}"),
        Sniffed(
            testDescription: "data of the central on 2M", event: 6, circumstances: [0x13, 11, 40],
            packet: [0xA7, 0x4C, 0x65, 0x50, 0x02, 7, 3, 0, 4, 0, 0x0A, 3, 0, 0, 0, 0],
            line: "channel 11 2M 0x50654CA7 C>P SN=0 NESN=0 MD=0 ATT_READ_REQ Attribute_Handle=0x0003"),
        Sniffed(
            testDescription: "bad CRC", event: 6, circumstances: [0, 0, 40], packet: [0xA7, 0x4C, 0x65, 0x50, 0x01, 0, 0, 0, 0],
            line: "channel 0 1M bad CRC 0x50654CA7 P>C SN=0 NESN=0 MD=0 empty"),
        Sniffed(
            testDescription: "advertising without a packet id", event: 0, circumstances: [1, 0, 40],
            packet: [0xD6, 0xBE, 0x89, 0x8E, 0x40, 9, 1, 0, 0, 0xBE, 0xB1, 0xC0, 2, 1, 6, 0, 0, 0],
            line: "1M ADV_IND AdvA=C0:B1:BE:00:00:01 (random) AdvData={Flags=LE_General_Discoverable|BR_EDR_Not_Supported}"),
        Sniffed(
            testDescription: "data without a packet id", event: 0, circumstances: [3, 0, 40],
            packet: [0xA7, 0x4C, 0x65, 0x50, 0x02, 7, 3, 0, 4, 0, 0x0A, 3, 0, 0, 0, 0],
            line: "channel 0 1M 0x50654CA7 C>P SN=0 NESN=0 MD=0 ATT_READ_REQ Attribute_Handle=0x0003"),
        Sniffed(testDescription: "what is no packet", event: 0x0E, circumstances: [], packet: [1, 2], line: "link type 272: "),
    ]

    @Test("Files of the nRF sniffer", arguments: sniffed) func nordicSniffer(_ sniffed: Sniffed) throws {
        let reception = sniffed.circumstances.isEmpty ? [] : [10] + sniffed.circumstances + [UInt8](repeating: 0, count: 6)
        let payload = reception + sniffed.packet
        let octets = [0, UInt8(payload.count), 0, 3, 9, 0, sniffed.event] + payload
        let length = [UInt8(octets.count), 0, 0, 0]
        let header: [UInt8] = [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0x10, 1, 0, 0]
        try withTemporaryFile("pcap") { path in
            try put(header + [UInt8](repeating: 0, count: 8) + length + length + octets, into: path)
            let records = try CaptureReader.readAll(path).records
            var decoder = PacketDecoder()
            #expect(decoder.decode(try #require(records.first)).description.hasPrefix(sniffed.line))
        }
    }

    struct NamedPacket: Sendable, CustomTestStringConvertible {
        var transport: BasebandFrame.Transport
        var modulation: BasebandFrame.Modulation
        var type: UInt32
        var name: String
        var testDescription: String { name }
    }

    static let namedPackets = [
        NamedPacket(transport: .acl, modulation: .basicRate, type: 4, name: "DH1"),
        NamedPacket(transport: .acl, modulation: .edr2M, type: 4, name: "2-DH1"),
        NamedPacket(transport: .acl, modulation: .edr3M, type: 15, name: "3-DH5"),
        NamedPacket(transport: .acl, modulation: .edr3M, type: 3, name: "DM1"),
        NamedPacket(transport: .esco, modulation: .edr2M, type: 6, name: "2-EV3"),
        NamedPacket(transport: .esco, modulation: .basicRate, type: 7, name: "EV3"),
        NamedPacket(transport: .sco, modulation: .basicRate, type: 7, name: "HV3"),
        NamedPacket(transport: .sco, modulation: .basicRate, type: 1, name: "POLL"),
        NamedPacket(transport: .acl, modulation: .basicRate, type: 7, name: "type 7"),
    ]

    @Test("Packet types have the names of their logical transport and modulation", arguments: namedPackets)
    func packetTypes(_ packet: NamedPacket) {
        var frame = BasebandFrame(
            rfChannel: 29, signalPower: -40, transport: packet.transport, lap: 1, referenceUAP: 0, packetHeader: packet.type << 3,
            flags: [.hecChecked], payload: [])
        frame.modulation = packet.modulation
        var decoder = PacketDecoder()
        let decoded = decoder.decode(CaptureRecord(time: .virtualEpoch, content: .baseband(frame)))
        #expect(decoded.description.contains("BR/EDR \(packet.name), LAP 000001"))
    }

    /// Packets of an ACL link by modulation and type, with what they carry.
    static let linkData: [(modulation: BasebandFrame.Modulation, type: UInt32, payload: [UInt8], says: String, pdu: String?)] = [
        (.basicRate, 3, [0x17, 0x0E, 0x13, 0, 0], "DM1, LAP 000001, RF channel 29, LT_ADDR 5, ARQN 1, SEQN 0, 5 octets", "LMP_DETACH"),
        (.edr3M, 3, [0x17, 0x0E, 0x13, 0, 0], "DM1", "LMP_DETACH"), (.edr2M, 4, [0x17, 0, 0x0E, 0x13, 0, 0], "2-DH1", "LMP_DETACH"),
        (.basicRate, 4, [0x26, 4, 0, 0x40, 0, 0, 0], "L2CAP PDU of 4 octets on CID 0x0040", nil),
        (.basicRate, 15, [0x26, 0, 4, 0, 0x40, 0, 0, 0], "DH5", nil), (.edr3M, 8, [0x0D, 0, 7, 0, 0], "continuation of L2CAP", nil),
        (.basicRate, 3, [0xFF, 0x0E], "2 octets", nil), (.edr2M, 4, [0x17], "1 octets", nil), (.basicRate, 1, [], "POLL", nil),
    ]

    @Test(arguments: linkData)
    func logicalLinks(modulation: BasebandFrame.Modulation, type: UInt32, payload: [UInt8], says: String, pdu: String?) throws {
        var frame = BasebandFrame(
            rfChannel: 29, signalPower: -40, transport: .acl, lap: 1, referenceUAP: 0, packetHeader: type << 3 | 5 | 1 << 8,
            flags: [.hecChecked, .decrypted, .payloadPresent], payload: payload)
        frame.modulation = modulation
        var decoder = PacketDecoder()
        let decoded = decoder.decode(CaptureRecord(time: .virtualEpoch, content: .baseband(frame)))
        #expect(decoded.description.contains(says), "\(decoded)")
        #expect(decoded.pdu?.declaration?.name == pdu)
        // An encrypted payload is not read.
        frame.flags.remove(.decrypted)
        #expect(decoder.decode(CaptureRecord(time: .virtualEpoch, content: .baseband(frame))).pdu?.declaration == nil)
    }

    @Test("Every field says where its octets are") func octets() throws {
        let pdu = ATT.ReadByTypeReq(startingHandle: 1, endingHandle: 0xFFFF, attributeType: 0x2803).bytes
        var decoder = PacketDecoder()
        let packet = decoder.decode(CaptureRecord(time: .virtualEpoch, content: Self.acl(.hostToController, 4, pdu)))
        let att = try #require(packet.pdu)
        #expect(att.name == "ATT_READ_BY_TYPE_REQ" && att.range == 8..<15)
        #expect(att.fields.map(\.range) == [9..<11, 11..<13, 13..<15])
        #expect(packet.tree.contains("    Ending_Handle = 0xFFFF  [11-12]"))
    }
}
