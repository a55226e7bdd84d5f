import BBMisbehaviour

/// Compares quirks with the fields of the configuration that they change.
public enum QuirkCoverage {
    /// The fields of a configuration, by their paths, as text. Collections and option sets are one field.
    public static func fields(of value: Any, _ path: String = "") -> [String: String] {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .struct, !mirror.children.isEmpty, !(value is any RawRepresentable), !(value is any Sequence) else {
            return [path: String(reflecting: value)]
        }
        return mirror.children.reduce(into: [:]) { fields, child in
            fields.merge(self.fields(of: child.value, path.isEmpty ? child.label ?? "" : path + "." + (child.label ?? ""))) { $1 }
        }
    }

    /// The fields that a quirk changes in any of the configurations.
    public static func changes<Target>(_ quirk: Quirk<Target>, _ value: QuirkValue, in targets: [Target]) -> Set<String> {
        targets.reduce(into: []) { changed, before in
            var after = before
            quirk.apply(&after, value)
            let (old, new) = (fields(of: before), fields(of: after))
            changed.formUnion(new.keys.filter { old[$0] != new[$0] })
            changed.formUnion(old.keys.filter { new[$0] == nil })
        }
    }

    /// Values of a kind, of which at least one differs from any default.
    public static func values(of kind: QuirkValue.Kind) -> [QuirkValue] {
        let text: [String] =
            switch kind {
            case .flag: ["true"]
            case .number(let range): [range.lowerBound, range.upperBound].map { "\($0)" }
            case .milliseconds(let range): ["\(range.lowerBound)", "\(range.upperBound)"]
            case .commands: ["LE_Set_PHY"]
            case .events: ["LE_PHY_Update_Complete"]
            case .names(let words): [words.joined(separator: "+")]
            case .choice(let words): words
            case .buffers: ["30x3"]
            case .identity: ["1234:5678"]
            case .octets: ["12"]
            case .text: ["text"]
            }
        return text.compactMap { kind.read($0) }
    }
}
