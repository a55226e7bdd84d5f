/// A layer of a packet: a declared PDU with its fields, or a description of undeclared octets.
public struct DecodedLayer: Sendable {
    public let layer: Layer
    /// Nil for an undeclared PDU; its parameters are then in `trailing`.
    public internal(set) var declaration: PDUDeclaration?
    /// Opcode, event code or PDU type.
    public let code: Int
    public let subevent: Int?
    /// The PDU's name.
    public var name: String
    /// The octets to which all ranges refer: the packet's, or those of a PDU reassembled from several packets.
    public let bytes: [UInt8]
    /// The layer's own octets.
    public let range: Range<Int>
    public internal(set) var fields: [DecodedField] = []
    /// The octets after the last field that could be decoded.
    public internal(set) var trailing: Range<Int>
    /// The reason why decoding stopped early.
    public var problem: PDUError?
    /// The identifier of an L2CAP signalling command, the transaction ID of a PDU of LMP or SDP, the transaction label of AVDTP.
    public internal(set) var identifier: UInt16?
    /// The length in the PDU's header, if it is wrong.
    public internal(set) var lengthInHeader: Int?
    /// A one-line description instead of name and fields, for headers and plain data.
    public var summary: String?
    /// True if there are too few octets for the header of the layer.
    var isBare = false
    /// True if the octets end within the declared fields.
    var endsEarly = false

    init(
        _ layer: Layer, code: Int, subevent: Int? = nil, _ declaration: PDUDeclaration?, _ bytes: [UInt8], _ range: Range<Int>,
        name: String? = nil
    ) {
        self.layer = layer
        self.code = code
        self.subevent = subevent
        self.declaration = declaration
        self.bytes = bytes
        self.range = range
        trailing = range
        self.name = name ?? declaration?.name ?? Self.name(undeclared: layer, code, subevent)
    }

    /// Replaces the label of a field's value in text.
    public mutating func label(_ field: String, as label: String) {
        if let index = fields.firstIndex(where: { $0.name == field }) { fields[index].label = label }
    }

    /// Creates a layer of octets without a declaration.
    ///
    /// - Parameter summary: a one-line description; nil to use the name and the octets.
    public init(named name: String, of layer: Layer, _ bytes: [UInt8], _ range: Range<Int>, summary: String? = nil) {
        self.init(layer, code: 0, nil, bytes, range, name: name)
        self.summary = summary
    }

    /// Returns the field at a path: `Status`, `Reports[0].Address`; return parameters of a Command Complete are found by their own names.
    public subscript(path: String) -> FieldValue? { DynamicPDU(self)[path] }

    public var trailingOctets: [UInt8] { Array(bytes[trailing]) }
}

extension DecodedLayer {
    /// The selection of vendor commands.
    public enum Vendor: Sendable, Hashable {
        /// The declared vendor command of any company.
        case any
        /// Those of the controller's company; nil if it is unknown.
        case company(UInt16?)

        func owns(_ declaration: PDUDeclaration) -> Bool {
            guard let maker = declaration.company, case .company(let company) = self else { return true }
            return maker == company
        }
    }

    /// Decodes any HCI packet. Never fails: undecodable octets are in `trailing`, and `problem` contains the reason.
    public init(hci packet: HCIPacket, vendor: Vendor = .any) {
        switch packet.kind {
        case .command: self.init(command: packet.bytes, vendor)
        case .event: self.init(event: packet.bytes, vendor)
        case .acl, .sco, .iso:
            self.init(.hciData, code: Int(packet.kind.rawValue), packet.bytes, 0..<packet.bytes.count, from: 0)
        }
    }

    /// Decodes a declared PDU's parameters.
    public init(_ declaration: PDUDeclaration, _ bytes: [UInt8], _ range: Range<Int>) {
        self.init(declaration.layer, code: declaration.code, subevent: declaration.subevent, declaration, bytes, range)
        read(declaration, from: range.lowerBound, .any)
    }

    /// Decodes a PDU by code, with parameters from `start` on.
    init(
        _ layer: Layer, code: Int, subevent: Int? = nil, _ bytes: [UInt8], _ range: Range<Int>, from start: Int, _ vendor: Vendor = .any
    ) {
        let declaration = PDUCatalog.declaration(layer: layer, code: code, subevent: subevent).flatMap { vendor.owns($0) ? $0 : nil }
        self.init(layer, code: code, subevent: subevent, declaration, bytes, range)
        if let declaration { read(declaration, from: start, vendor) } else { trailing = start..<range.upperBound }
    }

    private mutating func read(_ declaration: PDUDeclaration, from start: Int, _ vendor: Vendor) {
        var decoder = FieldDecoder(bytes, start..<range.upperBound)
        fields = decoder.fields(declaration.fields)
        trailing = decoder.rest
        if var problem = decoder.problem {
            problem.pdu = name
            self.problem = problem
            endsEarly = true
        }
        if layer == .hciEvents, code == 0x0E, subevent == nil { readReturns(vendor) }
    }

    private init(short layer: Layer, _ bytes: [UInt8], _ range: Range<Int>, needed: Int) {
        self.init(layer, code: Int(bytes[range].first ?? 0), nil, bytes, range)
        problem = PDUError(pdu: layer.rawValue, field: "header", offset: 0, problem: .short(needed: needed, left: range.count))
        isBare = true
    }

    private init(command bytes: [UInt8], _ vendor: Vendor) {
        guard bytes.count >= 3 else {
            self.init(short: .hciCommands, bytes, 0..<bytes.count, needed: 3)
            return
        }
        let opcode = Int(bytes[0]) | Int(bytes[1]) << 8
        self.init(.hciCommands, code: opcode, bytes, 0..<bytes.count, from: 3, vendor)
        note(length: Int(bytes[2]), actual: bytes.count - 3)
    }

    /// Opcode 0 in an answer only tells how many commands may be sent. Core Vol 4, Part E, 7.7.14.
    static func name(undeclared layer: Layer, _ code: Int, _ subevent: Int?) -> String {
        switch (layer, code) {
        case (.hciCommands, 0): "No_Operation"
        case (.hciCommands, 0xFC00...0xFFFF): "Vendor_Command_\(Hex.number(code, bits: 16))"
        case (.hciEvents, 0xFF): "Vendor_Event"
        case (.hciEvents, 0x3E): subevent.map { "Unknown_LE_Subevent_\(Hex.number($0, bits: 8))" } ?? "LE_Meta"
        default: "Unknown_\(layer)_\(Hex.number(code, bits: code > 255 ? 16 : 8))"
        }
    }

    private init(event bytes: [UInt8], _ vendor: Vendor) {
        guard bytes.count >= 2 else {
            self.init(short: .hciEvents, bytes, 0..<bytes.count, needed: 2)
            return
        }
        if bytes[0] == 0x3E, bytes.count > 2 {
            self.init(.hciEvents, code: 0x3E, subevent: Int(bytes[2]), bytes, 0..<bytes.count, from: 3)
        } else {
            self.init(.hciEvents, code: Int(bytes[0]), bytes, 0..<bytes.count, from: 2, vendor)
        }
        note(length: Int(bytes[1]), actual: bytes.count - 2)
    }

    /// Reads a whole PDU, its header included: of HCI all the octets, and data as ACL data.
    public init(layer: Layer, _ bytes: [UInt8], _ range: Range<Int>) {
        switch layer.header {
        case .command: self.init(hci: HCIPacket(.command, bytes))
        case .event: self.init(hci: HCIPacket(.event, bytes))
        case .data: self.init(hci: HCIPacket(.acl, bytes))
        case .advertising: self.init(advertising: bytes, range, secondary: false)
        case .lmp: self.init(lmp: bytes, range)
        case .sdp, .rfcomm, .avdtp, .avrcp: self.init(channel: layer, bytes, range)
        case .opcode, .signaling: self.init(layer, bytes, range, header: layer.header == .signaling ? 4 : 1)
        case .none: self.init(layer, code: 0, bytes, range, from: range.lowerBound)
        }
    }

    private init(_ layer: Layer, _ bytes: [UInt8], _ range: Range<Int>, header: Int) {
        guard range.count >= header else {
            self.init(short: layer, bytes, range, needed: header)
            return
        }
        let start = range.lowerBound
        self.init(layer, code: Int(bytes[start]), bytes, range, from: start + header)
        guard header == 4 else { return }
        identifier = UInt16(bytes[start + 1])
        note(length: Int(bytes[start + 2]) | Int(bytes[start + 3]) << 8, actual: range.count - 4)
    }

    private init(lmp bytes: [UInt8], _ range: Range<Int>) {
        var reader = ByteReader(bytes.span.bytes.extracting(range))
        guard let header = try? LMPHeader(from: &reader) else {
            self.init(short: .lmp, bytes, range, needed: range.count + 1)
            return
        }
        self.init(.lmp, code: Int(header.opcode), bytes, range, from: range.lowerBound + header.count)
        identifier = UInt16(header.transaction.rawValue)
    }

    private init(channel layer: Layer, _ bytes: [UInt8], _ range: Range<Int>) {
        guard let header = ChannelHeader(layer, bytes[range]) else {
            self.init(short: layer, bytes, range, needed: range.count + 1)
            return
        }
        self.init(layer, code: header.code, bytes, range, from: range.lowerBound + header.count)
        identifier = header.identifier
        if let length = header.length { note(length: length, actual: range.count - header.count) }
    }

    /// Decodes a PDU of the advertising channels with its header. Core Vol 6, Part B, 2.3.
    ///
    /// - Parameter secondary: true on an auxiliary channel, where the types have other meanings.
    public init(advertising bytes: [UInt8], _ range: Range<Int>, secondary: Bool) {
        guard range.count >= 2 else {
            self.init(short: .advertising, bytes, range, needed: 2)
            return
        }
        let header = bytes[range.lowerBound]
        let type = Int(header & 15)
        let declaration = PDUCatalog.advertising(type: type, secondary: secondary)
        self.init(.advertising, code: type, declaration, bytes, range)
        let start = range.lowerBound + 2
        if let declaration { read(declaration, from: start, .any) } else { trailing = start..<range.upperBound }
        for index in fields.indices {
            guard case .address = fields[index].declaration.format else { continue }
            let isReceiver = fields[index].name == "TargetA" || (fields[index].name == "AdvA" && (type == 3 || type == 5))
            fields[index].addressKind = header >> (isReceiver ? 7 : 6) & 1 == 1 ? .random : .public
        }
        if let common = AdvertisingNames.name(type: type, secondary: secondary, fields) { name = common }
        note(length: Int(bytes[range.lowerBound + 1]), actual: range.count - 2)
    }

    private mutating func note(length: Int, actual: Int) {
        guard length != actual else { return }
        lengthInHeader = length
        if problem == nil {
            problem = PDUError(pdu: name, field: "Length", offset: 0, problem: .value("says \(length), \(actual) octets follow"))
        }
    }

    // MARK: Command Complete

    /// The command of a Command Complete or a Command Status.
    public var command: PDUDeclaration? {
        guard layer == .hciEvents, code == 0x0E || code == 0x0F, let opcode = fields.named("Command_Opcode")?.int else { return nil }
        return PDUCatalog.declaration(layer: .hciCommands, code: opcode)
    }

    /// The return parameters with the names of the command.
    public var returns: [DecodedField] { fields.named("Return_Parameters")?.children ?? [] }

    /// Decodes Return_Parameters as the command's fields, if possible.
    private mutating func readReturns(_ vendor: Vendor) {
        guard let command, vendor.owns(command), let returns = command.returns,
            let index = fields.firstIndex(where: { $0.name == "Return_Parameters" })
        else { return }
        var decoder = FieldDecoder(bytes, fields[index].range)
        let values = decoder.fields(returns)
        let failed = (values.named("Status")?.int ?? 0) != 0
        let rest = decoder.rest
        if decoder.problem == nil || (failed && rest.isEmpty && !values.isEmpty) {
            fields[index].content = .structure
            fields[index].children = values
            trailing = rest
        } else {
            guard var cause = decoder.problem else { return }
            cause.pdu = command.name
            problem = cause
        }
    }
}

/// The names of PDUs that share a type or a payload format. Core Vol 6, Part B, 2.3.4.
enum AdvertisingNames {
    static let common = "Common_Extended_Advertising_Payload"
    static let auxiliary = [3: "AUX_SCAN_REQ", 5: "AUX_CONNECT_REQ", 7: common, 8: common]

    /// Returns a PDU's name. Type 7 is ADV_EXT_IND on a primary channel; on an auxiliary channel the payload distinguishes AUX_SYNC_IND and
    /// similar PDUs as far as a single PDU allows.
    static func name(type: Int, secondary: Bool, _ fields: [DecodedField]) -> String? {
        switch (type, secondary) {
        case (7, false): return "ADV_EXT_IND"
        case (8, true): return "AUX_CONNECT_RSP"
        case (7, true):
            if fields.named("AdvA") != nil { return "AUX_ADV_IND" }
            if fields.named("AdvDataInfo") != nil {
                return (fields.named("AdvMode")?.int ?? 0) == 0 && fields.named("TargetA") == nil && fields.named("SyncInfo") == nil
                    ? "AUX_CHAIN_IND" : "AUX_ADV_IND"
            }
            return "AUX_SYNC_IND"
        default: return nil
        }
    }
}
