import Yams

/// A defect that some peer could have, to show which cases would find it.
public struct Mutant: Sendable {
    public var id: String
    public var position: Position
    public var title: String
    /// What goes wrong for users of such a peer.
    public var breaks: String
    /// Which kind of subject has the defect: a controller or a host.
    public var end: End
    public var fault: Fault
    /// Cases that are meant to find it; run first.
    public var killers: [String]

    public enum End: String, Sendable, Hashable, CaseIterable {
        case controller
        case host
    }

    /// Reads `<id>.yaml` files.
    ///
    /// - Throws: `Problems` with everything that is wrong in any file.
    public static func load(_ folder: String, catalogue: Catalogue, vocabulary: Vocabulary? = nil) throws(Problems) -> [Mutant] {
        let vocabulary = vocabulary ?? .declared(covers: [])
        var mutants: [Mutant] = []
        var problems: [Problem] = []
        for file in Catalogue.yamlFiles(below: folder) {
            var reader = SourceReader(file: folder + "/" + file, vocabulary: vocabulary)
            if let root = reader.compose(),
                let mutant = reader.mutant(root, id: Catalogue.stem(file), cases: Set(catalogue.cases.map(\.file)))
            {
                mutants.append(mutant)
            }
            problems += reader.problems
        }
        guard problems.isEmpty else { throw Problems(problems) }
        return mutants
    }
}

extension SourceReader {
    private static let mutantKeys = ["title", "breaks", "end", "controller", "host", "rewrites", "killers"]

    mutating func mutant(_ root: Node, id: String, cases: Set<String>) -> Mutant? {
        guard var keys = keys(root, of: "a mutant") else { return nil }
        let place = position(root)
        let title = text(keys.take("title"), "title") ?? ""
        let breaks = text(keys.take("breaks"), "breaks") ?? ""
        if title.isEmpty || breaks.isEmpty { report(place, "a mutant needs `title:` and `breaks:`") }
        var fault = Fault()
        fault.settings = settings(keys.take("controller"))
        fault.host = hostFaults(keys.take("host"))
        fault.rewrites = sequence(keys.take("rewrites"), "rewrites").compactMap { rewrite($0) }
        if fault.isNone { report(place, "the mutant has no fault: `controller:`, `host:` or `rewrites:`") }
        var end = Mutant.End.controller
        if let node = keys.take("end"), let name = text(node, "end") {
            if let known = Mutant.End(rawValue: name) { end = known } else { report(node, "an end is controller or host") }
        }
        let killers = sequence(keys.take("killers"), "killers").compactMap { node -> String? in
            guard let name = text(node, "a killer") else { return nil }
            if !cases.contains(name) { report(node, "there is no case '\(name)'" + Suggestion.text(for: name, among: cases)) }
            return name
        }
        finish(keys, of: "a mutant", allowed: Self.mutantKeys)
        return Mutant(id: id, position: place, title: title, breaks: breaks, end: end, fault: fault, killers: killers)
    }

    private mutating func hostFaults(_ node: Node?) -> [ControllerSetting] {
        guard let node, let keys = keys(node, of: "host") else { return [] }
        return keys.entries.map { entry in
            if !HostFaults.names.contains(entry.name) {
                report(entry.position, "there is no host fault '\(entry.name)'" + Suggestion.text(for: entry.name, among: HostFaults.names))
            }
            let number = integer(entry.node, entry.name, in: 0...65_535) ?? 0
            return ControllerSetting(name: entry.name, value: .number(number), position: entry.position)
        }
    }

    private mutating func rewrite(_ node: Node) -> Fault.Rewrite? {
        guard var keys = keys(node, of: "a rewrite"), let head = keys.take("pdu"), let name = text(head, "pdu") else {
            report(node, "a rewrite needs `pdu:`")
            return nil
        }
        let known = vocabulary.pdus[name]
        if known == nil || known?.layer == .command {
            report(head, "there is no outgoing PDU '\(name)'" + Suggestion.text(for: name, among: vocabulary.pdus.keys))
        }
        let fields = fieldPredicates(keys.take("where"), of: name, fields: known?.fields ?? [], isOpen: known == nil)
        if known?.layer == .event || known?.layer == .linkLayer { checkEqualities(fields) }
        let skip = integer(keys.take("skip"), "skip", in: 0...100_000) ?? 0
        let times = integer(keys.take("times"), "times", in: 1...100_000)
        guard let change = change(&keys, name, known, head) else { return nil }
        finish(keys, of: "a rewrite", allowed: ["pdu", "where", "skip", "times", "drop", "duplicate", "set", "replace", "with", "delay"])
        return Fault.Rewrite(pdu: name, fields: fields, change: change, skip: skip, times: times, position: position(node))
    }

    private mutating func change(_ keys: inout Keys, _ name: String, _ known: Vocabulary.PDU?, _ head: Node) -> Fault.Change? {
        if keys.take("drop") != nil { return .drop }
        if keys.take("duplicate") != nil { return .duplicate }
        if let delay = keys.take("delay") { return .delay(events: integer(delay, "delay", in: 1...10_000) ?? 1) }
        if let set = keys.take("set"), let values = self.keys(set, of: "set") {
            return .set(entries(values, of: name, fields: known?.fields ?? []))
        }
        if let replace = keys.take("replace"), let other = text(replace, "replace") {
            let replacement = vocabulary.pdus[other]
            if replacement == nil {
                report(replace, "there is no PDU '\(other)'" + Suggestion.text(for: other, among: vocabulary.pdus.keys))
            }
            var fields: [Operand.Entry] = []
            if let with = keys.take("with"), let values = self.keys(with, of: "with") {
                fields = entries(values, of: other, fields: replacement?.fields ?? [])
            }
            return .replace(other, fields)
        }
        report(head, "a rewrite says what happens: drop, duplicate, delay, set or replace")
        return nil
    }
}
