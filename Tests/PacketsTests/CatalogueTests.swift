import Testing

@testable import BBPackets

/// Properties that hold for every declared PDU.
@Suite struct CatalogueTests {
    private static let seeds: ClosedRange<UInt64> = 1...8

    @Test("The description and the struct, if there is one, write what they read", arguments: Declared.all)
    func roundTrip(_ declared: Declared) throws {
        let type = PDUCatalog.type(of: declared.declaration)
        #expect(type.map { typeName($0) } == (declared.declaration.hasStruct ? declared.declaration.name : nil))
        for seed in Self.seeds {
            let (pdu, bytes) = try declared.random(seed)
            let read = DynamicPDU(declared.declaration, parameters: bytes)
            #expect(read.problem == nil && read.trailing.isEmpty, "\(read)")
            #expect(try read.parameters() == bytes)
            if let type { #expect(try recode(type, bytes) == bytes, "\(read)") }
            for field in pdu.fields where field.name != "Return_Parameters" {
                #expect(read[field.name] != nil, "\(field.name) of \(read)")
            }
        }
    }

    @Test("So with return parameters", arguments: Declared.withReturns)
    func returns(_ declared: Declared) throws {
        let command = PDUCatalog.type(of: declared.declaration) as? any HCICommand.Type
        #expect((command == nil) == !declared.declaration.hasStruct)
        if let command {
            let zeros = declared.declaration.zeroReturns
            #expect(try recode(returnType(command), zeros) == zeros && zeros.allSatisfy { $0 == 0 }, "\(zeros)")
        }
        for seed in Self.seeds {
            let bytes = try declared.randomReturns(seed)
            if let command { #expect(try recode(returnType(command), bytes) == bytes) }
            let complete = DynamicPDU(hci: HCIPacket(completeOpcode: UInt16(declared.declaration.code), returns: bytes))
            #expect(complete.problem == nil && complete.trailing.isEmpty && complete["Status"] == 0, "\(complete)")
            #expect(try complete.hciPacket()?.bytes.dropFirst(5) == bytes[...])
        }
    }

    @Test("A packet cut anywhere is kept octet by octet, and the struct refuses or reads it", arguments: Declared.all)
    func truncations(_ declared: Declared) throws {
        let type = PDUCatalog.type(of: declared.declaration)
        let (_, bytes) = try declared.random(3)
        for count in 0..<bytes.count {
            let cut = [UInt8](bytes[..<count])
            let read = DynamicPDU(declared.declaration, parameters: cut)
            #expect(try read.parameters() == cut, "\(count) of \(bytes.count): \(read)")
            if let type, let encoded = try? recode(type, cut) { #expect(encoded == cut, "\(count) octets of \(Hex.octets(bytes))") }
        }
        let longer = DynamicPDU(declared.declaration, parameters: bytes + [0xA5, 0x5A, 0xA5])
        #expect(try longer.parameters() == bytes + [0xA5, 0x5A, 0xA5])
    }

    @Test("Random octets never trap and are kept", arguments: Declared.all)
    func noise(_ declared: Declared) throws {
        let type = PDUCatalog.type(of: declared.declaration)
        var generator = SplitMix(state: 99)
        for _ in 0..<12 {
            let bytes = (0..<Int.random(in: 0...80, using: &generator)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            let read = DynamicPDU(declared.declaration, parameters: bytes)
            #expect(!read.description.isEmpty)
            if case .structure? = read["Return_Parameters"] { continue }
            #expect(try read.parameters() == bytes, "\(Hex.octets(bytes)): \(read)")
            if let type { _ = try? recode(type, bytes) }
        }
    }

    @Test(
        "An opcode finds its PDU among all of the layer",
        arguments: Declared.all.filter { [.llControl, .att, .smp, .lmp].contains($0.declaration.layer) })
    func messages(_ declared: Declared) throws {
        let code = declared.declaration.code
        let header = declared.declaration.layer == .lmp ? LMPHeader(.central, opcode: UInt16(code)).bytes : [UInt8(code)]
        let bytes = header + (try declared.random(4).1)
        let again =
            switch declared.declaration.layer {
            case .llControl: try LLControl.Message(bytes: bytes).bytes
            case .lmp: try LMP.Message(bytes: bytes).bytes(.central)
            case .att: try ATT.Message(bytes: bytes).bytes
            default: try SMP.Message(bytes: bytes).bytes
            }
        #expect(again == bytes)
        #expect(DynamicPDU(layer: declared.declaration.layer, bytes: bytes).name == declared.declaration.name)
    }

    @Test("Any octets are some HCI packet, and remain so")
    func packets() throws {
        var generator = SplitMix(state: 5)
        for _ in 0..<4000 {
            let kind = HCIPacket.Kind.allCases.randomElement(using: &generator) ?? .event
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in UInt8.random(in: 0...80, using: &generator) }
            let read = DynamicPDU(hci: HCIPacket(kind, bytes))
            #expect(!read.description.isEmpty)
            #expect(try read.bytes() == bytes, "\(Hex.octets(bytes)): \(read)")
        }
    }

    @Test("Codes and names are used once in a layer")
    func unique() {
        var names: Set<String> = []
        var codes: Set<String> = []
        for pdu in PDUCatalog.all {
            #expect(names.insert("\(pdu.layer)/" + Spelling.normal(pdu.name)).inserted, "\(pdu.name)")
            guard pdu.layer.header != .none, pdu.layer != .advertising else { continue }
            #expect(codes.insert("\(pdu.layer)/\(pdu.code)/\(pdu.subevent ?? -1)").inserted, "\(pdu.name)")
        }
    }

    @Test(
        "A PDU of a channel has its header, and is read by it",
        arguments: [
            ("SDP_SERVICE_SEARCH_REQ", Layer.sdp, "02 0007 0008 3503191101 0001 00", UInt16(7)),
            ("SDP_SERVICE_SEARCH_RSP", Layer.sdp, "03 0007 0009 0001 0001 00010003 00", 7),
            ("SDP_SERVICE_ATTRIBUTE_REQ", Layer.sdp, "04 0102 000E 00010000 0007 360003090004 01AA", 0x0102),
            ("SDP_ERROR_RSP", Layer.sdp, "01 0000 0002 0005", 0),
            ("RFCOMM_PN_CMD", Layer.rfcomm, "83 11 02 F0 00 00 7F00 00 07", nil),
            ("RFCOMM_MSC_RSP", Layer.rfcomm, "E1 05 0B 8D", nil),
            ("RFCOMM_NSC_RSP", Layer.rfcomm, "11 03 33", nil),
            ("AVDTP_DISCOVER_RSP", Layer.avdtp, "32 01 04 08", 3),
            ("AVDTP_SET_CONFIGURATION_REJ", Layer.avdtp, "F3 03 07 29", 15),
            ("AVDTP_SET_CONFIGURATION_CMD", Layer.avdtp, "10 03 04 08 01 00 07 06 00 00 21 15 02 35", 1),
            ("AVRCP_REGISTER_NOTIFICATION_CMD", Layer.avrcpCommands, "001958 31 00 0005 0D 00000000", nil),
            ("AVRCP_SET_ABSOLUTE_VOLUME_RSP", Layer.avrcpResponses, "001958 50 00 0001 40", nil),
        ])
    func channelHeaders(_ name: String, _ layer: Layer, _ text: String, _ identifier: UInt16?) throws {
        let octets = try #require(Hex.parse(text))
        let pdu = DynamicPDU(layer: layer, bytes: octets)
        #expect(pdu.name == name)
        #expect(pdu.identifier == identifier)
        #expect(pdu.problem == nil && pdu.trailing.isEmpty, "\(pdu)")
        #expect(try pdu.bytes() == octets)
        for count in octets.indices {
            #expect(try DynamicPDU(layer: layer, bytes: Array(octets.prefix(count))).bytes().count <= octets.count)
        }
    }

    @Test("The breadth of Core 6.2")
    func breadth() {
        let count = Dictionary(grouping: PDUCatalog.all, by: \.layer).mapValues(\.count)
        #expect(count[.hciCommands, default: 0] >= 320)
        #expect(count[.hciEvents, default: 0] >= 110)
        #expect(count[.llControl] == 0x40)
        #expect(count[.att] == 31)
        #expect(count[.smp] == 14)
        #expect(count[.lmp] == 59 + 29)
        #expect(count[.l2capSignaling, default: 0] >= 20)
    }

    private func typeName(_ type: any PDU.Type) -> String { type.name }
}
