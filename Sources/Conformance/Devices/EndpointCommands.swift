import BBHCI
import BBHost
import BBPackets
import BBTiming
import BBTransport

/// The commands of the steps and of the host at an endpoint: they share a queue, and each answer goes to the one that waits for it.
struct EndpointCommands {
    /// A command without an answer.
    private struct Pending {
        var packet: HCIPacket
        /// Fulfilled by the answer; nil for a command of the host.
        var answer: Promise<Endpoint.Reply>?
        /// Fulfilled when the controller has allowed the command.
        var transmission: Promise<Void>?
        var submitted: Microseconds
        /// The packet number in the capture and the time of sending; nil while the command waits.
        var sent: (number: Int, time: Microseconds)?
    }

    /// A command that is not waited for any more.
    enum Lapse {
        /// It was sent, and the number is that of its packet.
        case unanswered(HCIPacket, number: Int, isOverdue: Bool)
        /// The controller has not allowed it for too long.
        case withheld(HCIPacket)
    }

    private var queue = CommandQueue()
    private var pending: [Int: Pending] = [:]
    private var last = 0

    /// The time in which a controller must answer a command. Core Vol 4, Part E, 4.4.
    private static let longTimeout = Microseconds.milliseconds(1_000)
    /// The time after which a controller that has answered all commands must have allowed the next one.
    private static let creditTimeout = Microseconds.seconds(3)

    // MARK: Sending

    mutating func submit(
        _ packet: HCIPacket, answer: Promise<Endpoint.Reply>? = nil, transmission: Promise<Void>? = nil, at time: Microseconds
    ) -> (id: Int, actions: [CommandQueue.Action]) {
        last += 1
        pending[last] = Pending(packet: packet, answer: answer, transmission: transmission, submitted: time)
        return (last, queue.submit(id: last, opcode: packet.commandOpcode ?? CommandQueue.noCommand, packet))
    }

    mutating func sent(_ id: Int, number: Int, at time: Microseconds) {
        pending[id]?.sent = (number, time)
        pending[id]?.transmission?.fulfil(())
    }

    // MARK: Answers

    mutating func answered(_ answer: CommandAnswer) -> [CommandQueue.Action] { queue.answered(answer) }

    /// The command that an answer finishes.
    func command(finishedBy actions: [CommandQueue.Action]) -> HCIPacket? {
        for case .finish(let id, _) in actions { return pending[id]?.packet }
        return nil
    }

    /// Passes an answer to the waiting step; returns false if there was none.
    ///
    /// - Parameter index: the position in the log after the answer.
    mutating func finish(_ actions: [CommandQueue.Action], with event: ReceivedEvent, at time: Microseconds, index: Int) -> Bool {
        for case .finish(let id, let answer) in actions {
            guard let command = pending.removeValue(forKey: id), let promise = command.answer, let sent = command.sent else { continue }
            promise.fulfil(
                Endpoint.Reply(
                    event: event.packet, isStatus: answer.kind == .status,
                    parameters: answer.kind == .status ? [answer.status.rawValue] : answer.returns, commandNumber: sent.number,
                    number: event.number, sentAt: sent.time, answeredAt: time, index: index))
            return true
        }
        return false
    }

    // MARK: Missing answers

    /// Waits for a command no longer.
    mutating func expire(_ id: Int, at now: Microseconds) -> (lapse: Lapse?, actions: [CommandQueue.Action]) {
        let expired = pending[id].flatMap { lapse(of: $0, at: now) }
        pending[id] = nil
        return (expired, queue.expire(id: id))
    }

    private func lapse(of command: Pending, at now: Microseconds) -> Lapse? {
        if let sent = command.sent {
            return .unanswered(command.packet, number: sent.number, isOverdue: now - sent.time >= Self.longTimeout)
        }
        let isWithheld = now - command.submitted >= Self.creditTimeout && !pending.values.contains { $0.sent != nil }
        return isWithheld ? .withheld(command.packet) : nil
    }

    /// The first command of the host that the controller has not answered in time.
    func overdue(at now: Microseconds) -> Lapse? {
        let overdue = pending.values.compactMap { command in
            command.sent.flatMap { command.answer == nil && now - $0.time >= Self.longTimeout ? (command.packet, $0.number) : nil }
        }
        return overdue.min { $0.1 < $1.1 }.map { .unanswered($0.0, number: $0.1, isOverdue: true) }
    }

    /// Commands of the host whose time-out has expired, in the order of their sending.
    func givenUp(at now: Microseconds) -> [Int] {
        pending.filter { $0.value.answer == nil && $0.value.sent.map { now - $0.time >= Host.commandTimeOut } == true }.keys.sorted()
    }

    /// Fails all waits, since the transport has ended.
    mutating func fail(_ reason: TransportError) {
        queue.reset()
        for command in pending.values {
            command.answer?.fail(reason)
            command.transmission?.fail(reason)
        }
        pending.removeAll()
    }
}
