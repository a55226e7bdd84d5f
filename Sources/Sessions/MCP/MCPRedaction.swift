/// The rule for answers without `--keys`: no addresses, names, keys and long values, in one place.
///
/// Commands that know their fields leave them out themselves (`show --hide`, `survey --hide`, `explain`). In JSON, strings under a key of
/// the bench stay, those of secrets go, and everything else is text in which the rest of the rule is looked up.
package struct MCPRedaction {
    let isOn: Bool
    /// The arguments of the call, which the client knows.
    var known: [String] = []
    /// False for documents in which quotation marks are the bench's.
    var hidesQuotes = true

    package init(isOn: Bool) { self.isOn = isOn }

    /// Keys whose values come from case files and from the bench, never from a device.
    private static let own: Set<String> = [
        "id", "title", "verdict", "covers", "covers_partly", "seed", "capture", "file", "purpose", "reference", "tags", "position", "part",
        "outcome", "requirement", "side", "started", "occasion", "result", "selector", "version", "le_features", "acl_buffers",
        "le_buffers",
        "known", "workarounds", "chip", "driver", "impediment_kind", "step", "steps",
    ]
    private static let secret: Set<String> = ["address", "serial"]
    /// Output of the user's programs and of the product, and packets, which show_capture prints.
    private static let leftOut: Set<String> = ["log", "commands"]

    /// The value of a JSON document as it may be answered.
    func document(_ value: Any) -> Any {
        guard isOn else { return value }
        switch value {
        case let text as String: return self.text(text)
        case let list as [Any]: return list.map(document)
        case let object as [String: Any]:
            var kept: [String: Any] = [:]
            for (key, value) in object where !Self.leftOut.contains(key) {
                let isOwn = Self.own.contains(key) && !(value is [String: Any])
                kept[key] = isOwn ? value : Self.secret.contains(key) ? SecretFilter.mark : document(value)
            }
            return kept
        default: return value
        }
    }

    func text(_ text: String) -> String { isOn ? SecretFilter.hide(text, quotes: hidesQuotes, except: known) : text }
}
