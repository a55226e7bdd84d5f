import BBCases
import BBHost
import BBPackets
import BBTiming

extension CaseRun {
    /// Runs a named action. A refusal by the peer is the result's `error`; it fails the step unless the step checks it.
    func act(_ step: Action, at place: Step, _ scope: inout Scope) async throws {
        guard let action = NamedActions.named(step.name) else { throw StepFailure(.bench, "there is no action \(step.name)") }
        let limit = ActionLimit(place.limit ?? testCase.limits.step, latest: caseDeadline, on: loop)
        let context = ActionContext(
            action, try record(step.arguments, scope), bench, place.side, limit: limit, since: scope.searchStart)
        scope.searchStart = log.end
        var result: CaseRecord
        do {
            result = try await within(limit) { try await action.run(context) }
            if step.result.contains(where: { $0.name == "error" }) { result["error"] = .text("") }
        } catch is TimeOut {
            let held = Side.allCases.compactMap { bench.end($0)?.heldBackData }.map { "; \($0)" }.joined()
            if limit.isOfCase { throw StepFailure(.environment, "the case did not end within its limit\(held)") }
            let text =
                limit.isOfAnswer
                ? "a response was not received within the limit of \(step.name)" : "\(step.name) did not end within its limit"
            throw StepFailure(.subject, place.stating(text + held))
        } catch let finding as ActionFinding {
            let pdu = log.observations.dropFirst(scope.searchStart).last { $0.side == place.side && !$0.isAir }
            let origin = (pdu?.place ?? places(of: step.arguments, scope).first).map { " (\($0))" } ?? ""
            throw StepFailure(.subject, place.stating(finding.text + origin), evidence: recent(at: place.side, from: scope.searchStart))
        } catch HostError.peer(.disconnected(let reason)) where isLost(reason, step) {
            let told = log.observations.last { $0.side == place.side && $0.name == HCIEvents.DisconnectionComplete.name }
            throw LostLink(reason).map {
                lost($0, "an answer", place, told: told, evidence: recent(at: place.side, from: scope.searchStart))
            } ?? StepFailure(.bench, "\(step.name): \(reason)")
        } catch HostError.peer(let fault) {
            let text = HostError.peer(fault).description
            guard step.result.contains(where: { $0.name == "error" }) else {
                throw StepFailure(
                    .subject,
                    place.stating(
                        "\(step.name): expected to succeed, got \"\(text)\"\(lastHeard(at: place.side, from: scope.searchStart))"),
                    evidence: recent(at: place.side, from: scope.searchStart))
            }
            result = CaseRecord([("error", .text(text))])
        } catch let error as HostError {
            throw StepFailure(.environment, "\(step.name): \(error)")
        }
        scope.reference = TimeReference(loop.now)
        let seen = log.observations.dropFirst(scope.searchStart).filter { $0.side == place.side && !$0.isAir }
        // A result derived from a packet has the packet's position.
        let origin = seen.last?.place ?? places(of: step.arguments, scope).first
        save(.record(result), of: place, in: scope, from: origin)
        guard let mismatch = try Predicate.parts(step.result).mismatch(.record(result), scope.frame.variables) else { return }
        let numbers = seen.isEmpty ? origin.map { ", \($0)" } ?? "" : Self.numbers(seen)
        let worded = mismatch.worded(ValueNames(pdu: step.name))
        throw StepFailure(
            .subject, place.stating("\(step.name): \(mismatch.fault ?? worded.text)\(numbers)"),
            evidence: recent(at: place.side, from: scope.searchStart)
        ).comparing(ExpectationDiff(mismatch, of: step.name, packet: seen.last?.number))
    }

    /// True if the air may have caused the end of a step's connection: a device over the air was lost, or a connection was not established
    /// where the step expects no error.
    private func isLost(_ reason: ErrorCode, _ step: Action) -> Bool {
        guard let expected = step.result.first(where: { $0.name == "error" })?.predicate else {
            return testCase.subject == .accessory && LostLink(reason)?.isOfTheAir == true
        }
        guard case .equals(.literal(.text(""))) = expected else { return false }
        return reason == .connectionFailedToBeEstablished
    }

    private func places(of arguments: [Operand.Entry], _ scope: Scope) -> [String] {
        arguments.compactMap { place(of: $0.value, in: scope) }
    }

    /// Returns the peer's last PDU before a failure, or the last event if there was none.
    private func lastHeard(at side: Side, from start: Int) -> String {
        let seen = log.observations.dropFirst(start).filter { $0.side == side && !$0.isAir }
        let pdu = seen.last { if case .upper = $0.content { true } else { false } }
        return (pdu ?? seen.last).map { last in
            let faults = (last.decoded.pdu?.fields ?? []).filter(\.isOutsideOfItsValues).map { "\($0.name) \($0.text)" }
            let words = faults.isEmpty ? "" : " with the invalid \(faults.joined(separator: ", "))"
            return "; the last there was \(last.name)\(words) (\(last.place))"
        } ?? ""
    }

    /// Runs an operation that is cancelled at its limit or at the end of the case.
    ///
    /// - Throws: `TimeOut` at the limit.
    private func within<Value>(_ limit: ActionLimit, _ body: @escaping () async throws -> Value) async throws -> Value {
        let activity = loop.start(body)
        limit.start { activity.cancel() }
        let interrupt = log.interrupting { activity.cancel() }
        defer {
            limit.stop()
            log.stopInterrupting(interrupt)
        }
        do {
            return try await activity.value()
        } catch is CancellationError {
            activity.cancel()
            await activity.ended()
            try Task.checkCancellation()
            throw log.broken ?? TimeOut()
        }
    }
}
