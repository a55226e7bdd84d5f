import BBCases
import BBPackets
import BBTiming

/// The search for an expected packet, with the near misses.
final class Search {
    let name: String
    let side: Side
    let isAir: Bool
    let predicates: [FieldPredicate]
    let variables: Variables
    private(set) var limits: WindowLimits
    /// The position in the log at which the search starts.
    var start = 0
    /// The window as written in the case, for messages.
    var window = ""
    /// The step, or the step that uses its procedure, states a requirement of the subject.
    var isStated = false
    /// Packets with the right name but other fields.
    private(set) var misses: [(observation: Observation, mismatch: Mismatch)] = []
    private(set) var failure: BadReference?

    init(_ name: String, _ predicates: [FieldPredicate], at side: Side, isAir: Bool, _ variables: Variables, _ limits: WindowLimits) {
        self.name = name
        self.side = side
        self.isAir = isAir
        self.predicates = predicates
        self.variables = variables
        self.limits = limits
    }

    /// The expected packet's connection.
    var connection: Int? {
        guard let field = predicates.first(where: { $0.name == "Connection_Handle" }), case .equals(let operand) = field.predicate else {
            return nil
        }
        return try? variables.resolve(operand).asNumber
    }

    /// Restarts with a longer window; returns false if the machine's delays do not exceed the time already granted.
    func prolong(by delays: Microseconds, slack: Microseconds, last: Microseconds) -> Bool {
        guard limits.prolong(by: delays, slack: slack, last: last) else { return false }
        misses.removeAll()
        return true
    }

    func matches(_ observation: Observation) -> Bool {
        guard observation.side == side, observation.isAir == isAir, AlternativeEvents.matches(name, observation.name) else { return false }
        let record = PDUCodec.record(of: observation)
        do {
            if let mismatch = try Predicate.parts(predicates).mismatch(.record(record), variables) {
                if misses.count < 64 { misses.append((observation, mismatch)) }
                return false
            }
        } catch {
            failure = error
            return false
        }
        if let mismatch = limits.violation(at: observation.time) {
            if misses.count < 64 { misses.append((observation, mismatch)) }
            return false
        }
        return true
    }
}

extension CaseRun {
    // MARK: Expect

    func expect(_ expectation: Expectation, _ step: Step, _ scope: inout Scope) async throws {
        let search = try search(expectation, step, scope)
        let start = try searchStart(expectation.since, scope)
        search.start = start
        let began = loop.now
        let answers = AnswerRule(expectation, after: lastCommands[step.side], isAlone: !scope.isBeside)
        let gone = earlierEnd(of: search, before: start)
        let found =
            if let gone { gone } else {
                try await take([search], from: start) {
                    search.matches($0) || answers.isOther($0, search) || self.end(of: search, told: $0) != nil
                }
            }
        if let failure = search.failure { throw failure }
        if let found, let link = end(of: search, told: found) {
            throw lost(link, search.name, step, told: found, evidence: recent(at: search.side, from: start, of: search))
        }
        guard let found, AlternativeEvents.matches(expectation.name, found.name), !(expectation.isStrict && !search.misses.isEmpty),
            !search.misses.contains(where: { $0.observation.index == found.index })
        else {
            if let found { throw answered(search, step, with: found) }
            throw await askingUpperTester(missed(search, step, waited: loop.now - began), [search])
        }
        scope.reference.pass(to: found.time)
        // The packet may have come before the step began; what came between them is after it, too.
        if let label = step.label, let mark = marks[label] { marks[label] = min(mark, found.index) }
        save(.record(try record(of: found, for: expectation, scope)), of: step, in: scope, from: found.place)
        if step.states != nil { evidence.append(Self.evidence(found)) }
    }

    /// Waits for an observation; extends the windows by the machine's delays, so that silence is attributed to the subject only after its
    /// full time.
    func take(_ searches: [Search], from start: Int, where wants: @escaping (Observation) -> Bool) async throws -> Observation? {
        while true {
            let waitUntil = searches.map(\.limits.waitUntil).max() ?? .zero
            if let found = try await log.take(from: start, until: waitUntil, where: wants) { return found }
            guard loop.mode == .wall else { return nil }
            let longer = searches.filter {
                $0.prolong(by: bench.schedulingDelay.total(since: $0.limits.origin.latest), slack: bench.slack, last: caseDeadline)
            }
            if longer.isEmpty { return nil }
        }
    }

    /// Returns the packet's fields, and the list element that satisfied the expectation.
    private func record(of found: Observation, for expectation: Expectation, _ scope: Scope) throws -> CaseRecord {
        var record = PDUCodec.record(of: found)
        guard let searched = expectation.listSearched, case .list(let elements)? = record[searched.name] else { return record }
        let match = try elements.first { try searched.element.mismatch($0, scope.frame.variables) == nil }
        if let match { record[Expectation.match] = match }
        return record
    }

    func expectNone(_ expectation: Expectation, _ step: Step, _ scope: inout Scope) async throws {
        let start = try await start(expectation.since, step.side, &scope)
        let search = try search(expectation, step, scope, isForbidden: true)
        let found = try await log.take(from: start, until: search.limits.waitUntil) { search.matches($0) }
        if let failure = search.failure { throw failure }
        if let found {
            let text = "\(expectation.name) must not come, but packet \(found.number) brought it" + attribute(of: found, scope)
            throw StepFailure(.subject, step.stating(text), evidence: [Self.evidence(found)])
                .comparing(ExpectationDiff(expected: "no \(expectation.name)", got: found.decoded.description, packet: found.number))
        }
        scope.reference.pass(to: min(search.limits.notAfter, loop.now))
    }

    /// The attribute of an ATT PDU, with the UUID of the characteristic if the device's description has it: ` for handle 12 (2A37)`.
    private func attribute(of found: Observation, _ scope: Scope) -> String {
        guard let handle = PDUCodec.record(of: found)["Attribute_Handle"]?.asNumber else { return "" }
        guard case .record(let device)? = scope.frame.variables[Vocabulary.DeviceShape.name] else { return " for handle \(handle)" }
        for case .list(let rows) in device.values {
            for case .record(let row) in rows where row["handle"]?.asNumber == handle {
                if case .text(let uuid)? = row["uuid"] { return " for handle \(handle) (\(uuid))" }
            }
        }
        return " for handle \(handle)"
    }

    func search(_ expectation: Expectation, _ step: Step, _ scope: Scope, isForbidden: Bool = false) throws -> Search {
        let search = Search(
            expectation.name, expectation.fields, at: step.side, isAir: PDUCodec.layerIsAir(expectation.name), scope.frame.variables,
            try limits(of: expectation.window, step, scope, isForbidden: isForbidden))
        search.isStated = step.states != nil || scope.caller?.states != nil
        search.window = (expectation.window?.within?.text ?? (step.limit ?? testCase.limits.step).text) + toleranceText(expectation.window)
        return search
    }

    /// Describes the tolerance at the end of a window in real time.
    private func toleranceText(_ window: Window?) -> String {
        bench.slack > .zero && window?.within != nil ? " (+\(bench.slack.text) slack)" : ""
    }

    /// Returns the last packets on a side as evidence of a missing packet: those of the expected connection, or without one
    /// those after the last command and its answer.
    func recent(at side: Side, from start: Int, isAir: Bool = false, of search: Search? = nil) -> [Evidence] {
        let seen = log.observations.dropFirst(start).filter { $0.side == side && $0.isAir == isAir }
        if isAir { return seen.suffix(4).map { Self.evidence($0) } }
        let command = lastCommands[side]
        let connection = search?.connection ?? command?.handle
        let linked = seen.filter { observation in connection.map { observation.connection == $0 } ?? true }
        return (command?.exchange ?? []) + linked.suffix(4).map { Self.evidence($0) }
    }

    /// Returns the failure if the request was answered with another packet than expected.
    private func answered(_ search: Search, _ step: Step, with other: Observation) -> StepFailure {
        let text: String
        var diff = ExpectationDiff(expected: search.name, got: other.decoded.description, packet: other.number)
        if let miss = search.misses.last(where: { $0.observation.index == other.index }) {
            text = "\(search.name): \(PDUCodec.spoken(miss.mismatch, in: other.decoded.pdu)) (\(other.place))"
            diff = ExpectationDiff(PDUCodec.worded(miss.mismatch, in: other.decoded.pdu), of: search.name, packet: other.number)
        } else {
            text = "expected \(search.name), got \(other.name) \(PDUCodec.record(of: other)) (\(other.place))"
        }
        // A controller's refusal of the tester's own command says nothing about the subject.
        let isRefusal = other.name == HCIEvents.CommandStatus.name || other.name == HCIEvents.CommandComplete.name
        let blame = isRefusal && search.side == .tester ? .precondition : blame(for: search)
        let request = isRefusal ? lastCommands[search.side]?.exchange ?? [] : []
        return StepFailure(blame, step.stating(text), evidence: request + [Self.evidence(other)]).comparing(diff)
    }

    /// Returns the position in the log at which a step's search starts.
    func searchStart(_ since: String?, _ scope: Scope) throws -> Int {
        guard let since else { return scope.searchStart }
        guard let mark = marks[since] else { throw StepFailure(.precondition, "step \(since) has not run") }
        return mark
    }

    func missed(_ search: Search, _ step: Step, waited: Microseconds) -> StepFailure {
        let place = search.isAir ? "on the air from the \(search.side.rawValue)" : "at the \(search.side.rawValue)"
        var text = "\(search.name) \(place) was expected within \(search.window.isEmpty ? waited.text : search.window); "
        let seen = log.observations.dropFirst(search.start).filter { $0.side == search.side && $0.isAir == search.isAir }
        if search.misses.isEmpty {
            text += "none came" + early(search) + lastWords(at: search.side, isAir: search.isAir)
        } else if let last = search.misses.last {
            let others = search.misses.count - 1
            text += "\(PDUCodec.spoken(last.mismatch, in: last.observation.decoded.pdu)) (\(last.observation.place))"
            if others > 0 { text += ", and \(others) more did not fit" }
        }
        if isOver(search) { text += Self.caseIsOver }
        var near = search.misses.suffix(3).map { Self.evidence($0.observation) }
        if near.isEmpty { near = recent(at: search.side, from: search.start, isAir: search.isAir, of: search) }
        var failure = lateSubject(step, text, since: search.limits.origin.latest, granted: search.limits.granted, evidence: near)
        failure.diff = diff(of: search)
        if failure.blame == .subject { failure.blame = isOver(search) ? .environment : blame(for: search) }
        if search.misses.isEmpty {
            failure.overlooked = AnswersOfAKind.instead(of: search.name, at: search.side, isAir: search.isAir, in: seen).map {
                Self.evidence($0)
            }
        }
        return failure
    }

    /// The end of a message about a window that the case did not last for.
    static let caseIsOver = "; the time of the case was over before, so this says nothing"

    /// True if the case has ended before the window did: silence until then is no fault of the subject.
    func isOver(_ search: Search) -> Bool { search.limits.isCut && loop.now >= caseDeadline }

    /// Describes a matching packet that preceded the window.
    private func early(_ search: Search) -> String {
        let before = log.observations.prefix(search.start)
        let isOne = { (one: Observation) in
            one.side == search.side && one.isAir == search.isAir && !one.isTaken && AlternativeEvents.matches(search.name, one.name)
        }
        guard let found = before.last(where: isOne) else { return "" }
        let mismatch = try? Predicate.parts(search.predicates).mismatch(.record(PDUCodec.record(of: found)), search.variables)
        let fault = mismatch.map { ": \(PDUCodec.spoken($0, in: found.decoded.pdu))" } ?? ""
        return " in that time; one had come before\(fault) (\(found.place))"
    }

    /// Returns the cause of a missing packet. A missing event of the tester's controller is not attributed to the subject, unless the step,
    /// or the use of its procedure, states the requirement of the subject.
    func blame(for search: Search) -> StepFailure.Blame {
        let isEvent = !search.isAir && PDUCodec.layer(of: search.name) == nil && search.name != SynchronousPacket.name
        let isUpper = PDUCatalog.declaration(layer: .btpEvents, name: search.name) != nil
        return (search.side == .tester || isUpper) && isEvent && !search.isStated ? .precondition : .subject
    }

    /// Returns the expected fields and the last near miss.
    private func diff(of search: Search) -> ExpectationDiff {
        guard let last = search.misses.last else {
            return ExpectationDiff(expected: "\(search.name) within \(search.window)", got: "nothing of it")
        }
        let worded = PDUCodec.worded(last.mismatch, in: last.observation.decoded.pdu)
        return ExpectationDiff(worded, of: search.name, packet: last.observation.number)
    }

    /// Describes the last packet on a side, for messages about a missing packet.
    func lastWords(at side: Side, isAir: Bool = false) -> String {
        let last = log.observations.last { $0.side == side && $0.isAir == isAir }
        return last.map { "; the last there was \($0.name) (\($0.place))" } ?? ""
    }

    /// Returns the failure of a late subject; it is not attributed to the subject if the machine was later than the slack and the window
    /// was not extended enough.
    func lateSubject(
        _ step: Step, _ text: String, since time: Microseconds, granted: Microseconds = .zero, evidence: [Evidence] = []
    ) -> StepFailure {
        let late = bench.schedulingDelay.worst(since: time)
        guard loop.mode == .wall, late > bench.slack, bench.schedulingDelay.total(since: time) > granted else {
            return StepFailure(.subject, step.stating(text), evidence: evidence)
        }
        let excuse = "; the machine served the bench \(late.text) late, more than the slack of \(bench.slack.text), so this says nothing"
        return StepFailure(.environment, step.stating(text + excuse), evidence: evidence)
    }

    static func evidence(_ observation: Observation) -> Evidence {
        let side = observation.isAir ? "air" : observation.side.rawValue
        return Evidence(packet: observation.number, side: side, text: observation.decoded.description, at: observation.time)
    }

    // MARK: Measure

    func measure(_ measurement: Measurement, _ step: Step, _ scope: inout Scope) async throws {
        let start = bench.isForeign ? try await start(nil, step.side, &scope) : log.end
        let began = scope.reference.latest
        let length = try duration(measurement.during, at: step.side, scope)
        let end = min(began + length, caseDeadline)
        let limits = WindowLimits(origin: scope.reference, notBefore: began, notAfter: end, waitUntil: min(end + bench.slack, caseDeadline))
        try await log.rest(until: limits.waitUntil)
        let search = Search(
            measurement.name, measurement.fields, at: step.side, isAir: PDUCodec.layerIsAir(measurement.name), scope.frame.variables, limits
        )
        let counted = log.observations[start...].filter { !(bench.isForeign && $0.isTaken) && search.matches($0) }
        scope.reference.pass(to: end)
        if let failure = search.failure { throw failure }
        let proof = [counted.first, counted.last].compactMap { $0 }.map { Self.evidence($0) }
        guard let value = Self.value(of: measurement.metric, counted.map(\.time), since: began) else {
            let text =
                "\(counted.count) \(measurement.name) came in \(length.text)\(Self.numbers(counted)), too few to measure \(measurement.metric.rawValue)"
            throw StepFailure(.subject, step.stating(text), evidence: proof)
        }
        save(.number(value), of: step, in: scope)
        if let mismatch = try measurement.result.mismatch(.number(value), scope.frame.variables) {
            let unit = measurement.metric.isTime ? " us" : ""
            let text =
                "\(measurement.metric.rawValue)\(unit) of \(measurement.name): \(mismatch.text) (\(counted.count) in \(length.text)\(Self.numbers(counted)))"
            throw StepFailure(.subject, step.stating(text), evidence: proof)
                .comparing(ExpectationDiff(mismatch, of: "\(measurement.metric.rawValue)\(unit) of \(measurement.name)"))
        }
        if step.states != nil { evidence += proof }
    }

    /// Returns the range of packet numbers, or of times on the air.
    static func numbers(_ counted: [Observation]) -> String {
        guard let first = counted.first, let last = counted.last else { return "" }
        guard first.number > 0 else { return ", \(first.place) to \(last.time.text)" }
        return first.number == last.number ? ", packet \(first.number)" : ", packets \(first.number) to \(last.number)"
    }

    static func value(of metric: Measurement.Metric, _ times: [Microseconds], since began: Microseconds) -> Int? {
        if metric == .count { return times.count }
        if metric == .delay { return times.first.map { Int(($0 - began).rawValue) } }
        let periods = zip(times.dropFirst(), times).map { Int(($0 - $1).rawValue) }
        if metric == .undoubledPeriods { return zip(periods.dropFirst(), periods).count { $0 < 2 * $1 } }
        guard let first = times.first, let last = times.last, times.count > 1 else { return nil }
        switch metric {
        case .count, .delay, .undoubledPeriods: return nil
        case .span: return Int((last - first).rawValue)
        case .meanPeriod: return Int((last - first).rawValue) / periods.count
        case .medianPeriod: return periods.sorted()[periods.count / 2]
        case .shortestPeriod: return periods.min()
        case .longestPeriod: return periods.max()
        }
    }
}
