import BBHCI
import BBPackets
import BBTiming

/// A wait for one event.
final class EventWaiter {
    /// The link whose end also ends the wait.
    let handle: ConnectionHandle?
    /// False until the command is accepted; earlier events belong to other procedures.
    var isArmed: Bool
    /// Returns true if the packet ends the wait.
    let take: (HCIPacket) -> Bool
    let fail: (HostError) -> Void

    init(handle: ConnectionHandle?, isArmed: Bool, take: @escaping (HCIPacket) -> Bool, fail: @escaping (HostError) -> Void) {
        self.handle = handle
        self.isArmed = isArmed
        self.take = take
        self.fail = fail
    }
}

/// Waits for events, in the order in which they began.
final class EventWaiters {
    private var list: [EventWaiter] = []

    func add(_ waiter: EventWaiter) { list.append(waiter) }
    func remove(_ waiter: EventWaiter) { list.removeAll { $0 === waiter } }

    func deliver(_ packet: HCIPacket) {
        guard !list.isEmpty else { return }
        for waiter in list where waiter.isArmed && waiter.take(packet) { remove(waiter) }
    }

    /// Fails all waits that belong to a link that has ended.
    func fail(of handle: ConnectionHandle, _ error: HostError) {
        let ended = list.filter { $0.handle == handle }
        list.removeAll { $0.handle == handle }
        for waiter in ended { waiter.fail(error) }
    }

    func fail(_ error: HostError) {
        let ended = list
        list.removeAll()
        for waiter in ended { waiter.fail(error) }
    }
}

/// Procedures that an event ends.
extension CommandClient {
    /// Waits for the next event of a type.
    func next<Event: HCIEvent>(_ type: Event.Type, within limit: Microseconds, where accepts: @escaping (Event) -> Bool) async throws
        -> Event
    {
        let (promise, waiter) = expect(type, on: nil, isArmed: true, where: accepts)
        return try await wait(promise, waiter, limit, .environment(.timedOut(.event(Event.name))))
    }

    /// Sends a command and waits for the event that completes its procedure, with any status.
    func procedure<Command: HCICommand, Event: HCIEvent>(
        _ command: Command, ends type: Event.Type, on handle: ConnectionHandle?, within limit: Microseconds = Host.procedureTimeOut,
        where accepts: @escaping (Event) -> Bool
    ) async throws -> Event {
        try await outcome(of: command, ends: type, on: handle, within: limit) { accepts($0) ? $0 : nil }
    }

    /// Sends a command and waits for the event that completes its procedure, with any status.
    ///
    /// - Parameter read: called from within the delivery of each event of the type; the first value ends the wait.
    func outcome<Command: HCICommand, Event: HCIEvent, Outcome>(
        of command: Command, ends type: Event.Type, on handle: ConnectionHandle?, within limit: Microseconds = Host.procedureTimeOut,
        read: @escaping (Event) -> Outcome?
    ) async throws -> Outcome {
        let (promise, waiter) = expectOutcome(of: type, on: handle, isArmed: false, read: read)
        submit(opcode: Command.opcode, HCIPacket(command: command)) { result in
            switch result {
            case .success(let answer) where answer.status == .success: waiter.isArmed = true
            case .success(let answer): promise.fail(HostError.peer(.rejected(Command.name, answer.status)))
            case .failure(let error): promise.fail(error)
            }
        }
        return try await wait(promise, waiter, limit, .peer(.timedOut(.event(Event.name))))
    }

    /// Sends a command and waits for an event that may follow it; nil if none comes within the limit.
    func change<Command: HCICommand, Event: HCIEvent>(
        _ command: Command, notedBy type: Event.Type, on handle: ConnectionHandle, within limit: Microseconds,
        where accepts: @escaping (Event) -> Bool
    ) async throws -> Event? {
        let (promise, waiter) = expect(type, on: handle, isArmed: true, where: accepts)
        do {
            _ = try await send(command)
        } catch {
            waiters.remove(waiter)
            throw error
        }
        do {
            return try await wait(promise, waiter, limit, .environment(.timedOut(.event(Event.name))))
        } catch HostError.environment(.timedOut) {
            return nil
        }
    }

    private func expect<Event: HCIEvent>(
        _ type: Event.Type, on handle: ConnectionHandle?, isArmed: Bool, where accepts: @escaping (Event) -> Bool
    ) -> (Promise<Event>, EventWaiter) {
        expectOutcome(of: type, on: handle, isArmed: isArmed) { accepts($0) ? $0 : nil }
    }

    private func expectOutcome<Event: HCIEvent, Outcome>(
        of type: Event.Type, on handle: ConnectionHandle?, isArmed: Bool, read: @escaping (Event) -> Outcome?
    ) -> (Promise<Outcome>, EventWaiter) {
        let promise = Promise<Outcome>(on: path.context.loop)
        let waiter = EventWaiter(handle: handle, isArmed: isArmed) { packet in
            guard packet.eventCode == Event.code, Event.subevent == nil || packet.leSubevent == Event.subevent,
                let event = try? packet.event(as: Event.self), let value = read(event)
            else { return false }
            promise.fulfil(value)
            return true
        } fail: {
            promise.fail($0)
        }
        if let failure { promise.fail(failure) } else { waiters.add(waiter) }
        return (promise, waiter)
    }

    /// Waits until the client fails.
    ///
    /// - Returns: the reason; nil after `limit`.
    /// - Throws: `CancellationError`.
    func failure(within limit: Microseconds?) async throws -> HostError? {
        if let failure { return failure }
        let promise = Promise<HostError>(on: path.context.loop)
        let waiter = EventWaiter(handle: nil, isArmed: true) { _ in
            false
        } fail: {
            promise.fulfil($0)
        }
        waiters.add(waiter)
        defer { waiters.remove(waiter) }
        do {
            return try await promise.value(until: limit.map { path.context.loop.now + $0 })
        } catch is TimeOut {
            return nil
        }
    }

    private func wait<Value>(
        _ promise: Promise<Value>, _ waiter: EventWaiter, _ limit: Microseconds, _ late: HostError
    ) async throws -> Value {
        defer { waiters.remove(waiter) }
        do {
            return try await promise.value(until: path.context.loop.now + limit)
        } catch is TimeOut {
            throw late
        }
    }
}

extension Host {
    /// Time limit for the answer to a command.
    public static var commandTimeOut: Microseconds { .seconds(2) }
    /// Time limit for a procedure of the link layer: its own limit of 40 s and a margin. Core Vol 6, Part B, 5.2.
    public static var procedureTimeOut: Microseconds { .seconds(45) }

    /// Time limits for the controller.
    public var limits: HostLimits {
        get { commands.limits }
        set { commands.limits = newValue }
    }
    /// The slowest command so far.
    public var slowestCommand: CommandTiming? { commands.slowest }
    /// The reason why the host has failed.
    public var failure: HostError? { commands.failure }

    /// Waits until the host fails, for example because its device was unplugged.
    ///
    /// - Parameter limit: the longest wait; nil for a wait without a timer.
    /// - Returns: the reason; nil after `limit`.
    /// - Throws: `CancellationError`.
    public func failure(within limit: Microseconds?) async throws -> HostError? { try await commands.failure(within: limit) }

    /// Sends a command and waits for Command Complete or Command Status.
    ///
    /// - Returns: the return parameters; `NoReturn` for a command answered by Command Status and completed by another event.
    /// - Throws: `HostError.peer(.rejected)` for a status other than Success, `.environment(.commandTimeOut)`, `.environment(.transport)`.
    @discardableResult
    public func send<Command: HCICommand>(_ command: Command, within limit: Microseconds? = nil) async throws -> Command.Return {
        try await commands.send(command, within: limit)
    }

    /// As above; `accepted` is called from within the delivery of a successful answer.
    @discardableResult
    func send<Command: HCICommand>(_ command: Command, accepted: @escaping (Command.Return) -> Void) async throws -> Command.Return {
        try await commands.send(command, accepted: accepted)
    }

    /// Sends any opcode with any parameters, valid or not, and returns the answer with any status.
    ///
    /// - Parameter length: value of the length field; nil for the actual length.
    public func sendRaw(opcode: UInt16, parameters: [UInt8], length: UInt8? = nil) async throws -> CommandAnswer {
        try await commands.answer(to: HCIPacket(opcode: opcode, parameters: parameters, length: length), opcode: opcode)
    }

    /// Waits for the next event of a type.
    ///
    /// - Throws: `HostError.environment(.timedOut)` after `limit`.
    public func nextEvent<Event: HCIEvent>(
        _ type: Event.Type = Event.self, within limit: Microseconds, where accepts: @escaping (Event) -> Bool = { _ in true }
    ) async throws -> Event {
        try await commands.next(type, within: limit, where: accepts)
    }
}
