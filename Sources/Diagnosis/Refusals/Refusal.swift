import BBCases
import BBPackets

/// A PDU that refuses a request or reports an error, according to its declaration.
struct Refusal {
    /// Name of the layer of what was refused: a command for its answers.
    var layer: String
    /// Name of what was refused, or of the PDU that reports the error.
    var request: String
    /// Name of the value.
    var result: String
    /// The value.
    var code: Int
    /// Bits of the field.
    private var width = 8
    /// The PDU that has a value which this one does not define, as text; empty for others.
    private var elsewhere = ""

    /// The result of a value that the PDU does not define.
    static let unnamed = "a reserved value"

    init(layer: String, request: String, result: String, code: Int) {
        (self.layer, self.request, self.result, self.code) = (layer, request, result, code)
    }

    /// Nil for a PDU that reports no error.
    init?(_ pdu: DecodedLayer) {
        // Most PDUs of a long link are values, and no error of ATT is another PDU.
        if pdu.layer == .att, pdu.code != Int(ATT.ErrorRsp.opcode) { return nil }
        guard let id = pdu.id else { return nil }
        if pdu.layer == .avctp {
            self.init(controlMessage: pdu)
            return
        }
        guard !Self.opensSome(pdu, id), let field = Self.report(in: pdu, id), let value = field.int, Self.isError(value, field) else {
            return nil
        }
        let command = pdu.command
        self.init(
            layer: (command == nil ? pdu.layer : .hciCommands).rawValue, request: command?.name ?? Self.refused(pdu, id) ?? pdu.name,
            result: Self.name(of: value, field.declaration) ?? Self.unnamed, code: value)
        width = field.declaration.width
        if result == Self.unnamed, pdu.layer == .l2capSignaling { elsewhere = Self.elsewhere(value, field.name, pdu.layer) }
    }

    /// The name that another PDU of the layer gives to a value, for those who have taken it from there.
    private static func elsewhere(_ value: Int, _ field: String, _ layer: Layer) -> String {
        for pdu in PDUCatalog.all where pdu.layer == layer && pdu.company == nil {
            guard let other = pdu.fields.flat.first(where: { $0.name == field }), let name = name(of: value, other) else { continue }
            return "; in \(pdu.name) it is \(name)"
        }
        return ""
    }

    /// True for a response that refuses some of the channels asked for, and opens the others. Core Vol 3, Part A, 4.26.
    private static func opensSome(_ pdu: DecodedLayer, _ id: PDUID) -> Bool {
        guard id == L2CAPSignaling.CreditBasedConnectionRsp.id else { return false }
        return pdu.content(as: L2CAPSignaling.CreditBasedConnectionRsp.self)?.destinationCID.contains { $0 != 0 } == true
    }

    /// A message of AVCTP says in its code whether the command was rejected. AV/C Digital Interface Command Set, 8.1.
    private init?(controlMessage pdu: DecodedLayer) {
        guard let field = pdu.fields.named("Code"), let value = field.int, [0x8, 0xA].contains(value) else { return nil }
        (layer, code) = (pdu.layer.rawValue, value)
        result = Self.name(of: value, field.declaration) ?? Hex.number(value, bits: 8)
        // The PDU ID of AVRCP follows the company of a vendor dependent frame. AVRCP 1.6, 6.3.1.
        let operands = pdu.fields.named("Operands")?.octets ?? []
        let command = operands.count > 3 ? PDUCatalog.declaration(layer: .avrcpCommands, code: Int(operands[3]))?.name : nil
        request = command ?? pdu.name
    }

    /// The fields of the conclusion `Refused`.
    var fields: [(String, CaseValue)] {
        [
            ("Layer", .text(layer)), ("Request", .text(request)), ("Result", .text(result)),
            ("Code", .text(Hex.number(code, bits: width > 8 || code > 0xFF ? 16 : 8))), ("Elsewhere", .text(elsewhere)),
        ]
    }
}

extension Refusal {
    /// Layers whose PDUs report errors to their peers; messages of an upper tester do not.
    static let layers = Set(Layer.allCases).subtracting([.btpCommands, .btpResponses, .btpEvents])

    /// The names of fields that report an error unless their value is named as a success.
    static let reports: Set<String> = ["Status", "Result", "Reason", "Error_Code", "ErrorCode"]

    /// Fields whose errors are values of their own. Core Vol 4, Part E, 7.7.65.15, 7.7.65.36, 7.7.65.44 and 7.7.69; AVRCP 1.6, 6.7.1.
    static let values: [String: Set<Int>] = [
        "Data_Status": [0x02, 0xFF], "TX_Status": [0x01], "RX_Status": [0x01], "Procedure_Done_Status": [0x0F],
        "Subevent_Done_Status": [0x0F], "Play_Status": [0xFF],
    ]

    /// True if a general finding reports the errors of a field: the first one of a PDU counts, and a vendor's mean other things.
    static func isReport(_ field: FieldDeclaration, of pdu: PDUDeclaration) -> Bool {
        (reports.contains(field.name) || values[field.name] != nil) && pdu.company == nil
    }

    /// The name of the field that reports an error, of all PDUs that have one.
    private static let names: [PDUID: String] = PDUCatalog.all.reduce(into: [:]) { names, pdu in
        guard layers.contains(pdu.layer) else { return }
        names[pdu.id] = pdu.fields.flat.first { isReport($0, of: pdu) }?.name
    }

    private static func report(in pdu: DecodedLayer, _ id: PDUID) -> DecodedField? {
        if id == HCIEvents.CommandComplete.id { return pdu.returns.first.flatMap { $0.name == "Status" ? $0 : nil } }
        return names[id].flatMap { pdu.fields.named($0) }
    }

    private static func isError(_ value: Int, _ field: DecodedField) -> Bool {
        if let errors = values[field.name] { return errors.contains(value) }
        guard let name = name(of: value, field.declaration) else { return true }
        return !goods.contains { name.hasPrefix($0) }
    }

    /// Beginnings of the names of values that report no error.
    private static let goods = ["Success", "Accepted", "Pending"]

    static func name(of value: Int, _ field: FieldDeclaration) -> String? {
        field.type?.name(of: value) ?? field.labels.first { $0.value == value }?.name
    }

    /// The name of the request that a PDU refuses; nil for a report that answers none.
    private static func refused(_ pdu: DecodedLayer, _ id: PDUID) -> String? {
        if pdu.layer == .avdtp { return PDUCatalog.declaration(layer: .avdtp, code: pdu.code & 0xFF)?.name }
        if let request = id.answers.first { return PDUCatalog.declaration(request)?.name }
        guard case .named(let fields)? = id.refuses, let last = fields.last else {
            return id.refuses == nil ? nil : "the pending request (\(pdu.name))"
        }
        return pdu.fields.named(last).map(\.text)
    }
}
