import BBBTP
import BBCases
import BBPackets
import BBTiming

extension CaseRun {
    /// Time after the limit of a step in which an answer is late. After that the upper tester is silent, which says nothing about the host.
    private static var grace: Microseconds { .seconds(10) }

    /// Sends a command to the upper tester and checks its response. A refusal says nothing about the host, unless the step asks for it.
    func ask(_ command: Command, _ data: [UInt8], _ step: Step, _ scope: inout Scope) async throws {
        guard let upper = bench.upperTester else { throw StepFailure(.limitation, "the subject has no upper tester") }
        guard let frame = BTPFrame(.btpCommands, named: command.name, data: data) else {
            throw StepFailure(.bench, "\(command.name) is not a command for an upper tester")
        }
        let (start, limit) = (loop.now, step.limit ?? UpperTesterLink.timeout)
        let longest = min(limit + (step.states == nil ? .zero : Self.grace), caseDeadline - start)
        let found = step.states == nil ? try await upper.ask(frame, within: longest) : try await upper.attempt(frame, within: longest)
        guard let answer = found else { throw await silence(after: command, for: longest, isWhole: longest >= limit, upper, step) }
        scope.reference = TimeReference(loop.now)
        var record: CaseRecord
        switch answer {
        case .response(let fields, _):
            record = fields
            record[BTPAnswer.error] = .number(0)
        case .refused(let error, let frame):
            record = CaseRecord([(BTPAnswer.error, .number(Int(frame.data.first ?? 0)))])
            guard command.asksForError else {
                if error == .unknownCommand { throw StepFailure(.limitation, "the upper tester has no \(command.name)") }
                throw StepFailure(.precondition, "the upper tester refuses \(command.name): \(error.map { "\($0)" } ?? "no known reason")")
            }
        }
        save(.record(record), of: step, in: scope)
        let evidence = Evidence(
            packet: 0, side: step.side.rawValue, text: "\(command.name): \(record)", at: loop.now)
        if step.states != nil { self.evidence.append(evidence) }
        guard loop.now - start <= limit + bench.slack else {
            throw StepFailure(
                step.limit == nil ? .environment : .subject,
                step.stating("\(command.name) of the upper tester was answered after \((loop.now - start).text), not within \(limit.text)"),
                evidence: [evidence])
        }
        guard case .fields(let fields) = command.answer,
            let mismatch = try Predicate.parts(fields).mismatch(.record(record), scope.frame.variables)
        else { return }
        if case .refused(.unknownCommand?, _) = answer {
            throw StepFailure(.limitation, "the upper tester has no \(command.name)")
        }
        throw StepFailure(
            step.states == nil ? .precondition : .subject,
            step.stating("\(command.name) of the upper tester: \(mismatch.text) (at \(loop.now.text))"), evidence: [evidence]
        ).comparing(ExpectationDiff(mismatch, of: command.name))
    }

    /// A missing response is the host's fault only if its upper tester answers other commands.
    ///
    /// - Parameter isWhole: false if the case ended before the limit of the step.
    private func silence(
        after command: Command, for time: Microseconds, isWhole: Bool, _ upper: UpperTesterLink, _ step: Step
    ) async -> StepFailure {
        let text = "\(command.name) of the upper tester was not answered within \(time.text)"
        guard isWhole else { return StepFailure(.environment, step.stating(text + ", when the time of the case was over")) }
        return await upper.isAlive()
            ? StepFailure(.subject, step.stating(text + ", though another command is"))
            : StepFailure(.environment, step.stating(text + ", nor is another command, so this says nothing"))
    }

    /// A missing event is the host's fault only if its upper tester still answers.
    func askingUpperTester(_ failure: StepFailure, _ searches: [Search]) async -> StepFailure {
        guard failure.blame == .subject, searches.contains(where: { PDUCatalog.declaration(layer: .btpEvents, name: $0.name) != nil }),
            let upper = bench.upperTester, await !upper.isAlive()
        else { return failure }
        return StepFailure(.environment, failure.message + "; its upper tester does not answer any more, so this says nothing")
    }
}

extension Command {
    /// True if the expected answer names the error, which a refusal has instead of the fields of the response.
    fileprivate var asksForError: Bool {
        guard case .fields(let fields) = answer else { return false }
        return fields.contains { $0.name == BTPAnswer.error }
    }
}
