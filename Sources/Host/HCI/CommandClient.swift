import BBHCI
import BBPackets
import BBTiming

/// Sends commands to the controller and matches its answers and events to their waiters. Core Vol 4, Part E, 4.4.
final class CommandClient {
    /// A command whose answer is awaited.
    private struct Pending {
        var opcode: UInt16
        /// Time limit for the answer once the command is sent.
        var limit: Microseconds
        /// The connection of the command.
        var handle: ConnectionHandle?
        /// True if that connection has ended before the answer.
        var hasLostConnection = false
        var sentAt: Microseconds?
        var timer: Timer?
        var finish: (Result<CommandAnswer, HostError>) -> Void
    }

    var limits = HostLimits()
    /// The slowest command so far.
    private(set) var slowest: CommandTiming?
    /// The reason why no more commands are sent.
    private(set) var failure: HostError?
    let path: DataPath
    /// Procedures that await an event.
    let waiters = EventWaiters()
    private var queue = CommandQueue()
    private var pending: [Int: Pending] = [:]
    private var lastID = 0
    /// Runs while commands are queued and the controller accepts none.
    private var stallTimer: Timer?
    /// Code of a Hardware Error event since the last reset.
    private var hardwareError: UInt8?

    private var context: HostContext { path.context }
    private var loop: RunLoop { path.context.loop }

    init(_ path: DataPath) { self.path = path }

    var strayAnswers: Int { queue.strayAnswers }
    var misnamedAnswers: Int { queue.misnamedAnswers }

    /// True if a command with this opcode waits because the controller accepts none.
    func isHeldBack(_ opcode: UInt16) -> Bool { pending.values.contains { $0.opcode == opcode && $0.sentAt == nil } }

    // MARK: Sending

    /// Sends a command and waits for its answer.
    ///
    /// - Parameter accepted: called with the return parameters from within the delivery of a successful answer. State that the next packet
    ///   of the same turn must find belongs there: the waiting task runs only after the turn.
    @discardableResult
    func send<Command: HCICommand>(
        _ command: Command, within limit: Microseconds? = nil, accepted: @escaping (Command.Return) -> Void = { _ in }
    ) async throws -> Command.Return {
        let promise = Promise<Command.Return>(on: loop)
        submit(opcode: Command.opcode, HCIPacket(command: command), within: limit) { [unowned self] result in
            do {
                let returns = try self.returns(of: Command.self, in: result.get())
                accepted(returns)
                promise.fulfil(returns)
            } catch {
                promise.fail(error)
            }
        }
        return try await promise.value()
    }

    private func returns<Command: HCICommand>(of command: Command.Type, in answer: CommandAnswer) throws -> Command.Return {
        guard answer.status == .success else { throw HostError.peer(.rejected(Command.name, answer.status)) }
        var returns = answer.returns
        if answer.owedInstead == .complete {
            context.learned.note(.statusForComplete, "\(Command.name) is answered by Command Status, not by Command Complete")
            returns = [answer.status.rawValue]
        }
        do {
            return try Command.Return(prefixOf: returns)
        } catch {
            throw HostError.peer(.malformed(.pdu(error)))
        }
    }

    func answer(to packet: HCIPacket, opcode: UInt16, within limit: Microseconds? = nil) async throws -> CommandAnswer {
        let promise = Promise<CommandAnswer>(on: loop)
        submit(opcode: opcode, packet, within: limit) { result in
            switch result {
            case .success(let answer): promise.fulfil(answer)
            case .failure(let error): promise.fail(error)
            }
        }
        return try await promise.value()
    }

    /// Queues a command; `finish` is called once, on the loop, from within the delivery of the answer.
    func submit(
        opcode: UInt16, _ packet: HCIPacket, within limit: Microseconds? = nil, finish: @escaping (Result<CommandAnswer, HostError>) -> Void
    ) {
        if let failure { return finish(.failure(failure)) }
        lastID += 1
        pending[lastID] = Pending(opcode: opcode, limit: limit ?? limits.command, handle: packet.connectionHandle, finish: finish)
        queue.mostUnderWay = context.workarounds.takesCommandsAhead ? nil : 1
        perform(queue.submit(id: lastID, opcode: opcode, packet))
    }

    /// Queues a command and ignores its answer.
    func post<Command: HCICommand>(_ command: Command) {
        submit(opcode: Command.opcode, HCIPacket(command: command)) { _ in }
    }

    // MARK: Answers

    func answered(_ answer: CommandAnswer) { perform(queue.answered(answer)) }

    /// Handles a vendor event as the answer to a vendor command, if the controller gives no other.
    func answeredByVendor(_ packet: HCIPacket) {
        let actions = queue.answeredByVendor(packet.parameters)
        guard !actions.isEmpty else { return }
        context.learned.note(.vendorEventAsAnswer, "a vendor's command is answered by a vendor's event alone")
        perform(actions)
    }

    private func perform(_ actions: [CommandQueue.Action]) {
        for action in actions {
            switch action {
            case .transmit(let id, let packet):
                if let limit = pending[id]?.limit { expect(id, within: limit) }
                pending[id]?.sentAt = loop.now
                path.send(packet)
            case .finish(let id, let answer):
                guard let command = pending.removeValue(forKey: id) else { continue }
                if let timer = command.timer { loop.cancel(timer) }
                note(command)
                command.finish(.success(answer))
            }
        }
        watchCredits()
    }

    private func note(_ command: Pending) {
        guard let sentAt = command.sentAt else { return }
        let timing = CommandTiming(opcode: command.opcode, time: loop.now - sentAt)
        if timing.time > slowest?.time ?? .zero { slowest = timing }
        if timing.time >= limits.slowAnswer { context.learned.note(.slowCommand, "\(timing.name) is answered late") }
    }

    /// A controller that withholds command credits for too long gets the next command without one.
    private func watchCredits() {
        if !queue.isStalled {
            if let stallTimer { loop.cancel(stallTimer) }
            stallTimer = nil
        } else if stallTimer == nil {
            stallTimer = loop.schedule(after: limits.withheldCredits) { [self] in
                stallTimer = nil
                let time = Int(saturating: limits.withheldCredits.milliseconds)
                context.learned.note(.creditsWithheld, "Num_HCI_Command_Packets stayed 0 for \(time) ms with no command under way: went on")
                perform(queue.resume())
            }
        }
    }

    // MARK: Time limits

    private func expect(_ id: Int, within limit: Microseconds) {
        if let timer = pending[id]?.timer { loop.cancel(timer) }
        pending[id]?.timer = loop.schedule(after: limit) { self.timedOut(id) }
    }

    private func timedOut(_ id: Int) {
        guard let command = pending.removeValue(forKey: id) else { return }
        let actions = queue.expire(id: id)
        if command.hasLostConnection {
            let name = CommandTiming(opcode: command.opcode, time: .zero).name
            context.learned.note(.answerMissingAfterDisconnection, "\(name) was not answered when its connection had ended")
            command.finish(.success(CommandAnswer(opcode: command.opcode, kind: .status, status: .unknownConnectionIdentifier)))
        } else if let hardwareError {
            command.finish(.failure(.environment(.controllerCrashed(code: hardwareError))))
        } else {
            command.finish(.failure(.environment(.commandTimeOut(opcode: command.opcode))))
        }
        perform(actions)
    }

    /// Some controllers drop a command for a connection that has just ended: its time limit becomes shorter.
    func connectionEnded(_ handle: ConnectionHandle) {
        for (id, command) in pending where command.handle == handle && command.sentAt != nil && !command.hasLostConnection {
            pending[id]?.hasLostConnection = true
            expect(id, within: limits.afterDisconnection)
        }
    }

    /// Records a Hardware Error event: later missing answers are attributed to it.
    func hardwareFailed(_ event: HCIEvents.HardwareError) {
        context.counters.hardwareErrors += 1
        hardwareError = event.hardwareCode
        context.learned.note(.controllerCrashed, "Hardware Error event, code \(Hex.number(event.hardwareCode))")
    }

    /// HCI_Reset was answered.
    func controllerWasReset() { hardwareError = nil }

    // MARK: Closing

    /// Fails every pending command and wait with the same error.
    func fail(_ error: HostError) {
        guard failure == nil else { return }
        failure = error
        queue.reset()
        let unanswered = pending.sorted { $0.key < $1.key }
        pending.removeAll()
        if let stallTimer { loop.cancel(stallTimer) }
        stallTimer = nil
        for (_, command) in unanswered {
            if let timer = command.timer { loop.cancel(timer) }
            command.finish(.failure(error))
        }
        waiters.fail(error)
    }
}
