import BBCases
import BBPackets

/// Matches events against rules. Keeps a bounded state for each rule and link.
struct RuleEngine {
    private struct Key: Hashable {
        var rule: Int
        var scope: Int
    }

    /// The progress of one rule on one link.
    private struct Progress {
        /// The earlier event that the rule requires.
        var armed: (packet: Int, time: Int64)?
        var isExcluded = false
        var hits: [(packet: Int, time: Int64)] = []
        var values: [CaseValue?] = []
    }

    /// A rule by reference: a copy of all its patterns for each event would cost more than to match them.
    private final class Entry: Sendable {
        let rule: DiagnosisRule
        /// True if a match depends on no earlier event.
        let isStateless: Bool
        /// True if an earlier event can exclude the rule, and no later one can withdraw a finding.
        let canBeExcluded: Bool
        let scope: DiagnosisRule.Scope

        init(_ rule: DiagnosisRule) {
            self.rule = rule
            canBeExcluded = rule.unless != nil && rule.unlessThen == nil
            scope = rule.scope
            isStateless = rule.after == nil && rule.unless == nil && rule.unlessThen == nil && rule.times < 2
        }
    }

    /// A finding that a later event may withdraw.
    private struct Pending {
        var finding: Finding
        var rule: Int
        var scope: Int
        /// Nil if the event may come at any time.
        var deadline: Int64?
    }

    /// The parts of a rule that an event of a name may match, so that no name is compared for each event.
    private struct Concern {
        var rule: Int
        var pattern = false
        var after = false
        var without = false
        var unless = false
        var later = false
        /// True if the rule looks at fields of the event.
        var readsFields = false
    }

    private let rules: [Entry]
    /// The rules that concern an event of a name.
    private let concerned: [String: [Concern]]
    /// The rules that keep a state for each link.
    private let linked: [Int]
    private var progress: [Key: Progress] = [:]
    private var pending: [Pending] = []
    /// The first deadline of what is pending.
    private var deadline = Int64.max
    private(set) var findings: [Finding] = []
    private var places: [Place: Int] = [:]
    private let variables = Variables()
    /// The part of the capture, such as a case of a run: findings of several parts are not merged.
    private(set) var section = 0

    /// Repeated findings with the same place are merged.
    private struct Place: Hashable {
        var rule: String
        var link: Int?
        var device: Int?
        var section: Int
        /// The texts in the finding: times and counts do not tell one finding from another.
        var detail: String
    }

    private static let most = (progress: 100_000, pending: 1_000, findings: 10_000, packets: 8, links: 10_000)

    init(_ rules: [DiagnosisRule]) {
        let entries = rules.map(Entry.init)
        self.rules = entries
        linked = entries.indices.filter { entries[$0].rule.scope == .link && !entries[$0].isStateless }
        var concerned: [String: [Concern]] = [:]
        for (index, rule) in rules.enumerated() {
            let patterns = [rule.pattern, rule.after?.pattern, rule.after?.without, rule.unless, rule.unlessThen?.pattern]
            for name in Set(patterns.compactMap(\.self).flatMap(\.names)) {
                concerned[name, default: []].append(
                    Concern(
                        rule: index, pattern: rule.pattern.names.contains(name), after: rule.after?.pattern.names.contains(name) ?? false,
                        without: rule.after?.without?.names.contains(name) ?? false, unless: rule.unless?.names.contains(name) ?? false,
                        later: rule.unlessThen?.pattern.names.contains(name) ?? false,
                        readsFields: !rule.same.isEmpty
                            || patterns.contains { $0?.names.contains(name) == true && $0?.fields.isEmpty == false }))
            }
        }
        self.concerned = concerned
    }

    /// Begins the next part: what was counted before does not count in it.
    mutating func beginSection() {
        section += 1
        progress.removeAll()
    }

    func concerns(_ name: String) -> Bool { concerned[name] != nil }

    /// Matches an event against all rules.
    ///
    /// - Parameter link: values of the event's link for the rules' conditions.
    /// - Returns: true if a rule is about the event.
    @discardableResult
    mutating func receive(_ event: DiagnosisEvent, link: () -> CaseRecord, text: (DiagnosisRule, DiagnosisEvent) -> String) -> Bool {
        expire(before: event.time)
        guard let concerned = concerned[event.name] else { return false }
        var event = event
        var isKnown = false
        for concern in concerned {
            let entry = rules[concern.rule]
            if isOver(entry, concern.rule, event) { continue }
            if concern.readsFields { event.fill() }
            if receive(&event, entry, concern, link, text) { isKnown = true }
        }
        return isKnown
    }

    /// True for a rule that an earlier event of the scope excludes, so that nothing more can happen. Most packets of a long link meet such ones.
    private func isOver(_ entry: Entry, _ index: Int, _ event: DiagnosisEvent) -> Bool {
        guard entry.canBeExcluded else { return false }
        return progress[Key(rule: index, scope: Self.scope(of: event, entry.scope))]?.isExcluded == true
    }

    private mutating func receive(
        _ event: inout DiagnosisEvent, _ entry: Entry, _ concern: Concern, _ link: () -> CaseRecord,
        _ text: (DiagnosisRule, DiagnosisEvent) -> String
    ) -> Bool {
        let index = concern.rule
        if entry.isStateless {
            guard matches(event, entry.rule.pattern), satisfies(entry.rule.link, link) else { return false }
            guard entry.rule.severity != .harmless else { return true }
            var state = Progress()
            hit(&event, entry.rule, index, Self.scope(of: event, entry.scope), &state, text)
            return true
        }
        return receive(&event, entry.rule, concern, link, text)
    }

    /// Matches an event against a rule that depends on other events. Most events match none of its patterns, and change nothing.
    private mutating func receive(
        _ event: inout DiagnosisEvent, _ rule: DiagnosisRule, _ concern: Concern, _ link: () -> CaseRecord,
        _ text: (DiagnosisRule, DiagnosisEvent) -> String
    ) -> Bool {
        let index = concern.rule
        let isMatch = concern.pattern && matches(event, rule.pattern)
        let isAfter = concern.after && rule.after.map { matches(event, $0.pattern) } == true
        let isWithout = concern.without && rule.after?.without.map { matches(event, $0) } == true
        let isUnless = concern.unless && rule.unless.map { matches(event, $0) } == true
        let isLater = concern.later && rule.unlessThen.map { matches(event, $0.pattern) } == true
        guard isMatch || isAfter || isWithout || isUnless || isLater else { return false }
        let scope = Self.scope(of: event, rule.scope)
        if isLater { pending.removeAll { $0.rule == index && $0.scope == scope && $0.finding.packets.last != event.packet } }
        if progress.count >= Self.most.progress { progress.removeAll() }
        let key = Key(rule: index, scope: scope)
        var state = progress[key] ?? Progress()
        // Nothing ends an exclusion.
        if state.isExcluded { return false }
        var isKnown = false
        if isMatch, satisfies(rule.link, link), isArmed(state, rule, event) {
            isKnown = rule.times < 2
            if rule.severity != .harmless { hit(&event, rule, index, scope, &state, text) }
        }
        if isUnless { state.isExcluded = true }
        if isWithout { state.armed = nil }
        if isAfter { state.armed = (event.packet, event.time) }
        progress[key] = state
        return isKnown
    }

    private func isArmed(_ state: Progress, _ rule: DiagnosisRule, _ event: DiagnosisEvent) -> Bool {
        guard let after = rule.after else { return true }
        guard let armed = state.armed, armed.packet != event.packet else { return false }
        let elapsed = event.time - armed.time
        return elapsed >= after.atLeast?.rawValue ?? .min && elapsed <= after.within?.rawValue ?? .max
    }

    private mutating func hit(
        _ event: inout DiagnosisEvent, _ rule: DiagnosisRule, _ index: Int, _ scope: Int, _ state: inout Progress,
        _ text: (DiagnosisRule, DiagnosisEvent) -> String
    ) {
        event.fill()
        let values = rule.same.map { event.record[$0] }
        if values != state.values { state.hits = [] }
        state.values = values
        state.hits.append((event.packet, event.time))
        if let within = rule.within { state.hits.removeAll { event.time - $0.time > within.rawValue } }
        guard state.hits.count >= rule.times else { return }
        let packets = rule.times > 1 ? state.hits.map(\.packet) : [event.packet]
        state.hits = []
        var finding = Finding(
            rule: rule, link: event.link, device: event.device, packets: Array(packets.prefix(Self.most.packets)), time: event.time,
            message: text(rule, event))
        finding.section = section
        finding.owner = event.owner ?? event.device
        finding.detail = event.pdu == nil ? event.texts : finding.message
        if let later = rule.unlessThen {
            if pending.count >= Self.most.pending { pending.removeFirst() }
            let deadline = later.within.map { event.time.addingClamped($0.rawValue) }
            pending.append(Pending(finding: finding, rule: index, scope: scope, deadline: deadline))
            self.deadline = min(self.deadline, deadline ?? .max)
        } else {
            add(finding)
        }
    }

    /// Merges repeated findings of a rule on a link, and on the links of a device.
    private mutating func add(_ finding: Finding) {
        let place = Place(
            rule: finding.rule.id, link: finding.owner == nil ? finding.link : nil, device: finding.owner, section: finding.section,
            detail: finding.detail)
        if let known = places[place] {
            findings[known].count += 1
            if findings[known].links.count < Self.most.links { findings[known].links.formUnion(finding.links) }
            let room = Self.most.packets - findings[known].packets.count
            findings[known].packets += finding.packets.prefix(max(0, room))
        } else if findings.count < Self.most.findings {
            places[place] = findings.count
            findings.append(finding)
        }
    }

    private mutating func expire(before time: Int64) {
        guard deadline < time else { return }
        func isExpired(_ entry: Pending) -> Bool { entry.deadline.map { $0 < time } ?? false }
        for entry in pending where isExpired(entry) { add(entry.finding) }
        pending.removeAll(where: isExpired)
        deadline = pending.compactMap(\.deadline).min() ?? .max
    }

    /// Forgets the progress on a link, and confirms findings that nothing can withdraw any more.
    mutating func close(link: Int) {
        func isSettled(_ entry: Pending) -> Bool { entry.finding.link == link && rules[entry.rule].rule.scope == .link }
        for entry in pending where isSettled(entry) { add(entry.finding) }
        pending.removeAll(where: isSettled)
        for index in linked { progress[Key(rule: index, scope: link)] = nil }
    }

    /// Confirms at the end of the capture what could be withdrawn at any time. What waited for a deadline remains open.
    mutating func finish() {
        for entry in pending where entry.deadline == nil { add(entry.finding) }
        pending = []
    }

    private static func scope(of event: DiagnosisEvent, _ scope: DiagnosisRule.Scope) -> Int {
        switch scope {
        case .link: event.link ?? -1 - event.interface
        case .device: event.device ?? -1 - event.interface
        case .adapter: -1 - event.interface
        case .capture: -1
        }
    }

    /// True if an event of one of the pattern's names fits its other conditions.
    private func matches(_ event: DiagnosisEvent, _ pattern: DiagnosisRule.Pattern) -> Bool {
        if let sender = pattern.sender, sender != event.sender { return false }
        return pattern.fields.isEmpty || pattern.fields.contains { satisfies($0) { event.record } }
    }

    private func satisfies(_ predicates: [FieldPredicate], _ record: () -> CaseRecord) -> Bool {
        guard !predicates.isEmpty else { return true }
        do { return try Predicate.parts(predicates).mismatch(.record(record()), variables) == nil } catch { return false }
    }
}

extension Int64 {
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
