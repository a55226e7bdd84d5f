import BBPackets
import Foundation
import Yams

/// A set of rules for accessories in one revision: requirements, sections and values. Cases refer to a rule by its name.
public struct AccessoryProfile: Sendable {
    /// The file's name without extension.
    public var id: String
    public var title: String
    /// The release and its date.
    public var revision: String
    public var rules: [String: Rule]
    /// The variable with the values of a case's rule: `$rule.most`.
    package static let ruleVariable = "rule"

    /// A rule of a profile.
    public struct Rule: Sendable, Hashable {
        public var name: String
        /// The name of the rule's profile.
        public var profile: String
        /// A paraphrase of the requirement.
        public var says: String
        /// The section of the profile's document, or of another named document.
        public var section: String
        public var level: Level
        /// The release from which the values were taken, if it is not this revision.
        public var seenIn: String?
        /// The rule's numbers and lists by name; times are in microseconds.
        public var values: CaseRecord
        /// The evidence that cases of all suites give for or against the rule; nil for a rule that cases of the profile judge.
        public var evidence: Evidence?

        /// The profile, section and level, as a verdict cites them.
        public var citation: String {
            "\(profile) \(section) (\(level.rawValue)\(seenIn.map { ", as in \($0)" } ?? "")): \(says)"
        }

        /// The profile, section and level.
        public var shortCitation: String { "\(profile) \(section) (\(level.rawValue))" }
    }

    /// The cases that bear on a requirement which no test over the air decides by itself.
    public struct Evidence: Sendable, Hashable {
        /// The subject, such as `access control`; documents are ordered by it.
        public var area: String
        /// Ids of cases, or patterns with `*`; empty if no case bears on the rule.
        public var cases: [String]
        /// The part of the requirement that a test over the air cannot show.
        public var beyond: String

        /// True if a case is among the cases of the rule.
        public func includes(_ id: String) -> Bool { cases.contains { CaseFilter.matches(id, $0) } }
    }

    /// True if the profile collects evidence from cases of all suites, and has no cases of its own.
    public var isOfEvidence: Bool { rules.values.contains { $0.evidence != nil } }

    /// Returns the rules on which a case bears, in order.
    public func rules(with id: String) -> [Rule] {
        rules.values.filter { $0.evidence?.includes(id) == true }.sorted { $0.name < $1.name }
    }

    /// The strength of the requirement.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        case shall, should, recommended
        /// The behaviour of a phone, which a device must tolerate.
        case behaviour
    }

    /// Reads `<folder>/profiles/<id>.yaml`.
    static func read(_ file: String, id: String, _ problems: inout [Problem]) -> AccessoryProfile? {
        var reader = SourceReader(file: file, vocabulary: Vocabulary(pdus: []))
        let profile = reader.compose().flatMap { reader.profile($0, id: id) }
        problems += reader.problems
        return profile
    }
}

extension SourceReader {
    fileprivate mutating func profile(_ root: Node, id: String) -> AccessoryProfile? {
        guard var keys = keys(root, of: "a profile") else { return nil }
        var profile = AccessoryProfile(
            id: id, title: required(keys.take("title"), "title", at: position(root)),
            revision: required(keys.take("revision"), "revision", at: position(root)), rules: [:])
        if let node = keys.take("rules"), let rules = self.keys(node, of: "the rules") {
            for entry in rules.entries {
                profile.rules[entry.name] = rule(entry.node, named: entry.name, in: id)
            }
        }
        if profile.rules.isEmpty { report(root, "the profile has no rules") }
        finish(keys, of: "a profile", allowed: ["title", "revision", "rules"])
        return profile
    }

    private mutating func rule(_ node: Node, named name: String, in profile: String)
        -> AccessoryProfile.Rule?
    {
        guard var keys = keys(node, of: "a rule") else { return nil }
        let place = position(node)
        let says = required(keys.take("says"), "says", at: place)
        let section = required(keys.take("section"), "section", at: place)
        let levels = AccessoryProfile.Level.allCases.map(\.rawValue)
        let word = required(keys.take("level"), "level", at: place)
        let level = AccessoryProfile.Level(rawValue: word)
        if level == nil { report(place, "a level is \(levels.joined(separator: ", ")), not '\(word)'") }
        let seen = text(keys.take("seenIn"), "seenIn")
        let evidence = evidence(&keys, at: place)
        var values = CaseRecord()
        for entry in keys.entries { values[entry.name] = number(entry.node, entry.name) }
        return AccessoryProfile.Rule(
            name: name, profile: profile, says: says, section: section, level: level ?? .should,
            seenIn: seen, values: values, evidence: evidence)
    }

    /// Reads `area`, `cases` and `beyond` of a rule about evidence; `area` makes it one.
    private mutating func evidence(_ keys: inout Keys, at place: Position) -> AccessoryProfile.Evidence? {
        guard let area = text(keys.take("area"), "area") else { return nil }
        var cases: [String] = []
        if let node = keys.take("cases") {
            guard case .sequence(let sequence) = node else {
                report(node, "`cases` is a list of ids and patterns: [accessory-security/declared-reads, 'accessory-robust/*']")
                return nil
            }
            for element in sequence { text(element, "cases").map { cases.append($0) } }
        }
        return AccessoryProfile.Evidence(area: area, cases: cases, beyond: required(keys.take("beyond"), "beyond", at: place))
    }

    /// Reads a number, a time in microseconds, a word, or a list of them.
    private mutating func number(_ node: Node, _ what: String) -> CaseValue {
        if case .sequence(let sequence) = node {
            var list: [CaseValue] = []
            for element in sequence { list.append(number(element, what)) }
            return .list(list)
        }
        let text = text(node, what) ?? ""
        if let number = Self.integer(text) { return .number(number) }
        return Self.duration(text).map { .number(Int($0.rawValue)) } ?? .text(text)
    }

    /// Reads the name of the rule that a case judges.
    mutating func ruleName(_ node: Node?, subject: SubjectKind) -> String? {
        guard let node, let name = text(node, "rule") else { return nil }
        if vocabulary.rules[name] == nil {
            report(
                node,
                "no profile has a rule '\(name)'" + Suggestion.text(for: name, among: vocabulary.rules.keys)
            )
        }
        if subject != .accessory {
            report(node, "the rules of profiles are about accessories: `subject: accessory`")
        }
        return name
    }
}

extension AccessoryProfile {
    /// Returns the rules of all profiles that cases judge, with the names of the values that every profile defines for the rule.
    static func ruleNames(of profiles: some Sequence<AccessoryProfile>) -> [String: Set<String>] {
        var names: [String: Set<String>] = [:]
        for rule in profiles.flatMap(\.rules.values) where rule.evidence == nil {
            let own = Set(rule.values.names)
            names[rule.name] = names[rule.name].map { $0.intersection(own) } ?? own
        }
        return names
    }
}

extension CaseRecord {
    /// Returns a value that is a time.
    package func time(_ name: String) -> Microseconds? {
        self[name]?.asNumber.map { Microseconds(Int64($0)) }
    }

    /// Returns the times of a list.
    package func times(_ name: String) -> [Microseconds] {
        guard case .list(let list)? = self[name] else { return [] }
        return list.compactMap(\.asNumber).map { Microseconds(Int64($0)) }
    }
}
