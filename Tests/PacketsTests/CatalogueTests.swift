import Testing

@testable import Packets

/// Properties that hold for every declared PDU.
@Suite struct CatalogueTests {
    private static let seeds: ClosedRange<UInt64> = 1...8

    @Test("The struct and the description write what they read", arguments: Declared.all)
    func roundTrip(_ declared: Declared) throws {
        let type = try #require(PDUCatalog.type(of: declared.declaration))
        #expect(typeName(type) == declared.declaration.name)
        for seed in Self.seeds {
            let (pdu, bytes) = try declared.random(seed)
            let read = DynamicPDU(declared.declaration, parameters: bytes)
            #expect(read.problem == nil && read.trailing.isEmpty, "\(read)")
            #expect(try read.parameters() == bytes)
            #expect(try recode(type, bytes) == bytes, "\(read)")
            for field in pdu.fields where field.name != "Return_Parameters" {
                #expect(read[field.name] != nil, "\(field.name) of \(read)")
            }
        }
    }

    @Test("So with return parameters", arguments: Declared.withReturns)
    func returns(_ declared: Declared) throws {
        let command = try #require(PDUCatalog.type(of: declared.declaration) as? any HCICommand.Type)
        for seed in Self.seeds {
            let bytes = try declared.randomReturns(seed)
            #expect(try recode(returnType(command), bytes) == bytes)
            let complete = DynamicPDU(hci: HCIPacket(completeOpcode: UInt16(declared.declaration.code), returns: bytes))
            #expect(complete.problem == nil && complete.trailing.isEmpty && complete["Status"] == 0, "\(complete)")
            #expect(try complete.hciPacket()?.bytes.dropFirst(5) == bytes[...])
        }
    }

    @Test("A packet cut anywhere is kept octet by octet, and the struct refuses or reads it", arguments: Declared.all)
    func truncations(_ declared: Declared) throws {
        let type = try #require(PDUCatalog.type(of: declared.declaration))
        let (_, bytes) = try declared.random(3)
        for count in 0..<bytes.count {
            let cut = [UInt8](bytes[..<count])
            let read = DynamicPDU(declared.declaration, parameters: cut)
            #expect(try read.parameters() == cut, "\(count) of \(bytes.count): \(read)")
            if let encoded = try? recode(type, cut) { #expect(encoded == cut, "\(count) octets of \(Hex.octets(bytes))") }
        }
        let longer = DynamicPDU(declared.declaration, parameters: bytes + [0xA5, 0x5A, 0xA5])
        #expect(try longer.parameters() == bytes + [0xA5, 0x5A, 0xA5])
    }

    @Test("Random octets never trap and are kept", arguments: Declared.all)
    func noise(_ declared: Declared) throws {
        let type = try #require(PDUCatalog.type(of: declared.declaration))
        var generator = SplitMix(state: 99)
        for _ in 0..<12 {
            let bytes = (0..<Int.random(in: 0...80, using: &generator)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            let read = DynamicPDU(declared.declaration, parameters: bytes)
            #expect(!read.description.isEmpty)
            if case .structure? = read["Return_Parameters"] { continue }
            #expect(try read.parameters() == bytes, "\(Hex.octets(bytes)): \(read)")
            _ = try? recode(type, bytes)
        }
    }

    @Test(
        "An opcode finds its PDU among all of the layer",
        arguments: Declared.all.filter { ["LLControl", "ATT", "SMP", "LMP"].contains($0.declaration.layer) })
    func messages(_ declared: Declared) throws {
        let code = declared.declaration.code
        let header = declared.declaration.layer == "LMP" ? LMPHeader(.central, opcode: UInt16(code)).bytes : [UInt8(code)]
        let bytes = header + (try declared.random(4).1)
        let again =
            switch declared.declaration.layer {
            case "LLControl": try LLControl.Message(bytes: bytes).bytes
            case "LMP": try LMP.Message(bytes: bytes).bytes(.central)
            case "ATT": try ATT.Message(bytes: bytes).bytes
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
            #expect(names.insert(pdu.layer + "/" + Spelling.normal(pdu.name)).inserted, "\(pdu.name)")
            guard pdu.kind != .structure, pdu.kind != .header, pdu.kind != .advertising else { continue }
            #expect(codes.insert("\(pdu.layer)/\(pdu.code)/\(pdu.subevent ?? -1)").inserted, "\(pdu.name)")
        }
    }

    @Test("The breadth of Core 6.2")
    func breadth() {
        let count = Dictionary(grouping: PDUCatalog.all, by: \.layer).mapValues(\.count)
        #expect(count["HCICommands", default: 0] >= 320)
        #expect(count["HCIEvents", default: 0] >= 110)
        #expect(count["LLControl"] == 0x40)
        #expect(count["ATT"] == 31)
        #expect(count["SMP"] == 14)
        #expect(count["LMP"] == 59 + 29)
        #expect(count["L2CAPSignaling", default: 0] >= 20)
    }

    private func typeName(_ type: any PDU.Type) -> String { type.name }
}
