/// Writes the properties, initialisers and codec of a list of fields.
struct StructEmitter {
    var namedTypes: [String: NamedType]
    var inlinable: Bool
    /// True for commands and their rows, which are validated.
    var isCommand = false

    /// A stored property.
    private struct Property {
        var name: String
        var type: String
        var initial: String
        var comment: String
    }

    /// Writes the body. With `cutShort` the fields after a nonzero Status may be absent.
    func body(_ fields: [Field], cutShort: Bool, _ out: inout SourceText) {
        let stored = fields.flatMap { properties($0) }
        for property in stored {
            if !property.comment.isEmpty { out.line("/// \(property.comment)") }
            out.line("public var \(property.name): \(property.type)\(cutShort ? " = \(property.initial)" : "")")
        }
        if inlinable { out.line("@inlinable") }
        if stored.isEmpty {
            out.line("public init() {}")
        } else {
            let parameters = stored.map { "\($0.name): \($0.type) = \($0.initial)" }.joined(separator: ", ")
            out.block("public init(\(parameters))") { out in
                for property in stored { out.line("self.\(property.name) = \(property.name)") }
            }
        }
        if inlinable { out.line("@inlinable") }
        out.block("public init(from reader: inout ByteReader) throws(PDUError)") { out in
            for (index, field) in fields.enumerated() {
                decode(field, &out)
                if cutShort, index == 0, field.name == "Status", fields.count > 1 {
                    out.line("if status != .success, reader.remaining == 0 { return }")
                }
            }
        }
        if inlinable { out.line("@inlinable") }
        out.block("public func encode(into writer: inout ByteWriter)") { out in
            for field in fields { encode(field, fields, &out) }
        }
        for field in fields { time(field, &out) }
        if !cutShort { for field in fields { range(field, &out) } }
        for field in fields {
            guard case .rows(_, let type, let inner) = field.shape else { continue }
            out.line("/// One row of `\(Naming.property(field.name))`.")
            out.block("public struct \(type): WireValue") { out in
                body(inner, cutShort: false, &out)
                if isCommand { ValidationEmitter(fields: self).validate(inner, ofCommand: false, &out) }
            }
        }
    }

    /// Writes the initialisers of an event that read an earlier version, too.
    func conversion(from earlier: Declaration, _ name: String, _ fields: [Field], _ out: inout SourceText) {
        let known = earlier.fields.flatMap { properties($0) }
        let shared = fields.flatMap { properties($0) }.filter { own in known.contains { $0.name == own.name && $0.type == own.type } }
        out.line("/// Converts an earlier version of the event; fields that it lacks are zero.")
        out.block("public init(_ earlier: \(name))") { out in
            out.line("self.init(\(shared.map { "\($0.name): earlier.\($0.name)" }.joined(separator: ", ")))")
        }
        out.line("/// Decodes the event or an earlier version of it; nil for another event.")
        out.block("public init?(anyVersion packet: HCIPacket) throws(PDUError)") { out in
            out.line("if packet.id == Self.id {")
            out.line("    self = try packet.event()")
            out.line("} else {")
            out.line("    guard let earlier = try \(name)(anyVersion: packet) else { return nil }")
            out.line("    self.init(earlier)")
            out.line("}")
        }
    }

    /// Writes a property with the field as a time, if its unit is one of time. The setter rounds down to a count in the range of the field.
    private func time(_ field: Field, _ out: inout SourceText) {
        guard case .integer(let octets, let signed, _, nil) = field.shape, !field.derived, let length = field.notes.microsecondsPerCount
        else {
            return
        }
        let name = Naming.property(field.name)
        let type = (signed ? "Int" : "UInt") + "\(Self.word(octets) * 8)"
        out.line("/// `\(name)` as a time.")
        out.block("public var \(name)Microseconds: Microseconds") { out in
            out.line("get { Microseconds(Int64(\(Naming.escaped(field.name))) * \(length)) }")
            out.line("set { \(Naming.escaped(field.name)) = \(type)(clamping: newValue.rawValue / \(length)) }")
        }
    }

    /// Writes the legal values of a number as a range.
    private func range(_ field: Field, _ out: inout SourceText) {
        guard case .integer(let octets, let signed, _, nil) = field.shape, let low = field.notes.low,
            let high = field.notes.high
        else { return }
        let type = (signed ? "Int" : "UInt") + "\(Self.word(octets) * 8)"
        let name = Naming.property(field.name)
        out.line("/// Legal values of `\(name)`.")
        out.line("public static var \(name)Range: ClosedRange<\(type)> { \(number(low))...\(number(high)) }")
    }

    private func number(_ value: Int) -> String { value < 0 ? "\(value)" : CodecEmitter.hex(value, 2) }

    // MARK: Properties

    private func properties(_ field: Field) -> [Property] {
        if field.derived { return [] }
        if case .bits(_, let members) = field.shape {
            return members.filter { !$0.derived && !isReserved($0) }.map { property($0, type: memberType($0), initial: memberInitial($0)) }
        }
        if case .reserved = field.shape { return [] }
        return [property(field, type: type(field.shape), initial: initial(field.shape))]
    }

    private func property(_ field: Field, type: String, initial: String) -> Property {
        var comment = field.notes.scale.map { "N x \($0) \(field.notes.unit ?? "")" } ?? field.notes.unit ?? ""
        if let low = field.notes.low, let high = field.notes.high {
            comment += (comment.isEmpty ? "" : ", ") + "\(CodecEmitter.hex(low, 2))...\(CodecEmitter.hex(high, 2))"
        }
        if !field.notes.labels.isEmpty {
            comment +=
                (comment.isEmpty ? "" : ", ")
                + field.notes.labels.map { "\(CodecEmitter.hex($0.value, 2)) \($0.name)" }.joined(separator: ", ")
        }
        return Property(name: Naming.escaped(field.name), type: type, initial: initial, comment: comment)
    }

    func isReserved(_ field: Field) -> Bool { field.name.hasPrefix("RFU") }

    private func memberType(_ field: Field) -> String {
        guard case .bit(let width, let named) = field.shape else { return "UInt8" }
        if let named { return named }
        return width == 1 ? "Bool" : width <= 8 ? "UInt8" : width <= 16 ? "UInt16" : width <= 32 ? "UInt32" : "UInt64"
    }

    private func memberInitial(_ field: Field) -> String {
        memberType(field) == "Bool" ? "false" : "0"
    }

    func type(_ shape: Shape) -> String {
        switch shape {
        case .integer(let octets, let signed, _, let named): named ?? (signed ? "Int" : "UInt") + "\(Self.word(octets) * 8)"
        case .bytes: "[UInt8]"
        case .uuid: "BluetoothUUID"
        case .array(_, let element): "[\(type(element))]"
        case .rows(_, let type, _): "[\(type)]"
        case .nested(let name): "Structures.\(name)"
        case .bits, .bit, .reserved, .block: "Never"
        }
    }

    private func initial(_ shape: Shape) -> String {
        switch shape {
        case .integer: "0"
        case .uuid: "BluetoothUUID(0)"
        case .nested: ".init()"
        case .bytes, .array, .rows, .bits, .bit, .reserved, .block: "[]"
        }
    }

    /// Returns the octets of a named type; only `ConnectionHandle` and `BDADDR` are not generated.
    private func octetCount(of named: String) -> Int { named == "ConnectionHandle" ? 2 : namedTypes[named]?.octets ?? 1 }

    /// Returns the size of the smallest Swift integer for the octets.
    static func word(_ octets: Int) -> Int { octets <= 2 ? octets : octets <= 4 ? 4 : 8 }

    // MARK: Decoding

    private func decode(_ field: Field, _ out: inout SourceText) {
        let name = Naming.property(field.name)
        switch field.shape {
        case .integer where field.derived: out.line("let \(name) = Int(\(read(field.shape, field.name)))")
        case .reserved(let octets): out.line("try reader.skip(\(octets), \"\(field.name)\")")
        case .bits(let octets, let members): decodeBits(octets, members, &out)
        case .array(let count, let element): decodeList(field, count, read(element, field.name), type(element), &out)
        case .rows(let count, let type, _): decodeList(field, count, "try \(type)(from: &reader)", type, &out)
        default: out.line("self.\(name) = \(read(field.shape, field.name))")
        }
    }

    private func decodeBits(_ octets: Int, _ members: [Field], _ out: inout SourceText) {
        let word = "word" + Naming.type(members.first?.name ?? "")
        out.line("let \(word) = try reader.u\(octets * 8)(\"\(members.first?.name ?? "")\")")
        var shift = 0
        for member in members {
            guard case .bit(let width, let named) = member.shape else { continue }
            defer { shift += width }
            if isReserved(member) { continue }
            let name = Naming.property(member.name)
            let value = "(\(word) >> \(shift)) & \(CodecEmitter.hex((1 << width) - 1, 1))"
            if member.derived {
                out.line("let \(name) = Int(\(value))")
            } else if let named {
                out.line("self.\(name) = \(named)(rawValue: UInt\(octetCount(of: named) * 8)(truncatingIfNeeded: \(value)))")
            } else if width == 1 {
                out.line("self.\(name) = \(value) != 0")
            } else {
                out.line("self.\(name) = \(memberType(member))(truncatingIfNeeded: \(value))")
            }
        }
    }

    private func decodeList(_ field: Field, _ count: Count, _ read: String, _ type: String, _ out: inout SourceText) {
        let name = Naming.property(field.name)
        let list = name + "List"
        out.line("var \(list): [\(type)] = []")
        switch count {
        case .fixed, .field, .popcount:
            out.line("let \(name)Count = \(self.count(count))")
            out.line("\(list).reserveCapacity(min(\(name)Count, 256))")
            out.block("for _ in 0..<\(name)Count") { $0.line("\(list).append(\(read))") }
        case .rest:
            out.block("while reader.remaining > 0") { $0.line("\(list).append(\(read))") }
        case .restSized(let size, let table):
            let octets =
                table.isEmpty
                ? Naming.property(size) : table.reversed().reduce("0") { "\(Naming.property(size)) == \($1.key) ? \($1.octets) : \($0)" }
            out.line("let \(name)Octets: Int = \(octets)")
            out.block("while reader.remaining > 0") { out in
                out.line("let end = try reader.enter(\(name)Octets, \"\(field.name)\")")
                out.line("\(list).append(\(read))")
                out.line("try reader.leave(end, \"\(field.name)\")")
            }
            // Without elements the size has no meaning and could not be encoded again.
            out.line(
                "if \(list).isEmpty { throw PDUError(field: \"\(field.name)\", offset: reader.offset, problem: .short(needed: max(1, \(name)Octets), left: 0)) }"
            )
        }
        out.line("self.\(name) = \(list)")
    }

    private func count(_ count: Count) -> String {
        switch count {
        case .fixed(let count): "\(count)"
        case .field(let name): Naming.property(name)
        case .popcount(let name): "\(Naming.property(name)).rawValue.nonzeroBitCount"
        case .rest, .restSized: "0"
        }
    }

    private func read(_ shape: Shape, _ name: String) -> String {
        switch shape {
        case .integer(let octets, let signed, let big, let named):
            let raw = "try reader.\(signed ? "i" : "u")\(octets * 8)\(big ? "be" : "")(\"\(name)\")"
            return named.map { "\($0)(rawValue: \(raw))" } ?? raw
        case .bytes(.rest): return "reader.rest()"
        case .bytes(.fixed(let octets)): return "try reader.bytes(\(octets), \"\(name)\")"
        case .bytes(.field(let length)): return "try reader.bytes(\(Naming.property(length)), \"\(name)\")"
        case .bytes(.restLeaving(let tail)): return "try reader.bytes(reader.remaining - \(tail), \"\(name)\")"
        case .bytes(.element): return "try reader.dataElement(\"\(name)\")"
        case .uuid(.field(let length)): return "try reader.uuid(\(Naming.property(length)), \"\(name)\")"
        case .uuid(.fixed(let octets)): return "try reader.uuid(\(octets), \"\(name)\")"
        case .uuid(.rest), .uuid(.restLeaving), .uuid(.element): return "try reader.uuid(reader.remaining, \"\(name)\")"
        case .nested(let type): return "try Structures.\(type)(from: &reader)"
        case .bits, .bit, .reserved, .array, .rows, .block: return ""
        }
    }
}
