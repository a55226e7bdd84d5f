/// Writes the relations between PDUs as members of `PDUID`.
struct RelationEmitter {
    private let index: RelationIndex
    private let entries: [RelationIndex.Entry]

    init(_ index: RelationIndex) {
        self.index = index
        entries = index.entries
    }

    func emit() -> String {
        var out = SourceText()
        out.line("// Generated from the declarations; edit those.")
        words("LinkKind", "A link, stream or channel that PDUs open and close.", Relations.links, &out)
        words("LinkProperty", "A property of a link that PDUs change.", Relations.properties, &out)
        out.block("extension PDUID") { out in
            let completed = pairs { index.completed(by: $0) }
            lists("completes", "The commands whose procedures the event completes.", completed, &out)
            lists(
                "completedBy", "The events that complete the command's procedure; empty for a command that ends with Command Complete.",
                reversed(completed), &out)
            let answered = pairs { index.answered(by: $0) }
            lists("answers", "The requests of the peer that the PDU answers.", answered, &out)
            lists(
                "answeredBy", "The PDUs with which the peer answers the request, refusals and general responses apart.",
                reversed(answered), &out)
            let versions = pairs { entry in index.earlier(entry).map { [$0] } ?? [] }
            lists("replaces", "The version before this one of the PDU; one at most.", versions, &out)
            lists("replacedBy", "The version after this one of the PDU; one at most.", reversed(versions), &out)
            flag(
                "comesUnasked", "True for an answer or a completing event that also comes without a request, or several times for one.",
                \.comesUnasked, &out)
            flag("isReturned", "True for an answer that the side which asked sends back.", \.isReturned, &out)
            flag(
                "awaitsGeneralResponse", "True for a request that the peer answers with a general response: accepted or not.", \.asks, &out)
            values(
                "accepts", "The request that the PDU accepts; nil for other PDUs.", "AnsweredRequest", { request($0.relations.accepts) },
                &out)
            values(
                "refuses", "The request that the PDU refuses; nil for other PDUs.", "AnsweredRequest", { request($0.relations.refuses) },
                &out)
            values(
                "effect", "The effect on a link, stream or channel.", "LinkEffect",
                {
                    $0.relations.effect.map { ".\($0.verb)(.\($0.object))" }
                }, &out)
            values(
                "handleOffset",
                "The octets before the first Connection_Handle in the parameters of a command or event, after Subevent_Code.", "Int",
                {
                    Self.handleOffset($0).map(String.init)
                }, &out)
        }
        return out.text
    }

    // MARK: Members

    private typealias Pair = (from: RelationIndex.Entry, to: [RelationIndex.Entry])

    private func pairs(_ related: (RelationIndex.Entry) -> [RelationIndex.Entry]) -> [Pair] {
        entries.map { ($0, related($0)) }.filter { !$0.to.isEmpty }
    }

    private func reversed(_ pairs: [Pair]) -> [Pair] {
        entries.map { entry in (entry, pairs.filter { $0.to.contains { $0.key == entry.key } }.map(\.from)) }.filter { !$0.to.isEmpty }
    }

    private func lists(_ name: String, _ about: String, _ pairs: [Pair], _ out: inout SourceText) {
        member(name, about, "[PDUID]", "[]", &out) { out in
            for pair in pairs {
                let codes = pair.to.map { "PDUID(rawValue: \(Self.hex($0)))" }.joined(separator: ", ")
                out.line("case \(Self.hex(pair.from)): [\(codes)]  // \(pair.from.declaration.name)")
            }
        }
    }

    private func flag(_ name: String, _ about: String, _ path: KeyPath<Relations, Bool>, _ out: inout SourceText) {
        let keys = entries.filter { $0.relations[keyPath: path] }.map { Self.hex($0) }
        member(name, about, "Bool", "false", &out) { out in
            if !keys.isEmpty { out.line("case \(keys.joined(separator: ", ")): true") }
        }
    }

    /// Writes an optional value. PDUs with the same value share a line.
    private func values(
        _ name: String, _ about: String, _ type: String, _ value: (RelationIndex.Entry) -> String?, _ out: inout SourceText
    ) {
        var keys: [(value: String, keys: [String])] = []
        for entry in entries {
            guard let value = value(entry) else { continue }
            if let place = keys.firstIndex(where: { $0.value == value }) {
                keys[place].keys.append(Self.hex(entry))
            } else {
                keys.append((value, [Self.hex(entry)]))
            }
        }
        member(name, about, type + "?", "nil", &out) { out in
            for row in keys { out.line("case \(row.keys.joined(separator: ", ")): \(row.value)") }
        }
    }

    private func member(
        _ name: String, _ about: String, _ type: String, _ none: String, _ out: inout SourceText, _ rows: (inout SourceText) -> Void
    ) {
        out.line("/// \(about)")
        out.block("public var \(name): \(type)") { out in
            out.block("switch rawValue") { out in
                rows(&out)
                out.line("default: \(none)")
            }
        }
    }

    private func words(_ name: String, _ about: String, _ words: [(word: String, about: String)], _ out: inout SourceText) {
        out.line("/// \(about)")
        out.block("public enum \(name): Sendable, Hashable") { out in
            for word in words {
                out.line("/// \(word.about)")
                out.line("case \(word.word)")
            }
        }
    }

    // MARK: Values

    private static func hex(_ entry: RelationIndex.Entry) -> String { CodecEmitter.hex(Int(entry.key), 8) }

    private func request(_ mentions: [Relations.Mention]) -> String? {
        if mentions.isEmpty { return nil }
        if mentions.map(\.name) == ["any"] { return ".pending" }
        return ".named([\(mentions.map { "\"\($0.name)\"" }.joined(separator: ", "))])"
    }

    private static func handleOffset(_ entry: RelationIndex.Entry) -> Int? {
        guard [.command, .event].contains(entry.file.header) else { return nil }
        var offset = 0
        for field in entry.declaration.fields {
            guard field.condition == nil else { return nil }
            if case .integer(_, _, _, "ConnectionHandle") = field.shape { return offset }
            // The handle of a command is its first parameter.
            if entry.file.header == .command { return nil }
            switch field.shape {
            case .integer(let octets, _, _, _), .bits(let octets, _), .reserved(let octets), .bytes(.fixed(let octets)): offset += octets
            default: return nil
            }
        }
        return nil
    }
}
