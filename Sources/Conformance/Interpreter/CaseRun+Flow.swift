import BBCases
import BBPackets
import BBTiming

extension CaseRun {
    func runRepeated(_ times: Operand, _ counter: String?, _ steps: [Step], _ scope: inout Scope) async throws {
        guard case .number(let count) = try resolve(times, scope), (0...10_000).contains(count) else {
            throw StepFailure(.precondition, "repeat needs a number of 0 to 10000")
        }
        for turn in 0..<count {
            if let counter { scope.frame.variables[counter] = .number(turn) }
            do {
                try await run(steps, &scope)
            } catch var failure as StepFailure where count > 1 {
                failure.message += " (\(turn) of \(count) rounds of the loop had passed)"
                throw failure
            }
        }
    }

    /// Runs the steps for each element of a list.
    func runEach(_ list: Operand, _ name: String, _ steps: [Step], _ scope: inout Scope) async throws {
        guard case .list(let elements) = try resolve(list, scope) else { throw StepFailure(.precondition, "each needs a list") }
        if elements.count > Step.mostElements { notes.append("of \(elements.count) elements only \(Step.mostElements) were looked at") }
        var skip: StepFailure?
        var judged = 0
        for element in elements.prefix(Step.mostElements) {
            scope.frame.variables[name] = element
            do {
                try await run(steps, &scope)
                judged += 1
            } catch var failure as StepFailure {
                failure.message += Self.words(of: element).map { " (\($0))" } ?? ""
                guard failure.skipsElement else { throw failure }
                notes.append("not judged: \(failure.message)")
                failure.skipsElement = false
                skip = skip ?? failure
            }
        }
        if judged == 0, let skip { throw skip }
    }

    /// The name or UUID and the handle of an element, if it has them.
    private static func words(of element: CaseValue) -> String? {
        guard case .record(let record) = element else { return nil }
        let uuid = record["uuid"]?.description
        let name = uuid.flatMap { BluetoothUUID($0)?.short }.flatMap { AssignedNumbers.name(uuid: $0) }
        let handle = (record["handle"] ?? record["start"])?.asNumber.map { "handle \($0)" }
        let words = [name.map { "\($0) \(uuid ?? "")" } ?? uuid, handle].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// Runs the steps until they succeed; the failure is that of the last attempt.
    func runAttempts(_ most: Int, _ steps: [Step], _ between: [Step], _ scope: inout Scope) async throws {
        for _ in 1..<most {
            do {
                return try await run(steps, &scope)
            } catch let failure as StepFailure where failure.blame == .subject || failure.blame == .precondition {
                // The first failure is more informative than one of the steps in between.
                do { try await run(between, &scope) } catch is StepFailure { throw failure }
            }
        }
        do {
            try await run(steps, &scope)
        } catch var failure as StepFailure {
            failure.message += " (in the last of \(most) attempts)"
            throw failure
        }
    }

    /// Runs branches concurrently; the first failure ends them all.
    func runParallel(_ branches: [[Step]], _ scope: Scope) async throws {
        try await loop.runTogether(
            branches.map { branch in
                {
                    var inner = scope
                    inner.isBeside = true
                    try await self.run(branch, &inner)
                }
            })
    }

    /// Continues with the branch whose expectation is satisfied first.
    func runEither(_ branches: [[Step]], _ step: Step, _ scope: inout Scope) async throws {
        var searches: [Branch] = []
        for branch in branches {
            guard var first = branch.first, case .expect(let expectation) = first.kind else { continue }
            first.limit = first.limit ?? step.limit
            let search = try search(expectation, first, scope)
            search.isStated = search.isStated || step.states != nil
            search.start = try searchStart(expectation.since, scope)
            let answers = AnswerRule(expectation, after: lastCommands[first.side], isAlone: !scope.isBeside)
            searches.append(Branch(first: first, search: search, answers: answers))
        }
        let began = loop.now
        let candidates = searches
        let start = candidates.map(\.search.start).min() ?? 0
        var found = candidates.lazy.compactMap { self.earlierEnd(of: $0.search, before: start) }.first
        if found == nil {
            found = try await take(candidates.map(\.search), from: start) { observation in
                candidates.contains { $0.takes(observation) || self.end(of: $0.search, told: observation) != nil }
                    || !candidates.isEmpty && candidates.allSatisfy { $0.answers.isOther(observation, $0.search) }
            }
        }
        let isTaken = found.map { packet in candidates.contains { $0.takes(packet) } } ?? false
        if let found, !isTaken, let link = candidates.lazy.compactMap({ self.end(of: $0.search, told: found) }).first {
            let names = candidates.map(\.search.name).joined(separator: " or ")
            throw lost(link, names, step, told: found, evidence: recent(at: step.side, from: scope.searchStart))
        }
        guard let found, let index = candidates.firstIndex(where: { $0.takes(found) }) else {
            let failure = missed(candidates, step, scope, answer: found, waited: loop.now - began)
            throw found == nil ? await askingUpperTester(failure, candidates.map(\.search)) : failure
        }
        scope.reference.pass(to: found.time)
        if let first = branches[index].first {
            if let label = first.label { marks[label] = found.index }
            ledger.began(first, at: found.time)
            ledger.ended(first, .done, at: found.time)
            save(.record(PDUCodec.record(of: found)), of: first, in: scope, from: found.place)
            if first.states != nil || step.states != nil { evidence.append(Self.evidence(found)) }
        }
        try await run(Array(branches[index].dropFirst()), &scope)
    }

    /// The first step of a branch and its search.
    private struct Branch {
        var first: Step
        var search: Search
        var answers: AnswerRule

        func takes(_ observation: Observation) -> Bool { observation.index >= search.start && search.matches(observation) }
    }

    /// Returns the failure if no branch has started: the last packets with a matching name, or the last packets.
    private func missed(_ branches: [Branch], _ step: Step, _ scope: Scope, answer: Observation?, waited: Microseconds) -> StepFailure {
        let names = Set(branches.map(\.search.name)).sorted().joined(separator: " or ")
        let misses = branches.flatMap { branch in branch.search.misses.suffix(1).map { (name: branch.search.name, miss: $0) } }
        // An answer ends the wait before its time.
        var text = "expected \(names)\(answer == nil ? " within \(waited.text)" : ""), but "
        var evidence = recent(at: step.side, from: scope.searchStart)
        if let answer, !misses.contains(where: { $0.miss.observation.index == answer.index }) {
            text = "expected \(names), got \(answer.name) \(PDUCodec.record(of: answer)) (\(answer.place))"
            evidence.append(Self.evidence(answer))
        } else if misses.isEmpty {
            text += "none came" + lastWords(at: step.side)
        } else {
            text += misses.map { name, miss in
                "\(name): \(PDUCodec.spoken(miss.mismatch, in: miss.observation.decoded.pdu)) (\(miss.observation.place))"
            }.joined(separator: "; ")
            evidence += misses.map { Self.evidence($0.miss.observation) }
        }
        let isCut = answer == nil && branches.contains { isOver($0.search) }
        if isCut { text += Self.caseIsOver }
        let granted = branches.map(\.search.limits.granted).max() ?? .zero
        var failure = lateSubject(step, text, since: scope.reference.latest, granted: granted, evidence: evidence)
        let isNobodys = branches.allSatisfy { blame(for: $0.search) == .precondition }
        if failure.blame == .subject, isNobodys { failure.blame = .precondition }
        if failure.blame == .subject, isCut { failure.blame = .environment }
        return failure
    }

    /// Repeats the steps until the expected packet has been received.
    func runUntil(_ awaited: Expectation, _ atMost: Int, _ steps: [Step], _ step: Step, _ scope: inout Scope) async throws {
        let start = try searchStart(awaited.since, scope)
        var search = try self.search(awaited, step, scope)
        let began = loop.now
        for _ in 0..<max(1, atMost) {
            try await run(steps, &scope)
            if loop.now >= caseDeadline { break }
            search = try self.search(awaited, step, scope)
            let turn = search
            let waitUntil = awaited.window == nil ? loop.now : turn.limits.waitUntil
            if let found = try await log.take(from: start, until: waitUntil, where: { turn.matches($0) }) {
                scope.reference.pass(to: found.time)
                save(.record(PDUCodec.record(of: found)), of: step, in: scope, from: found.place)
                if step.states != nil { evidence.append(Self.evidence(found)) }
                return
            }
        }
        throw missed(search, step, waited: loop.now - began)
    }

    /// Runs a procedure's steps with their own variables.
    func runProcedure(_ use: Use, _ step: Step, _ scope: inout Scope) async throws {
        guard let procedure = catalogue.procedures[use.name] else { throw StepFailure(.bench, "there is no procedure \(use.name)") }
        let arguments = try record(use.arguments, scope)
        var inner = scope
        inner.frame = Scope.Frame()
        if inner.caller == nil { inner.caller = step }
        let cast = procedure.cast(use.isDirected ? step.side : nil)
        for (side, address) in bench.addresses {
            inner.frame.variables[side.rawValue] = address
            for (role, taker) in cast where taker == side { inner.frame.variables[role] = address }
        }
        if let device = bench.product.facts { inner.frame.variables[Vocabulary.DeviceShape.name] = .record(device.record) }
        for parameter in procedure.parameters { inner.frame.variables[parameter.name] = arguments[parameter.name] ?? parameter.initial }
        try await run(procedure.steps.map { $0.with(cast) }, &inner)
        scope.searchStart = inner.searchStart
        scope.reference = inner.reference
        guard let saved = step.saveAs else { return }
        var result = CaseRecord()
        for entry in procedure.gives {
            let value = try resolve(entry.value, inner)
            for name in procedure.names(of: entry, cast) {
                result[name] = value
                scope.frame.places["\(saved).\(name)"] = place(of: entry.value, in: inner)
                scope.frame.sources["\(saved).\(name)"] = source(of: entry.value, in: inner)
            }
        }
        save(.record(result), of: step, in: scope)
    }
}
