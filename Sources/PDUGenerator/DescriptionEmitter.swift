/// Writes the descriptions: compact text that the catalogue reads on first use, and the list of typed PDUs.
///
/// A line is a record of tab-separated columns. `P` starts a PDU, `R` its command's returns, `F` is a field; the second column of `F` is
/// the nesting depth.
/// `N` is a named type.
enum DescriptionEmitter {
    static func emit(_ file: DeclarationFile) -> String {
        var lines: [String] = []
        for pdu in file.pdus {
            lines.append(
                [
                    "P", file.name, pdu.name, "\(pdu.code)", pdu.subevent.map { "\($0)" } ?? "", file.place(of: pdu),
                    pdu.endsInStatus ? "S" : "C", pdu.supported.map { "\($0.octet).\($0.bit)" } ?? "",
                    pdu.mask.map { "\($0.mask).\($0.bit)" } ?? "", pdu.needs.joined(separator: " "), pdu.codec == .none ? "" : "struct",
                ]
                .joined(separator: "\t"))
            for field in pdu.fields { describe(field, 0, &lines) }
            guard let returns = pdu.returns else { continue }
            lines.append("R")
            for field in returns { describe(field, 0, &lines) }
        }
        var out = SourceText()
        out.line("// Generated from the declarations of \(file.name); edit those.")
        out.block("enum Description_\(file.stem)") { out in
            out.line("static let text: StaticString = #\"\"\"")
            for line in lines { out.line(line) }
            out.line("\"\"\"#")
            let structs = file.pdus.filter { $0.codec != .none }
            out.line("static var types: [any PDU.Type] { [\(structs.isEmpty ? "] }" : "")")
            for pdu in structs { out.line("    \(file.name).\(CodecEmitter.swiftName(pdu, file.layer)).self,") }
            if !structs.isEmpty { out.line("] }") }
        }
        return out.text
    }

    static func emit(_ types: [NamedType]) -> String {
        var out = SourceText()
        out.line("// Generated from the declarations of the named values; edit those.")
        out.block("enum Description_NamedTypes") { out in
            out.line("static let text: StaticString = #\"\"\"")
            for type in types {
                let values = type.values.map { "\($0.value)=\($0.name)" }
                out.line((["N", type.name, "\(type.octets)", type.isFlags ? "flags" : "enum"] + values).joined(separator: "\t"))
            }
            out.line("\"\"\"#")
        }
        for type in types where !type.isFlags {
            out.block("extension \(type.name): CustomStringConvertible") { out in
                out.line("public var description: String { PDUCatalog.label(\"\(type.name)\", Int(rawValue)) }")
            }
        }
        return out.text
    }

    /// The list of all description texts and of all structs, in the order of their declarations.
    static func index(_ files: [DeclarationFile]) -> String {
        var out = SourceText()
        out.line("// Generated from the declarations; edit those.")
        out.block("enum DescriptionIndex") { out in
            out.block("static var texts: [StaticString]") { out in
                out.line("var all: [StaticString] = [Description_NamedTypes.text]")
                for file in files { out.line("all.append(Description_\(file.stem).text)") }
                out.line("return all")
            }
            out.block("static var types: [any PDU.Type]") { out in
                out.line("var all: [any PDU.Type] = []")
                for file in files { out.line("all += Description_\(file.stem).types") }
                out.line("return all")
            }
        }
        return out.text
    }

    private static func describe(_ field: Field, _ depth: Int, _ lines: inout [String]) {
        var columns = ["F", "\(depth)", field.name, code(field.shape)]
        var inner: [Field] = []
        switch field.shape {
        case .bits(_, let members): inner = members
        case .rows(_, _, let fields), .block(_, let fields): inner = fields
        default: break
        }
        if let scale = field.notes.scale { columns.append("x\(scale)") }
        if let unit = field.notes.unit { columns.append("u\(unit)") }
        if let low = field.notes.low, let high = field.notes.high { columns.append("r\(low)...\(high)") }
        for label in field.notes.labels { columns.append("=\(label.value) \(label.name)") }
        if let format = field.notes.format { columns.append("f\(format)") }
        if let kind = field.notes.kindField { columns.append("k\(kind)") }
        if let condition = field.condition { columns.append("?\(condition.field).\(condition.bit)") }
        lines.append(columns.joined(separator: "\t"))
        for field in inner { describe(field, depth + 1, &lines) }
    }

    /// Returns the code words of a field's shape, the outermost first.
    private static func code(_ shape: Shape) -> String {
        switch shape {
        case .integer(let octets, let signed, let big, let named): "\(signed ? "i" : "u") \(octets) \(big ? "b" : "l") \(named ?? "-")"
        case .bytes(let size): "bytes \(code(size))"
        case .uuid(let size): "uuid \(code(size))"
        case .bits(let octets, _): "bits \(octets)"
        case .bit(let width, let named): "bit \(width) \(named ?? "-")"
        case .reserved(let octets): "reserved \(octets)"
        case .array(let count, let element): "array \(code(count)) \(code(element))"
        case .rows(let count, let type, _): "rows \(code(count)) \(type)"
        case .nested(let name): "nested \(name)"
        case .block(let length, _): "block \(length)"
        }
    }

    private static func code(_ size: Size) -> String {
        switch size {
        case .fixed(let octets): "\(octets)"
        case .rest: "*"
        case .restLeaving(let tail): "-\(tail)"
        case .field(let name): name
        case .element: "+"
        }
    }

    private static func code(_ count: Count) -> String {
        switch count {
        case .fixed(let count): "n \(count)"
        case .field(let name): "of \(name)"
        case .popcount(let name): "bits \(name)"
        case .rest: "rest -"
        case .restSized(let name, let table): "by \(name)\(table.map { ",\($0.key)=\($0.octets)" }.joined())"
        }
    }
}
