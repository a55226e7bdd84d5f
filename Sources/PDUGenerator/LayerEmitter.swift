/// Writes the enumeration of the layers and their namespaces.
enum LayerEmitter {
    static func emit(_ layers: [LayerInfo], declared: Set<String>) -> String {
        var out = SourceText()
        out.line("// Generated from the declarations of the layers; edit those.")
        for layer in layers where declared.contains(layer.name) {
            out.line("/// \(layer.about)")
            out.line("public enum \(layer.name) {}")
        }
        out.line("/// The layer of a PDU: its namespace and its header.")
        out.block("public enum Layer: String, Sendable, CaseIterable, CustomStringConvertible") { out in
            for layer in layers {
                out.line("/// \(layer.about)")
                out.line("case \(layer.caseName) = \"\(layer.name)\"")
            }
            header(layers, &out)
            property(
                "number", "The layer's place among all, from 0.", "UInt8", layers,
                { layer in
                    "\(layers.firstIndex { $0.name == layer.name } ?? 0)"
                }, &out)
            out.line("/// The namespace.")
            out.line("public var description: String { rawValue }")
            property("title", "The heading of a list of the layer's PDUs.", "String", layers, { "\"\($0.title)\"" }, &out)
            property(
                "prefix", "Common prefix of the PDU names; may be empty.", "String", layers,
                { "\"\($0.prefix)\"" }, &out)
        }
        return out.text
    }

    private static func header(_ layers: [LayerInfo], _ out: inout SourceText) {
        out.line("/// Header before a PDU's parameters.")
        out.block("public enum Header: Sendable") { out in
            for header in Header.allCases {
                out.line("/// \(header.about)")
                out.line("case \(Naming.escaped(header.rawValue))")
            }
        }
        property("header", "Header before the parameters of its PDUs.", "Header", layers, { ".\($0.header.rawValue)" }, &out)
    }

    private static func property(
        _ name: String, _ about: String, _ type: String, _ layers: [LayerInfo], _ value: (LayerInfo) -> String, _ out: inout SourceText
    ) {
        out.line("/// \(about)")
        out.block("public var \(name): \(type)") { out in
            out.block("switch self") { out in
                for layer in layers { out.line("case .\(layer.caseName): \(value(layer))") }
            }
        }
    }
}
