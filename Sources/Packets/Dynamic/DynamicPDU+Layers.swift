extension DynamicPDU {
    /// Creates a PDU from a decoded layer.
    public init(_ layer: DecodedLayer) {
        declaration = layer.declaration
        self.layer = layer.layer
        code = layer.code
        subevent = layer.subevent
        fields = layer.fields.map { DynamicField($0.name, $0.value) }
        trailing = layer.trailingOctets
        problem = layer.problem
        identifier = layer.identifier
        lengthInHeader = layer.lengthInHeader
        isBare = layer.isBare
        endsEarly = layer.endsEarly
    }

    /// Decodes any HCI packet. Never fails: undecodable octets are in `trailing`, and `problem` contains the reason.
    public init(hci packet: HCIPacket) { self.init(DecodedLayer(hci: packet)) }

    /// Reads parameters by code.
    public init(layer: Layer, code: Int, subevent: Int? = nil, parameters: [UInt8]) {
        self.init(DecodedLayer(layer, code: code, subevent: subevent, parameters, 0..<parameters.count, from: 0))
    }

    /// Reads a whole PDU, its header included. HCI data are read as ACL data.
    public init(layer: Layer, bytes: [UInt8]) { self.init(DecodedLayer(layer: layer, bytes, 0..<bytes.count)) }

    /// Decodes a PDU of the advertising channels with its header. Core Vol 6, Part B, 2.3.
    public init(advertising bytes: [UInt8], secondary: Bool) {
        self.init(DecodedLayer(advertising: bytes, 0..<bytes.count, secondary: secondary))
    }

    /// Returns the packet with its header: an HCI packet, or a PDU with opcode; nil for layers whose header belongs to another layer.
    public func bytes() throws(DynamicPDUError) -> [UInt8] {
        if isBare { return trailing }
        let parameters = try parameters()
        switch layer.header {
        case .command:
            return [
                UInt8(truncatingIfNeeded: code), UInt8(truncatingIfNeeded: code >> 8),
                UInt8(truncatingIfNeeded: lengthInHeader ?? parameters.count),
            ] + parameters
        case .event:
            let sub = subevent.map { [UInt8(truncatingIfNeeded: $0)] } ?? []
            return [UInt8(truncatingIfNeeded: code), UInt8(truncatingIfNeeded: lengthInHeader ?? parameters.count + sub.count)] + sub
                + parameters
        case .opcode: return [UInt8(truncatingIfNeeded: code)] + parameters
        case .lmp: return LMPHeader(identifier == 1 ? .peripheral : .central, opcode: UInt16(truncatingIfNeeded: code)).bytes + parameters
        case .signaling:
            let length = lengthInHeader ?? parameters.count
            return [
                UInt8(truncatingIfNeeded: code), UInt8(truncatingIfNeeded: identifier ?? 1), UInt8(truncatingIfNeeded: length),
                UInt8(truncatingIfNeeded: length >> 8),
            ] + parameters
        case .sdp, .rfcomm, .avdtp, .avrcp:
            let header = ChannelHeader(layer, code: code, identifier: identifier, length: lengthInHeader ?? parameters.count)
            return header.bytes + parameters
        case .data, .advertising, .none: return parameters
        }
    }

    /// Returns the HCI packet; nil for other layers.
    public func hciPacket() throws(DynamicPDUError) -> HCIPacket? {
        switch layer.header {
        case .command: HCIPacket(.command, try bytes())
        case .event: HCIPacket(.event, try bytes())
        case .data: HCIPacket(HCIPacket.Kind(rawValue: UInt8(truncatingIfNeeded: code)) ?? .acl, try bytes())
        default: nil
        }
    }

    // MARK: Command Complete

    /// The command of a Command Complete.
    public var command: PDUDeclaration? {
        guard layer == .hciEvents, code == 0x0E || code == 0x0F,
            let opcode = fields.first(where: { $0.name == "Command_Opcode" })?.value.int
        else { return nil }
        return PDUCatalog.declaration(layer: .hciCommands, code: opcode)
    }

    /// The index of Return_Parameters in the fields of a Command Complete.
    var returnsIndex: Int? {
        layer == .hciEvents && code == 0x0E ? fields.firstIndex { $0.name == "Return_Parameters" } : nil
    }

    /// Encodes return parameters; after an error, omitted ones are not encoded.
    func encoded(returns values: [DynamicField]) throws(DynamicPDUError) -> [UInt8] {
        let failed = (values.first { $0.name == "Status" }?.value.int ?? 0) != 0
        var encoder = DynamicEncoder(pdu: command?.name ?? name, endsEarly: failed)
        _ = try encoder.fields(command?.returns ?? [], values)
        return encoder.bytes
    }
}
