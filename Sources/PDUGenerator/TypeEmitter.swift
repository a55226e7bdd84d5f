/// Writes open enumerations and flags.
enum TypeEmitter {
    static func emit(_ types: [NamedType]) -> String {
        var out = SourceText()
        out.line("// Generated from the declarations of the named values; edit those.")
        for type in types {
            let raw = "UInt\(type.octets * 8)"
            if !type.section.isEmpty { out.line("/// \(type.section).") }
            out.block("public struct \(type.name): \(type.isFlags ? "OpenFlags" : "OpenEnum")") { out in
                out.line("public var rawValue: \(raw)")
                out.line("@inlinable public init(rawValue: \(raw)) { self.rawValue = rawValue }")
                for (value, name) in type.values {
                    let raw = type.isFlags ? "1 << \(value)" : CodecEmitter.hex(value, 2)
                    out.line("@inlinable public static var \(Naming.escaped(name)): Self { Self(rawValue: \(raw)) }")
                }
            }
        }
        return out.text
    }
}
