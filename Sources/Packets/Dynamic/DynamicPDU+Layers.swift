extension DynamicPDU {
    /// Reads any HCI packet. Never fails: what is not understood is kept in `trailing`, and `problem` says why.
    public init(hci packet: HCIPacket) {
        switch packet.kind {
        case .command: self.init(command: packet.bytes)
        case .event: self.init(event: packet.bytes)
        case .acl, .sco, .iso: self.init(data: packet)
        }
    }

    private init(unknown layer: String, code: Int, subevent: Int? = nil, trailing: [UInt8]) {
        self.layer = layer
        self.code = code
        self.subevent = subevent
        fields = []
        self.trailing = trailing
    }

    private init(short layer: String, _ bytes: [UInt8], needed: Int) {
        self.init(unknown: layer, code: Int(bytes.first ?? 0), trailing: bytes)
        problem = PDUError(pdu: layer, field: "header", offset: 0, problem: .short(needed: needed, left: bytes.count))
        isBare = true
    }

    private init(command bytes: [UInt8]) {
        guard bytes.count >= 3 else {
            self.init(short: "HCICommands", bytes, needed: 3)
            return
        }
        self.init(layer: "HCICommands", code: Int(bytes[0]) | Int(bytes[1]) << 8, parameters: [UInt8](bytes[3...]))
        note(length: Int(bytes[2]), actual: bytes.count - 3)
    }

    private init(event bytes: [UInt8]) {
        guard bytes.count >= 2 else {
            self.init(short: "HCIEvents", bytes, needed: 2)
            return
        }
        if bytes[0] == 0x3E, bytes.count > 2 {
            self.init(layer: "HCIEvents", code: 0x3E, subevent: Int(bytes[2]), parameters: [UInt8](bytes[3...]))
        } else {
            self.init(layer: "HCIEvents", code: Int(bytes[0]), parameters: [UInt8](bytes[2...]))
        }
        note(length: Int(bytes[1]), actual: bytes.count - 2)
    }

    private init(data packet: HCIPacket) {
        self.init(layer: "HCIData", code: Int(packet.kind.rawValue), parameters: packet.bytes)
    }

    /// Reads parameters by code.
    public init(layer: String, code: Int, subevent: Int? = nil, parameters: [UInt8]) {
        if let declaration = PDUCatalog.declaration(layer: layer, code: code, subevent: subevent) {
            self.init(declaration, parameters: parameters)
        } else {
            self.init(unknown: layer, code: code, subevent: subevent, trailing: parameters)
        }
    }

    /// Reads a whole PDU of `LLControl`, `ATT` or `SMP` (beginning with its opcode) or `L2CAPSignaling` (code, identifier, length).
    public init(layer: String, bytes: [UInt8]) {
        let header = layer == "L2CAPSignaling" ? 4 : 1
        guard bytes.count >= header else {
            self.init(short: layer, bytes, needed: header)
            return
        }
        self.init(layer: layer, code: Int(bytes[0]), parameters: [UInt8](bytes[header...]))
        guard header == 4 else { return }
        identifier = bytes[1]
        note(length: Int(bytes[2]) | Int(bytes[3]) << 8, actual: bytes.count - 4)
    }

    /// Reads a PDU of the advertising channels, header included. Core Vol 6, Part B, 2.3.
    public init(advertising bytes: [UInt8], secondary: Bool) {
        guard bytes.count >= 2 else {
            self.init(short: "Advertising", bytes, needed: 2)
            return
        }
        let type = Int(bytes[0] & 15)
        let payload = [UInt8](bytes[2...])
        let name =
            secondary
            ? [
                3: "AUX_SCAN_REQ", 5: "AUX_CONNECT_REQ", 7: "Common_Extended_Advertising_Payload", 8: "Common_Extended_Advertising_Payload",
            ][type] : nil
        if let name, let declaration = PDUCatalog.declaration(layer: "Advertising", name: name) {
            self.init(declaration, parameters: payload)
        } else {
            let kind = PDUCatalog.all.first { $0.kind == .advertising && $0.code == type }
            if let kind { self.init(kind, parameters: payload) } else { self.init(unknown: "Advertising", code: type, trailing: payload) }
        }
        note(length: Int(bytes[1]), actual: payload.count)
    }

    private mutating func note(length: Int, actual: Int) {
        guard length != actual else { return }
        lengthInHeader = length
        if problem == nil {
            problem = PDUError(pdu: name, field: "Length", offset: 0, problem: .value("says \(length), \(actual) octets follow"))
        }
    }

    /// The packet with its header: an HCI packet, or a PDU with opcode; nil for layers whose header is elsewhere.
    public func bytes() throws(DynamicPDUError) -> [UInt8] {
        if isBare { return trailing }
        let parameters = try parameters()
        switch layer {
        case "HCICommands":
            return [
                UInt8(truncatingIfNeeded: code), UInt8(truncatingIfNeeded: code >> 8),
                UInt8(truncatingIfNeeded: lengthInHeader ?? parameters.count),
            ] + parameters
        case "HCIEvents":
            let sub = subevent.map { [UInt8(truncatingIfNeeded: $0)] } ?? []
            return [UInt8(truncatingIfNeeded: code), UInt8(truncatingIfNeeded: lengthInHeader ?? parameters.count + sub.count)] + sub
                + parameters
        case "LLControl", "ATT", "SMP": return [UInt8(truncatingIfNeeded: code)] + parameters
        case "L2CAPSignaling":
            let length = lengthInHeader ?? parameters.count
            return [
                UInt8(truncatingIfNeeded: code), identifier ?? 1, UInt8(truncatingIfNeeded: length), UInt8(truncatingIfNeeded: length >> 8),
            ] + parameters
        default: return parameters
        }
    }

    /// As an HCI packet; nil for other layers.
    public func hciPacket() throws(DynamicPDUError) -> HCIPacket? {
        switch layer {
        case "HCICommands": HCIPacket(.command, try bytes())
        case "HCIEvents": HCIPacket(.event, try bytes())
        case "HCIData": HCIPacket(HCIPacket.Kind(rawValue: UInt8(truncatingIfNeeded: code)) ?? .acl, try bytes())
        default: nil
        }
    }

    // MARK: Command Complete

    /// The command whose return parameters a Command Complete carries.
    public var command: PDUDeclaration? {
        guard layer == "HCIEvents", code == 0x0E || code == 0x0F,
            let opcode = fields.first(where: { $0.name == "Command_Opcode" })?.value.int
        else { return nil }
        return PDUCatalog.declaration(layer: "HCICommands", code: opcode)
    }

    /// Where Return_Parameters stands in the fields of a Command Complete.
    var returnsIndex: Int? {
        layer == "HCIEvents" && code == 0x0E ? fields.firstIndex { $0.name == "Return_Parameters" } : nil
    }

    /// After an error, return parameters that are not given are left out.
    func encoded(returns values: [DynamicField]) throws(DynamicPDUError) -> [UInt8] {
        let failed = (values.first { $0.name == "Status" }?.value.int ?? 0) != 0
        var encoder = DynamicEncoder(pdu: command?.name ?? name, endsEarly: failed)
        _ = try encoder.fields(command?.returns ?? [], values)
        return encoder.bytes
    }

    /// Replaces the octets of Return_Parameters by the command's fields, where they can be read.
    mutating func readReturns() {
        guard let returns = command?.returns, let index = returnsIndex, let octets = fields[index].value.octets else { return }
        var decoder = DynamicDecoder(octets)
        let values = decoder.fields(returns)
        let failed = (values.first { $0.name == "Status" }?.value.int ?? 0) != 0
        let rest = decoder.rest()
        if decoder.problem == nil || (failed && rest.isEmpty && !values.isEmpty) {
            fields[index].value = .structure(values)
            trailing = rest
        } else {
            guard var cause = decoder.problem else { return }
            cause.pdu = command?.name ?? ""
            problem = cause
        }
    }
}
