import BBHost
import BBPackets
import BBTiming

/// The user of a pairing on either transport: questions and messages.
package final class PairUser {
    private let plan: PairPlan
    private let screen: any Screen

    package init(_ plan: PairPlan, on screen: any Screen) { (self.plan, self.screen) = (plan, screen) }

    /// Reports the result of `work`, including failures.
    package func report(_ work: () async throws -> PairEvent) async throws {
        do {
            let event = try await work()
            tell(event, event.line)
        } catch {
            screen.endWait()
            let failure = PairAdvice.failure(error)
            var event = PairEvent(error is CancellationError ? "interrupted" : "failed")
            event.reason = failure.message
            if plan.isJSON { screen.write(event.json) }
            throw failure
        }
    }

    // MARK: Questions

    package func dialogue() -> PairingDialogue {
        var dialogue = PairingDialogue(
            showPasskey: { [weak self] _, passkey in self?.show(passkey) },
            enterPasskey: { [weak self] _, answer in self?.enterPasskey(answer) },
            compare: { [weak self] _, number, answer in self?.compare(number, answer) },
            consent: { [weak self] link, answer in self?.consent(link, answer) })
        dialogue.ended = { [weak self] _ in self?.screen.forgetQuestion() }
        return dialogue
    }

    private func show(_ passkey: UInt32) {
        var event = PairEvent("passkey")
        event.passkey = PairEvent.digits(passkey)
        tell(event, "passkey \(PairEvent.digits(passkey)): enter it at the other side")
    }

    private func enterPasskey(_ answer: @escaping (UInt32?) -> Void) {
        tell(PairEvent("enter_passkey"), "enter the passkey that the other side shows:")
        if let passkey = plan.passkey { return answer(passkey) }
        screen.ask { line in answer(line.flatMap { UInt32($0.filter { !$0.isWhitespace }) }.flatMap { $0 <= 999_999 ? $0 : nil }) }
    }

    private func compare(_ number: UInt32, _ answer: @escaping (Bool) -> Void) {
        var event = PairEvent("compare")
        event.number = PairEvent.digits(number)
        tell(event, "does the other side show \(PairEvent.digits(number)), too? yes or no:")
        decide(answer)
    }

    private func consent(_ link: ACLLink, _ answer: @escaping (Bool) -> Void) {
        // A user who selects the peer has consented, even if the peer requests first.
        guard plan.advertised != nil else { return answer(true) }
        var event = PairEvent("consent")
        event.peer = link.peer.address.argument
        tell(event, "pair with \(link.peer)? yes or no:")
        decide(answer)
    }

    private func decide(_ answer: @escaping (Bool) -> Void) {
        if plan.accepts { return answer(true) }
        screen.ask { line in answer(["y", "yes"].contains(line?.lowercased().filter { !$0.isWhitespace })) }
    }

    // MARK: Output

    package func tell(_ event: PairEvent, _ line: String) {
        screen.endWait()
        if plan.isJSON { screen.write(event.json) } else { screen.line(line) }
    }

    /// Shows what is waited for; a program that reads JSON needs no such line.
    package func wait(for text: String, until deadline: Microseconds) { if !plan.isJSON { screen.wait(for: text, until: deadline) } }
    package func endWait() { screen.endWait() }
}
