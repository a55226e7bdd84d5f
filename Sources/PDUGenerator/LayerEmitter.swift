/// Writes the enumeration of the layers and their namespaces.
enum LayerEmitter {
    static func emit(_ layers: [LayerInfo], declared: Set<String>) -> String {
        var out = SourceText()
        out.line("// Generated from the declarations of the layers; edit those.")
        for layer in layers where declared.contains(layer.name) {
            out.line("/// \(layer.about)")
            out.line("public enum \(layer.name) {}")
        }
        out.line("/// The layer of a PDU: its namespace, its header and the L2CAP channels that carry it.")
        out.block("public enum Layer: String, Sendable, CaseIterable, CustomStringConvertible") { out in
            for layer in layers {
                out.line("/// \(layer.about)")
                out.line("case \(layer.caseName) = \"\(layer.name)\"")
            }
            header(layers, &out)
            out.line("/// The namespace.")
            out.line("public var description: String { rawValue }")
            property("title", "The heading of a list of the layer's PDUs.", "String", layers, { "\"\($0.title)\"" }, &out)
            property(
                "prefix", "Common prefix of the PDU names; may be empty.", "String", layers,
                { "\"\($0.prefix)\"" }, &out)
            property(
                "leChannel", "The fixed channel of an LE link. Core Vol 3, Part A, 2.1.", "UInt16?", layers, { number($0.leChannel) }, &out)
            property("bredrChannel", "The fixed channel of a BR/EDR link.", "UInt16?", layers, { number($0.bredrChannel) }, &out)
            property("psm", "The PSM of its channels on a BR/EDR link. Assigned Numbers, 2.7.", "UInt16?", layers, { number($0.psm) }, &out)
            lookUp(
                "channel", "The layer of a fixed channel, of LE or of BR/EDR: no two share an identifier.", layers,
                { [$0.leChannel, $0.bredrChannel] }, &out)
            lookUp("psm", "The layer on a channel of a BR/EDR link with this PSM.", layers, { [$0.psm] }, &out)
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

    private static func lookUp(
        _ name: String, _ about: String, _ layers: [LayerInfo], _ numbers: (LayerInfo) -> [Int?], _ out: inout SourceText
    ) {
        out.line("/// \(about)")
        out.block("public init?(\(name): UInt16)") { out in
            out.block("switch \(name)") { out in
                for layer in layers {
                    let values = numbers(layer).compactMap { $0 }
                    guard !values.isEmpty else { continue }
                    out.line("case \(values.map { CodecEmitter.hex($0, 4) }.joined(separator: ", ")): self = .\(layer.caseName)")
                }
                out.line("default: return nil")
            }
        }
    }

    private static func number(_ value: Int?) -> String { value.map { CodecEmitter.hex($0, 4) } ?? "nil" }
}
