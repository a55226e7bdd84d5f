extension StructEmitter {
    func encode(_ field: Field, _ all: [Field], _ out: inout SourceText) {
        let name = Naming.escaped(field.name)
        switch field.shape {
        case .integer(let octets, _, let big, _) where field.derived:
            out.line(
                "writer.u\(octets * 8)\(big ? "be" : "")(UInt\(Self.word(octets) * 8)(truncatingIfNeeded: \(derivation(of: field.name, all))))"
            )
        case .reserved(let octets): out.line("writer.zeros(\(octets))")
        case .bits(let octets, let members): encodeBits(octets, members, all, &out)
        case .array(_, let element): out.block("for element in \(name)") { $0.line(write(element, "element")) }
        case .rows: out.line("for row in \(name) { row.encode(into: &writer) }")
        default: out.line(write(field.shape, name))
        }
    }

    private func encodeBits(_ octets: Int, _ members: [Field], _ all: [Field], _ out: inout SourceText) {
        let word = "word" + Naming.type(members.first?.name ?? "")
        let type = "UInt\(Self.word(octets) * 8)"
        out.line("var \(word): \(type) = 0")
        var shift = 0
        for member in members {
            guard case .bit(let width, let named) = member.shape else { continue }
            defer { shift += width }
            if isReserved(member) { continue }
            var name = Naming.escaped(member.name)
            if member.derived { name = derivation(of: member.name, all) } else if named != nil { name += ".rawValue" }
            if width == 1, named == nil, !member.derived {
                out.line("if \(name) { \(word) |= \(CodecEmitter.hex(1 << shift, 1)) }")
            } else {
                out.line("\(word) |= (\(type)(truncatingIfNeeded: \(name)) & \(CodecEmitter.hex((1 << width) - 1, 1))) << \(shift)")
            }
        }
        out.line("writer.u\(octets * 8)(\(word))")
    }

    /// Returns the expression for a derived count or length.
    func derivation(of name: String, _ all: [Field]) -> String {
        for field in all {
            let property = Naming.escaped(field.name)
            switch field.shape {
            case .bytes(.field(let length)) where length == name: return "\(property).count"
            case .array(.field(let count), _) where count == name: return "\(property).count"
            case .rows(.field(let count), _, _) where count == name: return "\(property).count"
            case .uuid(.field(let length)) where length == name: return "\(property).octetCount"
            case .rows(.restSized(let size, let table), _, _) where size == name:
                let octets = "(\(property).first?.encodedCount ?? 0)"
                guard let last = table.last else { return octets }
                return table.dropLast().reversed().reduce("\(last.key)") { "\(octets) == \($1.octets) ? \($1.key) : \($0)" }
            default: continue
            }
        }
        return "0"
    }

    private func write(_ shape: Shape, _ value: String) -> String {
        switch shape {
        case .integer(let octets, let signed, let big, let named):
            "writer.\(signed ? "i" : "u")\(octets * 8)\(big ? "be" : "")(\(value)\(named == nil ? "" : ".rawValue"))"
        case .bytes(.fixed(let octets)): "writer.bytes(\(value), paddedTo: \(octets))"
        case .bytes: "writer.bytes(\(value))"
        case .uuid: "writer.uuid(\(value))"
        case .nested: "\(value).encode(into: &writer)"
        case .bits, .bit, .reserved, .array, .rows, .block: ""
        }
    }
}
