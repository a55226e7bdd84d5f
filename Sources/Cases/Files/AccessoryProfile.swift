import Foundation
import Packets
import Yams

/// The rules of somebody who admits accessories, in one revision: what each asks, in which section, and its numbers. Cases refer to a rule by its name.
public struct AccessoryProfile: Sendable {
    /// The name of its file.
    public var id: String
    public var title: String
    /// Release and date.
    public var revision: String
    public var rules: [String: Rule]
    /// What a case calls the values of its rule: `$rule.most`.
    package static let ruleVariable = "rule"

    /// One rule.
    public struct Rule: Sendable, Hashable {
        public var name: String
        /// The profile that it is in.
        public var profile: String
        /// What it asks for, in the bench's own words.
        public var says: String
        /// Of the profile's document, or another that is named.
        public var section: String
        public var level: Level
        /// The release in whose text the numbers were seen, where that is another one than this.
        public var seenIn: String?
        /// Its numbers and lists by name; times are in microseconds.
        public var values: CaseRecord

        /// Profile, section and level, as a verdict names them.
        public var citation: String {
            "\(profile) \(section) (\(level.rawValue)\(seenIn.map { ", as in \($0)" } ?? "")): \(says)"
        }
    }

    /// How strongly the document asks.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        case shall, should, recommended
        /// What a phone does, which a device has to live with.
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
        var values = CaseRecord()
        for entry in keys.entries { values[entry.name] = number(entry.node, entry.name) }
        return AccessoryProfile.Rule(
            name: name, profile: profile, says: says, section: section, level: level ?? .should,
            seenIn: seen, values: values)
    }

    /// A number, a time in microseconds, a word, or a list of them.
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

    /// The rule of a profile that a case judges.
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
    /// The rules of all profiles, with the names of the values that each of them has wherever it is.
    static func ruleNames(of profiles: some Sequence<AccessoryProfile>) -> [String: Set<String>] {
        var names: [String: Set<String>] = [:]
        for rule in profiles.flatMap(\.rules.values) {
            let own = Set(rule.values.names)
            names[rule.name] = names[rule.name].map { $0.intersection(own) } ?? own
        }
        return names
    }
}

extension CaseRecord {
    /// A value that is a time.
    package func time(_ name: String) -> Microseconds? {
        self[name]?.asNumber.map { Microseconds(Int64($0)) }
    }

    /// Times in a list.
    package func times(_ name: String) -> [Microseconds] {
        guard case .list(let list)? = self[name] else { return [] }
        return list.compactMap(\.asNumber).map { Microseconds(Int64($0)) }
    }
}
