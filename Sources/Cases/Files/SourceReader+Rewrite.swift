import BBMisbehaviour
import BBPackets
import Yams

/// Reading of a mutant's rules for packets.
extension SourceReader {
    private static let rewriteKeys =
        Fault.Target.allCases.map(\.rawValue) + [
            "where", "skip", "times", "every", "drop", "duplicate", "swap", "pretend", "set", "add", "copy", "replace", "follow", "with",
            "carry", "delay", "as", "append", "cut",
        ]

    mutating func rewrite(_ node: Node) -> Fault.Rewrite? {
        guard var keys = keys(node, of: "a rewrite") else { return nil }
        guard let target = Fault.Target.allCases.first(where: { keys.has($0.rawValue) }), let head = keys.take(target.rawValue),
            let name = text(head, target.rawValue)
        else {
            report(node, "a rewrite needs `pdu:`, `answer:`, `command:` or `received:`")
            return nil
        }
        let pdu = vocabulary.pdus[name].flatMap { Self.suits($0.layer, target) ? $0 : nil }
        if pdu == nil, name != Self.data {
            let names = vocabulary.pdus.values.filter { Self.suits($0.layer, target) }.map(\.name)
            report(head, "there is no such PDU '\(name)' here" + Suggestion.text(for: name, among: names))
        }
        let fields = fields(of: pdu, target)
        let conditions = fieldPredicates(keys.take("where"), of: name, fields: fields, isOpen: pdu == nil)
        if pdu.map({ !Set<Layer>.onConnections.contains($0.layer) }) ?? true { checkEqualities(conditions) }
        let skip = integer(keys.take("skip"), "skip", in: 0...100_000) ?? 0
        let times = integer(keys.take("times"), "times", in: 1...100_000)
        let every = integer(keys.take("every"), "every", in: 1...100_000) ?? 1
        guard let change = change(&keys, name, fields, head) else { return nil }
        finish(keys, of: "a rewrite", allowed: Self.rewriteKeys)
        return Fault.Rewrite(
            target: target, pdu: name, fields: conditions, change: change,
            occurrences: Occurrences(skip: skip, every: every, count: times), position: position(node))
    }

    /// The declared name of ACL data for the host.
    private static let data = HCIData.ACLData.name

    private static func suits(_ layer: Layer, _ target: Fault.Target) -> Bool {
        switch target {
        case .sent: !Set<Layer>.answered.contains(layer) && !Set<Layer>.data.contains(layer)
        case .answer, .command: Set<Layer>.answered.contains(layer)
        case .received: Set<Layer>.fixedChannels.contains(layer) || layer == .llControl || layer == .lmp
        }
    }

    private func fields(of pdu: Vocabulary.PDU?, _ target: Fault.Target) -> [Vocabulary.Field] {
        guard target == .answer else { return pdu?.fields ?? [] }
        return pdu?.returns ?? vocabulary.pdus[HCIEvents.CommandStatus.name]?.fields ?? []
    }

    private mutating func change(_ keys: inout Keys, _ name: String, _ fields: [Vocabulary.Field], _ head: Node) -> Fault.Change? {
        if keys.take("drop") != nil { return .drop }
        if keys.take("duplicate") != nil { return .duplicate }
        if keys.take("swap") != nil { return .swap }
        if keys.take("pretend") != nil { return .pretend }
        if let delay = keys.take("delay") { return .delay(events: integer(delay, "delay", in: 1...10_000) ?? 1) }
        if let more = keys.take("append") { return .append(surplus(more)) }
        if let count = keys.take("cut") { return .cut(integer(count, "cut", in: 1...250) ?? 1) }
        if let form = keys.take("as") { return .answer(text(form, "as") ?? "") }
        for word in ["replace", "follow"] {
            guard let node = keys.take(word), let other = text(node, word) else { continue }
            return another(word, other, node, &keys)
        }
        let edits = edits(&keys, name, fields)
        if !edits.isEmpty { return .fields(edits) }
        report(
            head,
            "a rewrite says what happens: drop, duplicate, swap, pretend, delay, as, append, cut, set, add, copy, replace or follow")
        return nil
    }

    /// Returns the octets that are added to a packet.
    private mutating func surplus(_ node: Node) -> [UInt8] {
        guard let octets = text(node, "append").flatMap({ Hexadecimal.octets($0) }), (1...250).contains(octets.count) else {
            report(node, "append needs 1 to 250 octets in hexadecimal: \"00 00\"")
            return []
        }
        return octets
    }

    private mutating func another(_ word: String, _ other: String, _ node: Node, _ keys: inout Keys) -> Fault.Change {
        let replacement = vocabulary.pdus[other]
        if replacement == nil { report(node, "there is no PDU '\(other)'" + Suggestion.text(for: other, among: vocabulary.pdus.keys)) }
        var fields: [Operand.Entry] = []
        if let with = keys.take("with"), let values = self.keys(with, of: "with") {
            fields = entries(values, of: other, fields: replacement?.fields ?? [])
        }
        guard word == "follow" else { return .replace(other, fields) }
        return .follow(other, fields, carrying: sequence(keys.take("carry"), "carry").compactMap { text($0, "carry") })
    }

    private mutating func edits(_ keys: inout Keys, _ name: String, _ fields: [Vocabulary.Field]) -> [Fault.Edit] {
        var edits: [Fault.Edit] = []
        for word in ["set", "add", "copy"] {
            guard let node = keys.take(word), let values = self.keys(node, of: word) else { continue }
            for entry in values.entries {
                let field = field(at: entry.name, in: fields, of: name, entry.position)
                switch word {
                case "set": edits.append(Fault.Edit(path: entry.name, source: .value(operand(entry.node, field: field))))
                case "add":
                    edits.append(Fault.Edit(path: entry.name, source: .more(integer(entry.node, entry.name, in: -65_535...65_535) ?? 0)))
                default: edits.append(Fault.Edit(path: entry.name, source: .field(text(entry.node, entry.name) ?? "")))
                }
            }
        }
        return edits
    }

    /// Returns the field at a path through rows and records.
    private mutating func field(at path: String, in fields: [Vocabulary.Field], of name: String, _ place: Position) -> Vocabulary.Field? {
        var columns = fields
        var found: Vocabulary.Field?
        for step in path.split(separator: ".").map(String.init) {
            found = columns.first { $0.name == step }
            if found == nil, !fields.isEmpty {
                report(place, "\(name) has no field '\(path)'" + Suggestion.text(for: step, among: columns.map(\.name)))
                return nil
            }
            columns = found?.columns ?? []
        }
        return found
    }
}
