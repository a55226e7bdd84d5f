import HCI
import Packets
import Timing

/// A command on its way, and who waits for its answer.
struct PendingCommand {
    var opcode: UInt16
    var timer: Timer
    var finish: (Result<CommandAnswer, HostError>) -> Void
}

extension Host {
    /// How long a controller may take to answer a command.
    public static var commandTimeOut: Microseconds { .seconds(2) }

    /// Sends a command and waits for Command Complete or Command Status.
    ///
    /// - Returns: the return parameters; `NoReturn` for a command that Command Status answers and another event ends.
    /// - Throws: `HostError.peer(.rejected)` for a status other than Success, `.environment(.commandTimeOut)`, `.environment(.transport)`.
    @discardableResult
    public func send<Command: HCICommand>(_ command: Command) async throws -> Command.Return {
        let answer = try await answer(opcode: Command.opcode, HCIPacket(command: command))
        guard answer.status == .success else { throw HostError.peer(.rejected(Command.name, answer.status)) }
        do {
            return try Command.Return(prefixOf: answer.returns)
        } catch {
            throw HostError.peer(.malformed(.pdu(error)))
        }
    }

    /// Sends any opcode with any parameters, legal or not, and returns the answer whatever its status.
    ///
    /// - Parameter length: the parameter length to claim; the true one unless a test wants otherwise.
    public func sendRaw(opcode: UInt16, parameters: [UInt8], length: UInt8? = nil) async throws -> CommandAnswer {
        try await answer(opcode: opcode, HCIPacket(opcode: opcode, parameters: parameters, length: length))
    }

    /// Sends a packet as it is, past the command queue and past the buffers' accounting.
    public func sendUnqueued(_ packet: HCIPacket) { path.send(packet) }

    func answer(opcode: UInt16, _ packet: HCIPacket) async throws -> CommandAnswer {
        let promise = Promise<CommandAnswer>(on: loop)
        submit(opcode: opcode, packet) { result in
            switch result {
            case .success(let answer): promise.fulfil(answer)
            case .failure(let error): promise.fail(error)
            }
        }
        return try await promise.value()
    }

    /// Queues a command; `finish` is called once, on the loop, from within the delivery of the answer.
    func submit(opcode: UInt16, _ packet: HCIPacket, finish: @escaping (Result<CommandAnswer, HostError>) -> Void) {
        if let failure { return finish(.failure(failure)) }
        nextCommand += 1
        let id = nextCommand
        answers[id] = PendingCommand(opcode: opcode, timer: commandTimer(id), finish: finish)
        perform(commands.submit(id: id, opcode: opcode, packet))
    }

    /// Queues a command whose answer matters to nobody.
    func post<Command: HCICommand>(_ command: Command) {
        submit(opcode: Command.opcode, HCIPacket(command: command)) { _ in }
    }

    func perform(_ actions: [CommandQueue.Action]) {
        for action in actions {
            switch action {
            case .transmit(let id, let packet):
                if let pending = answers[id] {
                    loop.cancel(pending.timer)
                    answers[id]?.timer = commandTimer(id)
                }
                path.send(packet)
            case .finish(let id, let answer):
                guard let pending = answers.removeValue(forKey: id) else { continue }
                loop.cancel(pending.timer)
                pending.finish(.success(answer))
            }
        }
    }

    private func commandTimer(_ id: Int) -> Timer {
        loop.schedule(after: Self.commandTimeOut) { self.commandTimedOut(id) }
    }

    private func commandTimedOut(_ id: Int) {
        guard let pending = answers.removeValue(forKey: id) else { return }
        let actions = commands.expire(id: id)
        pending.finish(.failure(.environment(.commandTimeOut(opcode: pending.opcode))))
        perform(actions)
    }
}
