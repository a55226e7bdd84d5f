/// Writes the structs and codecs of a layer's file.
struct CodecEmitter {
    var file: DeclarationFile
    var namedTypes: [String: NamedType]
    var relations: RelationIndex

    func emit() -> String {
        var out = SourceText()
        out.line("// Generated from the declarations of \(file.name); edit those.")
        out.block("extension \(file.name)") { out in
            for pdu in file.pdus where pdu.codec == .generated { emit(pdu, &out) }
        }
        return out.text
    }

    static func swiftName(_ pdu: Declaration, _ layer: LayerInfo) -> String {
        Naming.type(pdu.name.hasPrefix(layer.prefix) ? String(pdu.name.dropFirst(layer.prefix.count)) : pdu.name)
    }

    private func emit(_ pdu: Declaration, _ out: inout SourceText) {
        out.line("/// \(pdu.name)\(pdu.section.isEmpty ? "" : ". \(file.place(of: pdu)).")")
        let emitter = StructEmitter(namedTypes: namedTypes, inlinable: file.inlinable, isCommand: file.header == .command)
        out.block("public struct \(Self.swiftName(pdu, file.layer)): \(file.proto)") { out in
            out.line("public static var name: String { \"\(pdu.name)\" }")
            switch file.header {
            case .command:
                out.line("public static var opcode: UInt16 { \(Self.hex(pdu.code, 4)) }")
                out.line("public static var completion: CommandCompletion { .\(pdu.endsInStatus ? "status" : "complete") }")
                let bit = pdu.supported.map { "SupportedCommandsBit(octet: \($0.octet), bit: \($0.bit))" } ?? "nil"
                out.line("public static var supportedCommandsBit: SupportedCommandsBit? { \(bit) }")
                if let first = pdu.fields.first, case .integer(_, _, _, "ConnectionHandle") = first.shape {
                    out.line("public static var isAboutConnection: Bool { true }")
                    out.line("public var connection: ConnectionHandle? { \(Naming.escaped(first.name)) }")
                }
            case .event:
                out.line("public static var code: UInt8 { \(Self.hex(pdu.code, 2)) }")
                out.line("public static var subevent: UInt8? { \(pdu.subevent.map { Self.hex($0, 2) } ?? "nil") }")
                let position = pdu.mask.map { "\($0.mask)(\($0.bit))" } ?? "unmaskable"
                out.line("public static var maskPosition: EventMaskPosition { .\(position) }")
            case .opcode, .lmp, .signaling, .sdp, .rfcomm, .avdtp, .avrcp:
                let opcode = file.header.opcodeType
                out.line("public static var opcode: \(opcode.name) { \(Self.hex(pdu.code, opcode.digits)) }")
            case .advertising: out.line("public static var pduType: UInt8 { \(Self.hex(pdu.code, 1)) }")
            case .none, .data: break
            }
            if let version = pdu.firstVersion { out.line("public static var firstVersion: UInt8 { \(Self.hex(version, 2)) }") }
            if !pdu.needs.isEmpty {
                let features = pdu.needs.map { "." + Naming.property($0) }.joined(separator: ", ")
                out.line("public static var neededFeatures: LEFeatures { [\(features)] }")
            }
            emitter.body(pdu.fields, cutShort: false, &out)
            if let earlier = relations.earlierStruct(of: pdu, in: file) {
                emitter.conversion(from: earlier, Self.swiftName(earlier, file.layer), pdu.fields, &out)
            }
            guard file.header == .command else { return }
            ValidationEmitter(fields: emitter).validate(pdu.fields, ofCommand: true, &out)
            Self.returns(pdu, emitter, &out)
        }
    }

    private static func returns(_ pdu: Declaration, _ emitter: StructEmitter, _ out: inout SourceText) {
        guard let fields = pdu.returns else {
            out.line("public typealias Return = NoReturn")
            return
        }
        switch fields.map(\.name) {
        case ["Status"]: out.line("public typealias Return = StatusReturn")
        case ["Status", "Connection_Handle"]: out.line("public typealias Return = StatusAndHandleReturn")
        case ["Status", "BD_ADDR"]: out.line("public typealias Return = StatusAndAddressReturn")
        default:
            out.block("public struct Return: PDU") { out in
                out.line("public static var name: String { \"\(pdu.name)\" }")
                emitter.body(fields, cutShort: true, &out)
            }
        }
    }

    static func hex(_ value: Int, _ digits: Int) -> String {
        let text = String(value, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// Lines of source code with indentation.
struct SourceText {
    private(set) var text = ""
    private var depth = 0

    mutating func line(_ line: String) {
        text += String(repeating: "    ", count: depth) + line + "\n"
    }

    mutating func block(_ head: String, _ body: (inout SourceText) -> Void) {
        line(head + " {")
        depth += 1
        body(&self)
        depth -= 1
        line("}")
    }
}
