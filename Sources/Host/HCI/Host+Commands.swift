import HCI
import Packets
import Timing

/// An outstanding command and its caller.
struct PendingCommand {
    var opcode: UInt16
    /// Timeout of the answer, from sending.
    var limit: Microseconds
    /// Connection handle of the command.
    var handle: ConnectionHandle?
    /// The connection has ended before the answer.
    var hasLostConnection = false
    var sentAt: Microseconds?
    var timer: Timer?
    var finish: (Result<CommandAnswer, HostError>) -> Void
}

extension Host {
    /// Timeout of a command's answer.
    public static var commandTimeOut: Microseconds { .seconds(2) }

    /// Sends a command and waits for Command Complete or Command Status.
    ///
    /// - Returns: the return parameters; `NoReturn` for a command answered by Command Status and completed by another event.
    /// - Throws: `HostError.peer(.rejected)` for a status other than Success, `.environment(.commandTimeOut)`, `.environment(.transport)`.
    @discardableResult
    public func send<Command: HCICommand>(_ command: Command, within limit: Microseconds? = nil) async throws -> Command.Return {
        let answer = try await answer(opcode: Command.opcode, HCIPacket(command: command), within: limit)
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

    /// Sends any opcode with any parameters, valid or not, and returns the answer with any status.
    ///
    /// - Parameter length: value of the length field; nil for the actual length.
    public func sendRaw(opcode: UInt16, parameters: [UInt8], length: UInt8? = nil) async throws -> CommandAnswer {
        try await answer(opcode: opcode, HCIPacket(opcode: opcode, parameters: parameters, length: length))
    }

    /// Sends a packet unchanged, bypassing command queue and buffer accounting.
    public func sendUnqueued(_ packet: HCIPacket) { path.send(packet) }

    func answer(opcode: UInt16, _ packet: HCIPacket, within limit: Microseconds? = nil) async throws -> CommandAnswer {
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
        nextCommand += 1
        let id = nextCommand
        answers[id] = PendingCommand(
            opcode: opcode, limit: limit ?? limits.command, handle: Self.connection(of: packet),
            finish: finish)
        commands.mostUnderWay = workarounds.takesCommandsAhead ? nil : 1
        perform(commands.submit(id: id, opcode: opcode, packet))
    }

    /// Connection handle of a command: its first parameter.
    private static func connection(of packet: HCIPacket) -> ConnectionHandle? {
        let fields = packet.commandOpcode.flatMap { PDUCatalog.command(opcode: $0) }?.fields
        guard fields?.first?.name == "Connection_Handle" else { return nil }
        return (try? HCICommands.LEReadPHY(prefixOf: packet.parameters))?.connectionHandle
    }

    /// Queues a command without a caller for its answer.
    func post<Command: HCICommand>(_ command: Command) {
        submit(opcode: Command.opcode, HCIPacket(command: command)) { _ in }
    }

    func perform(_ actions: [CommandQueue.Action]) {
        for action in actions {
            switch action {
            case .transmit(let id, let packet):
                if let pending = answers[id] { expect(id, within: pending.limit) }
                answers[id]?.sentAt = loop.now
                path.send(packet)
            case .finish(let id, let answer):
                guard let pending = answers.removeValue(forKey: id) else { continue }
                if let timer = pending.timer { loop.cancel(timer) }
                note(pending)
                pending.finish(.success(answer))
            }
        }
        watchCredits()
    }

    private func note(_ pending: PendingCommand) {
        guard let sentAt = pending.sentAt else { return }
        let timing = CommandTiming(opcode: pending.opcode, time: loop.now - sentAt)
        if timing.time > slowestCommand?.time ?? .zero { slowestCommand = timing }
        if timing.time >= limits.slowAnswer { context.learned.note(.slowCommand, "\(timing.name) is answered late") }
    }

    /// Waits for an event with command credits. If none arrives, sends the next command nevertheless.
    private func watchCredits() {
        if !commands.isStalled {
            if let stallTimer { loop.cancel(stallTimer) }
            stallTimer = nil
        } else if stallTimer == nil {
            stallTimer = loop.schedule(after: limits.withheldCredits) { [self] in
                stallTimer = nil
                let time = Int(limits.withheldCredits.milliseconds)
                context.learned.note(.creditsWithheld, "Num_HCI_Command_Packets stayed 0 for \(time) ms with no command under way: went on")
                perform(commands.resume())
            }
        }
    }

    private func expect(_ id: Int, within limit: Microseconds) {
        if let timer = answers[id]?.timer { loop.cancel(timer) }
        answers[id]?.timer = loop.schedule(after: limit) { self.commandTimedOut(id) }
    }

    private func commandTimedOut(_ id: Int) {
        guard let pending = answers.removeValue(forKey: id) else { return }
        let actions = commands.expire(id: id)
        if pending.hasLostConnection {
            let name = CommandTiming(opcode: pending.opcode, time: .zero).name
            context.learned.note(.answerMissingAfterDisconnection, "\(name) was not answered when its connection had ended")
            pending.finish(.success(CommandAnswer(opcode: pending.opcode, kind: .status, status: .unknownConnectionIdentifier)))
        } else if let hardwareError {
            pending.finish(.failure(.environment(.controllerCrashed(code: hardwareError))))
        } else {
            pending.finish(.failure(.environment(.commandTimeOut(opcode: pending.opcode))))
        }
        perform(actions)
    }

    /// Shortens timeouts of commands for a connection that has ended, since some controllers drop them.
    func connectionEnded(_ handle: ConnectionHandle) {
        for (id, pending) in answers where pending.handle == handle && pending.sentAt != nil && !pending.hasLostConnection {
            answers[id]?.hasLostConnection = true
            expect(id, within: limits.afterDisconnection)
        }
    }

    /// The controller has reported a hardware error, which explains later timeouts.
    func hardwareFailed(_ event: HCIEvents.HardwareError) {
        context.counters.hardwareErrors += 1
        hardwareError = event.hardwareCode
        context.learned.note(.controllerCrashed, "Hardware Error event, code \(Hex.number(event.hardwareCode))")
    }

    /// Handles a vendor event as the answer to a vendor command, if the controller gives no other.
    func receivedVendorEvent(_ packet: HCIPacket) {
        guard workarounds.answersVendorCommandsByEvent || controller.manufacturer == ControllerInformation.csr else { return }
        let actions = commands.answeredByVendor(packet.parameters)
        guard !actions.isEmpty else { return }
        context.learned.note(.vendorEventAsAnswer, "a vendor's command is answered by a vendor's event alone")
        perform(actions)
    }
}
