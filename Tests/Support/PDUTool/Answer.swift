import BBPackets

enum Answer {
    static func to(_ words: [String]) -> String {
        guard let verb = words.first else { return error("empty line") }
        switch verb {
        case "list": return list()
        case "random", "decode":
            guard words.count > 2, let layer = Layer(rawValue: words[1]) else { return error("what is \(words.joined(separator: " "))?") }
            if verb == "decode" { return decode(layer: layer, hex: words[2]) }
            return random(layer: layer, seed: words[2], name: words.dropFirst(3).joined(separator: " "))
        case "returns" where words.count > 2: return returns(seed: words[1], name: words[2...].joined(separator: " "))
        case "decode-returns" where words.count > 2:
            return decodeReturns(hex: words[1] == "-" ? "" : words[1], name: words[2...].joined(separator: " "))
        case "baseband" where words.count > 1: return Baseband.answer(words[1], Array(words[2...]))
        case "crypto" where words.count > 1: return Crypto.answer(words[1], Array(words[2...]))
        default: return error("what is \(words.joined(separator: " "))?")
        }
    }

    private static func error(_ text: String) -> String { JSON.object([("error", JSON.string(text))]) }

    private static func list() -> String {
        let entries = PDUCatalog.all.map { pdu in
            JSON.object([
                ("layer", JSON.string(pdu.layer.rawValue)), ("name", JSON.string(pdu.name)), ("code", "\(pdu.code)"),
                ("subevent", pdu.subevent.map { "\($0)" } ?? "null"),
                ("returns", pdu.returns == nil ? "false" : "true"), ("struct", pdu.hasStruct ? "true" : "false"),
                ("supported", pdu.supportedCommandsBit.map { JSON.array(["\($0.octet)", "\($0.bit)"]) } ?? "null"),
                ("mask", mask(pdu.maskPosition)),
            ])
        }
        return JSON.array(entries)
    }

    private static func mask(_ position: EventMaskPosition) -> String {
        switch position {
        case .page1(let bit): JSON.array([JSON.string("page1"), "\(bit)"])
        case .page2(let bit): JSON.array([JSON.string("page2"), "\(bit)"])
        case .le(let bit): JSON.array([JSON.string("le"), "\(bit)"])
        case .unmaskable: "null"
        }
    }

    private static func random(layer: Layer, seed: String, name: String) -> String {
        guard let declaration = PDUCatalog.declaration(layer: layer, name: name) else { return error("no \(name) in \(layer)") }
        var generator = SplitMix(state: UInt64(seed) ?? 0)
        var pdu = declaration.random(using: &generator)
        if layer == .l2capSignaling { pdu.identifier = UInt16.random(in: 1...255, using: &generator) }
        do {
            let bytes = try pdu.bytes()
            switch layer.header {
            // The header is part of the declaration, or there is none that says what follows.
            case .data, .advertising, .none: return describe(DynamicPDU(declaration, parameters: bytes), bytes)
            default: return describe(DynamicPDU(layer: layer, bytes: bytes), bytes)
            }
        } catch { return self.error("\(error)") }
    }

    private static func returns(seed: String, name: String) -> String {
        guard let declaration = PDUCatalog.declaration(layer: .hciCommands, name: name) else { return error("no command \(name)") }
        var generator = SplitMix(state: UInt64(seed) ?? 0)
        do {
            let pdu = try DynamicPDU(
                layer: .hciEvents, name: "Command_Complete",
                [
                    DynamicField("Num_HCI_Command_Packets", 1), DynamicField("Command_Opcode", .integer(Int128(declaration.code))),
                    DynamicField("Return_Parameters", .structure(declaration.randomReturns(using: &generator))),
                ])
            return decodeReturns(Array(try pdu.parameters().dropFirst(3)), name: name)
        } catch { return self.error("\(error)") }
    }

    private static func decode(layer: Layer, hex: String) -> String {
        guard let bytes = Hex.parse(hex) else { return error("no octets: \(hex)") }
        return describe(DynamicPDU(layer: layer, bytes: bytes), bytes)
    }

    private static func decodeReturns(hex: String, name: String) -> String {
        guard let bytes = Hex.parse(hex) else { return error("no octets: \(hex)") }
        return decodeReturns(bytes, name: name)
    }

    private static func decodeReturns(_ bytes: [UInt8], name: String) -> String {
        guard let declaration = PDUCatalog.declaration(layer: .hciCommands, name: name) else { return error("no command \(name)") }
        let pdu = DynamicPDU(hci: HCIPacket(completeOpcode: UInt16(truncatingIfNeeded: declaration.code), returns: bytes))
        guard case .structure(let fields)? = pdu["Return_Parameters"] else { return error("\(pdu)") }
        let encoded = (try? pdu.parameters()).map { Array($0.dropFirst(3)) } ?? []
        return JSON.object([
            ("name", JSON.string(name)), ("hex", JSON.hex(bytes)), ("fields", JSON.fields(fields)),
            ("leaves", Leaves.json(fields, declaration.returns ?? [])), ("encoded", JSON.hex(encoded)),
            ("typed", typedReturns(declaration, bytes)), ("trailing", JSON.hex(pdu.trailing)),
            ("problem", JSON.string(pdu.problem?.description ?? "")),
        ])
    }

    private static func describe(_ pdu: DynamicPDU, _ bytes: [UInt8]) -> String {
        JSON.object([
            ("name", JSON.string(pdu.name)), ("layer", JSON.string(pdu.layer.rawValue)), ("hex", JSON.hex(bytes)),
            ("fields", JSON.fields(pdu.fields)), ("leaves", Leaves.json(pdu.fields, pdu.declaration?.fields ?? [])),
            ("encoded", JSON.hex((try? pdu.bytes()) ?? [])), ("typed", typed(pdu)), ("trailing", JSON.hex(pdu.trailing)),
            ("problem", JSON.string(pdu.problem?.description ?? "")), ("text", JSON.string(pdu.description)),
        ])
    }

    /// Returns the parameters after decoding and encoding them with the struct; null if the PDU has none.
    private static func typed(_ pdu: DynamicPDU) -> String {
        guard let declaration = pdu.declaration, let type = PDUCatalog.type(of: declaration) else { return "null" }
        return JSON.hex((try? pdu.parameters()).flatMap { recode(type, $0) } ?? [])
    }

    private static func typedReturns(_ command: PDUDeclaration, _ bytes: [UInt8]) -> String {
        guard let type = PDUCatalog.type(of: command) as? any HCICommand.Type else { return "null" }
        return JSON.hex(recode(returnType(type), bytes) ?? [])
    }

    private static func returnType<Command: HCICommand>(_ type: Command.Type) -> any PDU.Type { Command.Return.self }

    private static func recode<Struct: PDU>(_ type: Struct.Type, _ bytes: [UInt8]) -> [UInt8]? {
        (try? Struct(parameters: bytes))?.parameters
    }
}

/// A small generator with a 64-bit state.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
