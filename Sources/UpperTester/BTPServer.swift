import BBBTP
import BBHost
import BBPackets
import BBTiming

/// The upper tester of a host: performs commands of the Bluetooth Test Protocol and reports the host's events.
///
/// It lives on the host's loop. Commands are performed one after the other; what a command starts, such as a connection or a pairing, goes
/// on after its response and is reported by events.
public final class BTPServer {
    let host: Host
    /// Takes each message for the tester.
    public var output: (BTPFrame) -> Void = { _ in }
    /// Injected faults and legal deviations, for tests of testers.
    var quirks: UpperTesterQuirks
    let gap = GAPState()
    let gatt: GATTState
    let l2cap = L2CAPState()
    /// The state on BR/EDR; nil if the host has LE only.
    let classic: ClassicState?
    let authorization = AuthorizationState()
    private var registration: BTPRegistration
    private let handlers: BTPHandlers
    private var queue: [BTPFrame] = []
    private var current: Activity<Void>?
    private var activities: [Activity<Void>] = []
    /// Commands that wait at most.
    private static let mostWaiting = 16

    /// - Parameters:
    ///   - host: a started host, which belongs to the server from now on.
    ///   - isDualMode: BR/EDR is used, too, if the controller has it.
    public init(host: Host, quirks: UpperTesterQuirks = UpperTesterQuirks(), isDualMode: Bool = false) {
        self.host = host
        classic = isDualMode && !host.controller.isLEOnly ? ClassicState() : nil
        self.quirks = quirks
        var handlers = BTPHandlers()
        handlers.addGAP()
        handlers.addPairing()
        handlers.addPairingToLevel()
        handlers.addGATTServer()
        handlers.addGATTClient()
        handlers.addL2CAP()
        handlers.addEnhancedBearers()
        handlers.addConcurrentReading()
        handlers.addPrivacy()
        handlers.addAdvertisingEncryption()
        handlers.addAuthorization()
        handlers.remove(quirks.missingCommands)
        self.handlers = handlers
        if let mtu = quirks.offeredMTU { host.setOfferedMTU(mtu) }
        quirks.publish(in: host.database)
        registration = BTPRegistration(commands: handlers.names)
        gatt = GATTState(host.database)
        gap.attach(to: self)
        authorization.attach(to: self)
        host.newConnections.add { [weak self] link in self?.connected(link) }
        if classic != nil { host.newClassicConnections.add { [weak self] link in self?.connected(link) } }
    }

    /// Reports that commands can be performed.
    public func start() { if !quirks.startsSilently { send(BTPEvents.COREIUTReady()) } }

    /// Takes a message of the tester.
    public func receive(_ frame: BTPFrame) {
        guard queue.count < Self.mostWaiting else { return deliver(BTPFrame(.notReady, to: frame)) }
        guard let command = arriving(frame) else { return }
        queue.append(command)
        next()
    }

    /// Ends everything that commands have started.
    public func stop() async {
        queue = []
        let all = activities + (current.map { [$0] } ?? [])
        for activity in all { activity.cancel() }
        for activity in all { await activity.ended() }
        activities = []
        current = nil
    }

    private func next() {
        guard current == nil, !queue.isEmpty else { return }
        let command = queue.removeFirst()
        current = host.loop.start { [unowned self] in
            let answer = await answer(to: command)
            current = nil
            if let answer { deliver(answer) }
            next()
        }
    }

    private func answer(to command: BTPFrame) async -> BTPFrame? {
        if command.isEvent { return nil }
        switch registration.decide(command) {
        case .answer(let answer): return answer
        case .register, .unregister: return BTPFrame(success: command)
        case .perform: break
        }
        do {
            let data = try await handlers.run(command, self)
            return BTPFrame(success: command, data: data)
        } catch {
            return BTPFrame(.fail, to: command)
        }
    }

    // MARK: What handlers need

    func send<Event: PDU>(_ event: Event) {
        guard let frame = BTPFrame(.btpEvents, named: Event.name, data: event.parameters) else { return }
        deliver(frame)
    }

    /// Runs what goes on after the response of a command.
    func start(_ body: @escaping () async throws -> Void) {
        activities.removeAll(where: \.isOver)
        activities.append(host.loop.start { try await body() })
    }

    /// Finds the connection to a device by its identity or by its address on the air.
    func connection(_ type: UInt8, _ address: BDADDR) throws -> Connection {
        guard let kind = DeviceAddress.Kind(rawValue: type) else { throw BTPError.fail }
        let wanted = DeviceAddress(address, kind: kind)
        let found = host.connections.first { $0.peer.address == wanted || $0.addresses.peer == wanted }
        guard let found else { throw BTPError.fail }
        return found
    }
}

extension BTPError: Error {}

/// The functions that perform commands.
struct BTPHandlers {
    typealias Handler = (BTPServer, [UInt8]) async throws -> [UInt8]

    private(set) var names: [String] = []
    private var table: [Int: Handler] = [:]

    /// Adds a command with a response that has data. A command of a wrong length fails.
    mutating func on<Command: PDU>(_: Command.Type, _ run: @escaping (BTPServer, Command) async throws -> some PDU) {
        add(Command.name) { server, data in try await run(server, try Command(parameters: data)).parameters }
    }

    /// Adds a command with an empty response.
    mutating func does<Command: PDU>(_: Command.Type, _ run: @escaping (BTPServer, Command) async throws -> Void) {
        add(Command.name) { server, data in
            try await run(server, try Command(parameters: data))
            return []
        }
    }

    private mutating func add(_ name: String, _ handler: @escaping Handler) {
        guard let code = PDUCatalog.declaration(layer: .btpCommands, name: name)?.code else { return }
        names.append(name)
        table[code] = handler
    }

    /// Removes commands, which are then unknown.
    mutating func remove(_ missing: Set<String>) {
        names.removeAll(where: missing.contains)
        for name in missing { PDUCatalog.declaration(layer: .btpCommands, name: name).map { table[$0.code] = nil } }
    }

    func run(_ command: BTPFrame, _ server: BTPServer) async throws -> [UInt8] {
        guard let handler = table[command.code] else { throw BTPError.unknownCommand }
        return try await handler(server, command.data)
    }
}
