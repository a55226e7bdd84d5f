import BBHost
import BBPackets
import BBTiming

/// The user at the terminal during pairing on either transport: questions and messages.
final class PairUser {
    let wait: WaitLine
    private let command: PairCommand
    private let input: TerminalInput

    init(_ command: PairCommand, on loop: RunLoop) {
        self.command = command
        input = TerminalInput(on: loop)
        wait = WaitLine(on: loop, isSilent: command.json)
    }

    /// Reports the result of `work`, including failures.
    func report(_ work: () async throws -> PairEvent) async throws {
        do {
            let event = try await work()
            tell(event, event.line)
        } catch {
            wait.end()
            let failure = PairAdvice.failure(error)
            var event = PairEvent(error is CancellationError ? "interrupted" : "failed")
            event.reason = failure.message
            if command.json { Console.write(event.json) }
            throw failure
        }
    }

    // MARK: Questions

    func dialogue() -> PairingDialogue {
        var dialogue = PairingDialogue(
            showPasskey: { [weak self] _, passkey in self?.show(passkey) },
            enterPasskey: { [weak self] _, answer in self?.enterPasskey(answer) },
            compare: { [weak self] _, number, answer in self?.compare(number, answer) },
            consent: { [weak self] link, answer in self?.consent(link, answer) })
        dialogue.ended = { [weak self] _ in self?.input.forget() }
        return dialogue
    }

    private func show(_ passkey: UInt32) {
        var event = PairEvent("passkey")
        event.passkey = PairEvent.digits(passkey)
        tell(event, "passkey \(PairEvent.digits(passkey)): enter it at the other side")
    }

    private func enterPasskey(_ answer: @escaping (UInt32?) -> Void) {
        tell(PairEvent("enter_passkey"), "enter the passkey that the other side shows:")
        if let passkey = command.user.key.passkey { return answer(passkey) }
        input.line { line in answer(line.flatMap { UInt32($0.filter { !$0.isWhitespace }) }.flatMap { $0 <= 999_999 ? $0 : nil }) }
    }

    private func compare(_ number: UInt32, _ answer: @escaping (Bool) -> Void) {
        var event = PairEvent("compare")
        event.number = PairEvent.digits(number)
        tell(event, "does the other side show \(PairEvent.digits(number)), too? yes or no:")
        decide(answer)
    }

    private func consent(_ link: any SecuredLink, _ answer: @escaping (Bool) -> Void) {
        // A user who selects the peer has consented, even if the peer requests first.
        guard command.ends.peer == nil else { return answer(true) }
        var event = PairEvent("consent")
        event.peer = link.peer.address.argument
        tell(event, "pair with \(link.peer)? yes or no:")
        decide(answer)
    }

    private func decide(_ answer: @escaping (Bool) -> Void) {
        if command.user.accept { return answer(true) }
        input.line { line in answer(["y", "yes"].contains(line?.lowercased().filter { !$0.isWhitespace })) }
    }

    // MARK: Output

    func tell(_ event: PairEvent, _ line: String) {
        wait.end()
        if command.json { Console.write(event.json) } else { Console.line(line) }
    }
}
