import Yams

/// A possible defect of a peer; mutants show which cases find it.
public struct Mutant: Sendable {
    public var id: String
    public var position: Position
    public var title: String
    /// The effect of the defect on users.
    public var breaks: String
    /// The section of the specification that the defect violates.
    public var violates: String
    /// The kind of subject with the defect: a controller or a host.
    public var end: End
    public var fault: Fault
    /// The cases intended to find the defect; they run first.
    public var killers: [String]

    public enum End: String, Sendable, Hashable, CaseIterable {
        case controller
        case host
    }

    /// Reads `<id>.yaml` files.
    ///
    /// - Throws: `Problems` with the mistakes of all files.
    public static func load(_ folder: String, catalogue: Catalogue, vocabulary: Vocabulary) throws(Problems) -> [Mutant] {
        var mutants: [Mutant] = []
        var problems: [Problem] = []
        let cases = Set(catalogue.cases.map(\.file)).union(catalogue.cases.map(\.id))
        for file in Catalogue.yamlFiles(below: folder) {
            var reader = SourceReader(file: folder + "/" + file, vocabulary: vocabulary)
            if let root = reader.compose(), let mutant = reader.mutant(root, id: Catalogue.stem(file), cases: cases) {
                mutants.append(mutant)
            }
            problems += reader.problems
        }
        guard problems.isEmpty else { throw Problems(problems) }
        return mutants
    }
}

extension SourceReader {
    private static let mutantKeys = ["title", "breaks", "violates", "end", "controller", "host", "rewrites", "killers"]

    mutating func mutant(_ root: Node, id: String, cases: Set<String>) -> Mutant? {
        guard var keys = keys(root, of: "a mutant") else { return nil }
        let place = position(root)
        noteUSB(keys)
        let title = text(keys.take("title"), "title") ?? ""
        let breaks = text(keys.take("breaks"), "breaks") ?? ""
        let violates = text(keys.take("violates"), "violates") ?? ""
        if title.isEmpty || breaks.isEmpty || violates.isEmpty { report(place, "a mutant needs `title:`, `breaks:` and `violates:`") }
        var fault = Fault()
        fault.settings = controllerQuirks(keys.take("controller"))
        fault.host = quirks(keys.take("host"), of: "hosts", vocabulary.worlds.hosts)
        fault.rewrites = sequence(keys.take("rewrites"), "rewrites").compactMap { rewrite($0) }
        if fault.isNone { report(place, "the mutant has no fault: `controller:`, `host:` or `rewrites:`") }
        var end = Mutant.End.controller
        if let node = keys.take("end"), let name = text(node, "end") {
            if let known = Mutant.End(rawValue: name) { end = known } else { report(node, "an end is controller or host") }
        }
        let killers = sequence(keys.take("killers"), "killers").compactMap { node -> String? in
            guard let name = text(node, "a killer") else { return nil }
            if !cases.contains(name), !cases.contains(where: { name.contains("[") && CaseFilter.matches($0, name) }) {
                report(node, "there is no case '\(name)'" + Suggestion.text(for: name, among: cases))
            }
            return name
        }
        finish(keys, of: "a mutant", allowed: Self.mutantKeys)
        return Mutant(id: id, position: place, title: title, breaks: breaks, violates: violates, end: end, fault: fault, killers: killers)
    }
}
