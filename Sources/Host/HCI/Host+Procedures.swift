import Packets
import Timing

/// A wait for an event.
final class EventWaiter {
    /// The link whose end also ends the wait.
    let handle: UInt16?
    /// False until the command is accepted; earlier events belong to other procedures.
    var isArmed: Bool
    /// Returns true if the packet ends the wait.
    let take: (HCIPacket) -> Bool
    let fail: (HostError) -> Void

    init(handle: UInt16?, isArmed: Bool, take: @escaping (HCIPacket) -> Bool, fail: @escaping (HostError) -> Void) {
        self.handle = handle
        self.isArmed = isArmed
        self.take = take
        self.fail = fail
    }
}

extension Host {
    /// Timeout of a link layer procedure, with some margin. Core Vol 6, Part B, 5.2.
    public static var procedureTimeOut: Microseconds { .seconds(45) }

    /// Waits for the next event of a type.
    ///
    /// - Throws: `HostError.environment(.timedOut)` after `limit`.
    public func nextEvent<Event: HCIEvent>(
        _ type: Event.Type = Event.self, within limit: Microseconds, where accepts: @escaping (Event) -> Bool = { _ in true }
    ) async throws -> Event {
        let (promise, waiter) = expect(type, handle: nil, isArmed: true, where: accepts)
        return try await wait(promise, waiter, limit, .environment(.timedOut(.event(Event.name))))
    }

    /// Sends a command and waits for the event that completes its procedure, with any status.
    func procedure<Command: HCICommand, Event: HCIEvent>(
        _ command: Command, ends type: Event.Type, on handle: ConnectionHandle?, within limit: Microseconds = Host.procedureTimeOut,
        where accepts: @escaping (Event) -> Bool
    ) async throws -> Event {
        let (promise, waiter) = expect(type, handle: handle?.rawValue, isArmed: false, where: accepts)
        submit(opcode: Command.opcode, HCIPacket(command: command)) { result in
            switch result {
            case .success(let answer) where answer.status == .success: waiter.isArmed = true
            case .success(let answer): promise.fail(HostError.peer(.rejected(Command.name, answer.status)))
            case .failure(let error): promise.fail(error)
            }
        }
        return try await wait(promise, waiter, limit, .peer(.timedOut(.event(Event.name))))
    }

    func expect<Event: HCIEvent>(
        _ type: Event.Type, handle: UInt16?, isArmed: Bool, where accepts: @escaping (Event) -> Bool
    ) -> (Promise<Event>, EventWaiter) {
        let promise = Promise<Event>(on: loop)
        let waiter = EventWaiter(handle: handle, isArmed: isArmed) { packet in
            guard packet.eventCode == Event.code, Event.subevent == nil || packet.leSubevent == Event.subevent,
                let event = try? packet.event(as: Event.self), accepts(event)
            else { return false }
            promise.fulfil(event)
            return true
        } fail: {
            promise.fail($0)
        }
        if let failure { promise.fail(failure) } else { waiters.append(waiter) }
        return (promise, waiter)
    }

    func wait<Value>(
        _ promise: Promise<Value>, _ waiter: EventWaiter, _ limit: Microseconds, _ late: HostError
    ) async throws -> Value {
        defer { waiters.removeAll { $0 === waiter } }
        do {
            return try await promise.value(until: loop.now + limit)
        } catch is TimeOut {
            throw late
        }
    }

    func deliverToWaiters(_ packet: HCIPacket) {
        guard !waiters.isEmpty else { return }
        for waiter in waiters where waiter.isArmed && waiter.take(packet) {
            waiters.removeAll { $0 === waiter }
        }
    }

    /// Fails all waits that belong to a link that has ended.
    func failWaiters(of handle: UInt16, _ error: HostError) {
        let ended = waiters.filter { $0.handle == handle }
        waiters.removeAll { $0.handle == handle }
        for waiter in ended { waiter.fail(error) }
    }
}
