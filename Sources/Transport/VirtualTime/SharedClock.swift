import BBPackets
import BBTiming

/// The machine that decides when virtual time moves, for a simulation whose time foreign hosts share.
///
/// A client is one program with one or more connections, each to the port of one controller. It is awake from HELLO or TIME until each of its connections has sent IDLE. Time stands still while
/// a client is awake. When all are idle, their packets go to the controllers, ordered by port. When the simulation has no work left at the present time, the controllers' packets go to the
/// clients, followed by TIME. If no client is woken, time moves to the simulation's next event or to the earliest time that a client waits for. The result does not depend on the speed of a
/// program or of the machine.
struct SharedClock {
    /// An action for the server, to be performed in order.
    enum Action: Equatable {
        case tell(port: Int, TimeMessage)
        /// Sends a controller's packet to the client.
        case pass(port: Int, HCIPacket)
        /// Attaches a fresh controller to a port.
        case attach(port: Int)
        /// Sends a client's packet to the controller.
        case inject(port: Int, HCIPacket)
        case detach(port: Int)
        /// Closes the connection; no fault.
        case hangUp(port: Int)
        /// Turns a client away that never belonged to the world; the others continue.
        case refuse(port: Int, String)
        /// Ends the run with an error text.
        case fail(String)
    }

    private enum Input {
        case attach
        case packet(HCIPacket)
        case detach
    }

    private struct Port {
        let name: String
        /// Name of the client connected to the port.
        var client: String?
        var isIdle = false
        var until: Microseconds?
        var isToWake = false
        /// Events to be performed when all clients are idle.
        var inputs: [Input] = []
        /// Packets to be sent when the simulation has no work left at the present time.
        var outputs: [HCIPacket] = []
    }

    let limits: VirtualTimeLimits
    /// True if time goes on after the last client has left.
    private let outlivesClients: Bool
    private var ports: [Port]
    private(set) var hasFailed = false
    /// True once all clients of the world have connected.
    private(set) var hasStarted = false
    /// Number of clients without which time stands still, from the last EXPECT.
    private var minimum = 1
    /// True if there are fewer clients than `minimum`.
    private var isShort = false
    /// Number of clients in the world, from the first HELLO.
    private var clientsOfWorld: UInt8?
    /// Summary of the ports, read before each step of time.
    private var awakePorts = 0
    private var hasInputs = false
    private var hasOutputs = false
    private var nearest: Microseconds = .never
    /// Machine time since which all awake clients have been silent.
    private var quietSince: Microseconds?
    /// Packets and messages since the clients were last idle.
    private var received = 0
    /// Number of times that clients were woken at `turnsAt`.
    private var turns = 0
    private var turnsAt: Microseconds = .zero
    private var lastTurn: Microseconds = .zero

    /// - Parameter names: addresses of the ports, for messages.
    init(ports names: [String], limits: VirtualTimeLimits = VirtualTimeLimits(), outlivesClients: Bool = false) {
        self.limits = limits
        self.outlivesClients = outlivesClients
        ports = names.map { Port(name: $0) }
    }

    func isTaken(_ port: Int) -> Bool { ports[port].client != nil }

    private var clients: Set<String> { Set(ports.compactMap(\.client)) }

    // MARK: From clients

    /// HELLO has arrived for a free port.
    mutating func greeted(_ port: Int, _ hello: TimeHello, at now: Microseconds) -> [Action] {
        guard !hasFailed else { return [] }
        guard hello.version == TimeMessage.version else {
            let text = "speaks version \(hello.version) of virtual time, and this is version \(TimeMessage.version)"
            return [.refuse(port: port, "the client at \(ports[port].name) \(text)")]
        }
        guard (1...64).contains(hello.clients) else {
            let text = "says that its world has \(hello.clients) clients: there can be 1 to 64"
            return [.refuse(port: port, "the client at \(ports[port].name) \(text)")]
        }
        quietSince = nil
        lastTurn = now
        let name = hello.name.isEmpty ? ports[port].name : hello.name
        if let clientsOfWorld, clientsOfWorld != hello.clients {
            return fail(
                "HELLO of the client at \(ports[port].name) is for a world of \(hello.clients) clients, an earlier one for \(clientsOfWorld); "
                    + "a device of bluebench sends 1, and for ',virtual-time=N' also EXPECT")
        }
        clientsOfWorld = hello.clients
        ports[port].client = name
        ports[port].isIdle = false
        awakePorts += 1
        add(.attach, to: port)
        countClients()
        var actions = [Action.tell(port: port, .welcome(version: TimeMessage.version, now: now))]
        // A further connection wakes an idle client.
        for other in ports.indices where ports[other].client == name && ports[other].isIdle {
            wake(other)
            actions.append(.tell(port: other, .time(now)))
        }
        return actions
    }

    mutating func received(_ packet: HCIPacket, on port: Int) -> [Action] {
        guard !hasFailed, isTaken(port) else { return [] }
        if ports[port].isIdle { return fail("\(words(port)) sent an HCI packet after it had said that it was idle") }
        if let failure = count(port) { return failure }
        add(.packet(packet), to: port)
        return []
    }

    mutating func received(_ message: TimeMessage, on port: Int, at now: Microseconds) -> [Action] {
        guard !hasFailed, isTaken(port) else { return [] }
        if let failure = count(port) { return failure }
        switch message {
        case .idle(let until): return rest(port, until: until, at: now)
        case .wake:
            if ports[port].isIdle {
                ports[port].isToWake = true
                hasOutputs = true
            }
            return []
        case .bye:
            leave(port)
            return [.hangUp(port: port)]
        case .expect(let clients): return expect(port, clients)
        case .hello: return fail("\(words(port)) said hello twice")
        case .welcome, .time, .fault: return fail("\(words(port)) sent a message that only a server sends")
        }
    }

    private mutating func rest(_ port: Int, until: Microseconds?, at now: Microseconds) -> [Action] {
        guard !ports[port].isIdle else { return fail("\(words(port)) said twice that it is idle") }
        if let until {
            // Tolerates the rounding of a client that counts in whole microseconds.
            if until + .init(1) < now {
                return fail("\(words(port)) is idle until \(until.seconds) s, and it is \(now.seconds) s: time does not go back")
            }
            if until > now + limits.longestIdle {
                return fail(
                    "\(words(port)) is idle until \(until.seconds) s: that is more than \(Int(saturating: limits.longestIdle.seconds)) s away"
                )
            }
        }
        ports[port].isIdle = true
        ports[port].until = until
        awakePorts -= 1
        if awakePorts == 0 { nearest = ports.compactMap { $0.client == nil ? nil : $0.until }.min() ?? .never }
        return []
    }

    private mutating func expect(_ port: Int, _ count: UInt8) -> [Action] {
        guard (1...64).contains(count) else { return fail("\(words(port)) expects \(count) clients: there can be 1 to 64") }
        guard !ports[port].isIdle else { return fail("\(words(port)) expects another client after it had said that it was idle") }
        // Each client needs a port.
        minimum = min(Int(count), ports.count)
        countClients()
        return []
    }

    /// A connection has ended without BYE.
    mutating func lost(_ port: Int, because reason: String) -> [Action] {
        guard !hasFailed, isTaken(port) else { return [] }
        return fail("\(words(port)) \(reason)")
    }

    private mutating func leave(_ port: Int) {
        if !ports[port].isIdle { awakePorts -= 1 }
        ports[port].client = nil
        ports[port].until = nil
        ports[port].isToWake = false
        ports[port].outputs = []
        add(.detach, to: port)
        countClients()
        nearest = ports.compactMap { $0.client == nil ? nil : $0.until }.min() ?? .never
    }

    private mutating func countClients() {
        let count = clients.count
        if count >= Int(clientsOfWorld ?? 1) { hasStarted = true }
        isShort = count < minimum
    }

    private mutating func add(_ input: Input, to port: Int) {
        ports[port].inputs.append(input)
        hasInputs = true
    }

    private mutating func count(_ port: Int) -> [Action]? {
        quietSince = nil
        received += 1
        guard received > limits.packetsPerTurn else { return nil }
        return fail("\(words(port)) floods: more than \(limits.packetsPerTurn) packets and messages without being idle")
    }

    // MARK: From controllers

    /// A controller sends a packet to its host.
    mutating func sent(_ packet: HCIPacket, on port: Int) {
        guard !hasFailed, isTaken(port) else { return }
        ports[port].outputs.append(packet)
        hasOutputs = true
    }

    // MARK: Time

    /// Decides the next step when the simulation has no work left at the present time.
    ///
    /// - Parameters:
    ///   - next: the simulation's earliest deadline.
    ///   - machine: the machine's clock.
    ///   - actions: receives the actions to perform before the step.
    mutating func settle(now: Microseconds, next: Microseconds?, machine: Microseconds, _ actions: inout [Action]) -> TimeStep {
        if awakePorts == 0, hasStarted, !isShort, !hasInputs, !hasOutputs, now < nearest, nearest < .never { return .move(limit: nearest) }
        if hasFailed { return .move(limit: .never) }
        guard awakePorts == 0, hasStarted else {
            return awaitClients(machine, &actions)
        }
        received = 0
        if hasInputs { return takeInputs(now, &actions) }
        if clients.isEmpty { return outlivesClients ? .move(limit: .never) : startAnew() }
        if wakeClients(now, &actions) { return .again }
        if isShort { return awaitClients(machine, &actions) }
        guard nearest == .never else { return .move(limit: nearest) }
        guard next != nil else {
            actions += fail("all clients are idle for ever, and nothing is left that could happen at \(now.seconds) s")
            return .again
        }
        guard now - lastTurn <= limits.longestSilence else {
            actions += fail(
                "all clients are idle for ever, and none was woken for \(Int(saturating: limits.longestSilence.seconds)) s of virtual time")
            return .again
        }
        return .move(limit: .never)
    }

    private mutating func awaitClients(_ machine: Microseconds, _ actions: inout [Action]) -> TimeStep {
        if !hasStarted, clients.isEmpty {
            quietSince = nil
            return .wait(until: nil)
        }
        let since = quietSince ?? machine
        quietSince = since
        guard machine - since >= limits.clientTimeout else { return .wait(until: since + limits.clientTimeout) }
        let seconds = limits.clientTimeout.seconds
        if let port = ports.indices.first(where: { isTaken($0) && !ports[$0].isIdle }) {
            actions += fail("\(words(port)) has been silent for \(seconds) s and is not idle")
        } else {
            actions += fail(
                "\(clients.count) of \(max(minimum, Int(clientsOfWorld ?? 1))) clients are there, and none came for \(seconds) s")
        }
        return .again
    }

    /// Lets the next client define a new world on the same air.
    private mutating func startAnew() -> TimeStep {
        (hasStarted, clientsOfWorld, minimum, isShort) = (false, nil, 1, false)
        return .wait(until: nil)
    }

    private mutating func takeInputs(_ now: Microseconds, _ actions: inout [Action]) -> TimeStep {
        hasInputs = false
        for port in ports.indices {
            for input in ports[port].inputs {
                switch input {
                case .attach: actions.append(.attach(port: port))
                case .packet(let packet): actions.append(.inject(port: port, packet))
                case .detach: actions.append(.detach(port: port))
                }
            }
            ports[port].inputs.removeAll(keepingCapacity: true)
        }
        return .again
    }

    /// Wakes the clients that have packets, whose time has come, or that sent WAKE; false if there are none.
    private mutating func wakeClients(_ now: Microseconds, _ actions: inout [Action]) -> Bool {
        guard hasOutputs || nearest <= now else { return false }
        hasOutputs = false
        let woken = Set(
            ports.compactMap { port in
                !port.outputs.isEmpty || port.isToWake || port.until.map { $0 <= now } == true ? port.client : nil
            })
        guard !woken.isEmpty else { return false }
        for port in ports.indices {
            guard let client = ports[port].client, woken.contains(client) else { continue }
            for packet in ports[port].outputs { actions.append(.pass(port: port, packet)) }
            actions.append(.tell(port: port, .time(now)))
            wake(port)
        }
        if turnsAt != now { (turnsAt, turns) = (now, 0) }
        turns += 1
        if turns > limits.turnsPerInstant {
            actions += fail("the clients have been awake \(limits.turnsPerInstant) times at \(now.seconds) s without letting time move")
        }
        lastTurn = now
        return true
    }

    private mutating func wake(_ port: Int) {
        ports[port].outputs.removeAll(keepingCapacity: true)
        ports[port].isIdle = false
        ports[port].isToWake = false
        ports[port].until = nil
        awakePorts += 1
        quietSince = nil
    }

    // MARK: Faults

    private mutating func fail(_ text: String) -> [Action] {
        hasFailed = true
        return [.fail(text)]
    }

    private func words(_ port: Int) -> String {
        let (name, client) = (ports[port].name, ports[port].client ?? "")
        return client.isEmpty || client == name ? "the client at \(name)" : "the client '\(PlainText.escaped(client))' at \(name)"
    }
}

/// Limits for the clients of a shared clock.
public struct VirtualTimeLimits: Sendable, Equatable {
    /// Machine time that an awake client may be silent.
    public var clientTimeout = Microseconds.seconds(10)
    /// Number of packets and messages that the clients may send before all of them are idle.
    public var packetsPerTurn = 16_384
    /// Number of times that clients may be woken at one time.
    public var turnsPerInstant = 10_000
    /// Longest wait that a client may ask for.
    public var longestIdle = Microseconds.seconds(86_400)
    /// Virtual time that may pass without a client being woken, if all are idle for ever.
    public var longestSilence = Microseconds.seconds(3_600)

    public init() {}
}
