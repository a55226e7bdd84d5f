import BBCases
import BBPackets
import Yams

extension DiagnosisRule {
    /// The built-in rules.
    ///
    /// - Throws: `Problems` if the built-in file is invalid, which a test excludes.
    public static func builtIn() throws(Problems) -> [DiagnosisRule] {
        try read(String(decoding: PackageResources.Rules_yaml, as: UTF8.self), file: "Rules.yaml")
    }

    /// Reads a rules file.
    ///
    /// - Throws: all mistakes of the file.
    public static func load(_ path: String) throws(Problems) -> [DiagnosisRule] {
        var reader = SourceReader(file: path, vocabulary: .diagnosis)
        return try reader.rules(reader.compose()).map { rule in
            var rule = rule
            rule.isOwn = true
            return rule
        }
    }

    static func read(_ text: String, file: String) throws(Problems) -> [DiagnosisRule] {
        var reader = SourceReader(file: file, vocabulary: .diagnosis)
        return try reader.rules(reader.compose(text))
    }
}

/// Limits of a rules file, which bound the work for each packet.
private enum RuleLimits {
    static let rules = 1_000
    static let times = 10_000
    static let longest: Microseconds = 3_600_000_000
    static let message = 400
}

extension SourceReader {
    fileprivate mutating func rules(_ root: Node?) throws(Problems) -> [DiagnosisRule] {
        var rules: [DiagnosisRule] = []
        if let root, var keys = keys(root, of: "a rules file") {
            let nodes = sequence(keys.take("rules"), "rules")
            if nodes.isEmpty { report(root, "a rules file is `rules:` with a list of rules") }
            if nodes.count > RuleLimits.rules { report(root, "a rules file has at most \(RuleLimits.rules) rules") }
            for node in nodes.prefix(RuleLimits.rules) {
                guard let rule = rule(node) else { continue }
                if rules.contains(where: { $0.id == rule.id }) { report(node, "there are two rules '\(rule.id)'") }
                rules.append(rule)
            }
            finish(keys, of: "a rules file", allowed: ["rules"])
        }
        guard problems.isEmpty else { throw Problems(problems) }
        return rules
    }

    private static let ruleKeys = [
        "id", "severity", "on", "where", "from", "link", "after", "unless", "unlessThen", "times", "within", "same", "per", "message",
        "advice",
        "section", "explains", "provokable",
    ]

    private mutating func rule(_ node: Node) -> DiagnosisRule? {
        guard var keys = keys(node, of: "a rule") else { return nil }
        let id = text(keys.take("id"), "id") ?? ""
        let message = text(keys.take("message"), "message") ?? ""
        if id.isEmpty || message.isEmpty { report(node, "a rule needs `id:`, `on:`, `severity:` and `message:`") }
        if !id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }) { report(node, "an id has letters, digits and -") }
        if message.utf8.count > RuleLimits.message { report(node, "a message has at most \(RuleLimits.message) characters") }
        let severity: DiagnosisRule.Severity? = word(keys.take("severity"), "severity")
        if severity == nil { report(node, "a rule needs `severity:` \(Self.choices(DiagnosisRule.Severity.self))") }
        let pattern = pattern(&keys, node, "a rule")
        var rule = DiagnosisRule(id: id, position: position(node), severity: severity ?? .note, message: message, pattern: pattern)
        checkPlaceholders(message, pattern, node)
        rule.link = fieldPredicates(keys.take("link"), of: "a link", fields: LinkReport.fields)
        rule.after = keys.take("after").map { earlier($0, "after") }
        rule.unless = keys.take("unless").map { nested($0, "unless") }
        rule.unlessThen = keys.take("unlessThen").map { earlier($0, "unlessThen") }
        rule.times = integer(keys.take("times"), "times", in: 1...RuleLimits.times) ?? 1
        rule.within = duration(keys.take("within"), "within", atMost: RuleLimits.longest)
        rule.same = names(keys.take("same"), "same")
        if let scope: DiagnosisRule.Scope = word(keys.take("per"), "per") { rule.scope = scope }
        rule.advice = text(keys.take("advice"), "advice")
        rule.section = text(keys.take("section"), "section")
        rule.explains = Set(names(keys.take("explains"), "explains"))
        rule.isProvokable = truth(keys.take("provokable"), "provokable")
        finish(keys, of: "a rule", allowed: Self.ruleKeys)
        return rule
    }

    private mutating func pattern(_ keys: inout Keys, _ node: Node, _ what: String) -> DiagnosisRule.Pattern {
        let written = keys.take("on")
        let names = names(written, "on")
        if names.isEmpty { report(node, "\(what) needs `on:` with the names of PDUs or conclusions") }
        for name in names where vocabulary.pdus[name] == nil {
            report(written ?? node, "there is no PDU '\(name)'" + Suggestion.text(for: name, among: vocabulary.pdus.keys))
        }
        var pattern = DiagnosisRule.Pattern(names: Set(names))
        let known = names.compactMap { vocabulary.pdus[$0] }
        // A field must exist in one of the PDUs; the others do not match.
        let fields = known.flatMap { $0.fields + ($0.returns ?? []) }
        switch keys.take("where") {
        case let list? where list.isSequence:
            pattern.fields = sequence(list, "where").map { fieldPredicates($0, of: names.joined(separator: " or "), fields: fields) }
        case let set?: pattern.fields = [fieldPredicates(set, of: names.joined(separator: " or "), fields: fields)]
        case nil: break
        }
        pattern.sender = word(keys.take("from"), "from")
        return pattern
    }

    private mutating func nested(_ node: Node, _ what: String) -> DiagnosisRule.Pattern {
        guard var keys = keys(node, of: what) else { return DiagnosisRule.Pattern(names: []) }
        defer { finish(keys, of: what, allowed: ["on", "where", "from"]) }
        return pattern(&keys, node, what)
    }

    private mutating func earlier(_ node: Node, _ what: String) -> DiagnosisRule.Earlier {
        guard var keys = keys(node, of: what) else { return DiagnosisRule.Earlier(pattern: .init(names: [])) }
        defer { finish(keys, of: what, allowed: ["on", "where", "from", "without", "atLeast", "within"]) }
        var earlier = DiagnosisRule.Earlier(pattern: pattern(&keys, node, what))
        earlier.without = keys.take("without").map { nested($0, "without") }
        earlier.atLeast = duration(keys.take("atLeast"), "atLeast", atMost: RuleLimits.longest)
        earlier.within = duration(keys.take("within"), "within", atMost: RuleLimits.longest)
        return earlier
    }

    /// Reads a name or a list of names.
    private mutating func names(_ node: Node?, _ what: String) -> [String] {
        guard let node else { return [] }
        return (node.isSequence ? sequence(node, what) : [node]).compactMap { text($0, what) }
    }

    private mutating func word<Word: RawRepresentable & CaseIterable>(_ node: Node?, _ what: String) -> Word?
    where Word.RawValue == String {
        guard let node, let text = text(node, what) else { return nil }
        if let word = Word(rawValue: text) { return word }
        report(node, "\(what) is \(Self.choices(Word.self)), not '\(text)'")
        return nil
    }

    private static func choices<Word: RawRepresentable & CaseIterable>(_: Word.Type) -> String where Word.RawValue == String {
        Word.allCases.map(\.rawValue).joined(separator: ", ")
    }

    private mutating func checkPlaceholders(_ message: String, _ pattern: DiagnosisRule.Pattern, _ node: Node) {
        let declared: [String] = pattern.names.flatMap { name in vocabulary.pdus[name]?.fields.map(\.name) ?? [] }
        let fields = Set(declared + ["name", "side"])
        for part in message.split(separator: "{").dropFirst(message.hasPrefix("{") ? 0 : 1) {
            let name = String(part.prefix { $0 != "}" })
            if !fields.contains(name) { report(node, "the message has no '\(name)' to show" + Suggestion.text(for: name, among: fields)) }
        }
    }
}

extension Node {
    fileprivate var isSequence: Bool { if case .sequence = self { true } else { false } }
}
