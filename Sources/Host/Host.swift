import BluetoothCrypto
import DequeModule
import HCI
import Packets
import Timing
import Transport

/// A Bluetooth host on one controller: commands, connections, L2CAP, ATT and GATT.
///
/// It belongs to its loop. Operations with a result are `async`; packet handlers are synchronous, called on the loop from within the
/// delivery of the packet, and may call back at once.
public final class Host {
    public let loop: RunLoop
    /// The attributes that peers can read.
    public let database: GATTDatabase
    let path: DataPath
    let context: HostContext

    /// Faults of the host, for testing test cases.
    public var quirks: HostQuirks {
        get { context.quirks }
        set { context.quirks = newValue }
    }

    /// Workarounds for this controller.
    public var workarounds: ControllerWorkarounds {
        get { context.workarounds }
        set { context.workarounds = newValue }
    }
    /// Knowledge about controllers, from which the host takes its workarounds at its start.
    public var knowledge: ControllerKnowledge? {
        get { context.knowledge }
        set { context.knowledge = newValue }
    }
    /// Observed quirks of the controller and its pipe.
    public var learned: LearnedConductList {
        var all = path.transport.learned
        all.add(context.learned)
        let counters = counters
        all.note(.reservedBits, "advertising reports had reserved bits set: masked", count: counters.reservedBits)
        all.note(.excessCredits, "more packets were reported as completed than had been sent", count: counters.excessCredits)
        all.note(.answerForAnotherCommand, "an unknown vendor's command was answered under another opcode", count: commands.misnamedAnswers)
        return all
    }

    /// Timeouts of the controller.
    public var limits = HostLimits()
    /// The slowest command so far.
    public internal(set) var slowestCommand: CommandTiming?
    /// Public addresses of other devices in the run, which this host must not use.
    public var othersAddresses: Set<BDADDR> = []

    /// Behaviour on BR/EDR that the specification leaves open.
    public var classicChoices: ClassicChoices {
        get { context.classicChoices }
        set { context.classicChoices = newValue }
    }
    /// Keys of bonded peers.
    public var keys: KeyStore {
        get { context.keys }
        set { context.keys = newValue }
    }

    public internal(set) var controller = ControllerInformation()
    public internal(set) var isStarted = false
    /// Reason why the host has stopped working.
    public internal(set) var failure: HostError?
    /// The address to use, applied at the start.
    public var addressChoice = OwnAddress.automatic
    /// The host's address, used unless settings name another.
    public internal(set) var address = DeviceAddress(value: 0)
    /// The last random address set in the controller.
    public internal(set) var randomAddress: DeviceAddress?
    /// Decides on connection parameters requested by a peer; by default all legal ones are accepted.
    public var parameterPolicy: (Connection, ConnectionParameterRequest) -> Bool = { _, request in request.isLegal }
    /// Pairing settings; nil to reject pairing. Core Vol 3, Part H, 3.5.5.
    public var pairingSettings: PairingSettings?
    /// User interface of pairing; by default everything is accepted, but no passkey is known.
    public var pairingDialogue = PairingDialogue.unattended(accepts: true)
    /// Called with each new LE connection before anything is received on it.
    public let newConnections = Listeners<(Connection) -> Void>()
    /// Called with each new BR/EDR connection before anything is received on it.
    public let newClassicConnections = Listeners<(ClassicConnection) -> Void>()
    /// Decides on BR/EDR connection requests; nil to leave HCI_Connection_Request to another listener.
    public var acceptsClassic: ((BDADDR) -> Bool)?

    // BR/EDR
    /// The BR/EDR settings were sent to the controller.
    var isClassicPrepared = false
    /// Devices being paged.
    var paging: Set<BDADDR> = []
    // Either transport
    var registrations: [ConnectionEvents] = []
    var knownServices = KnownServices()
    /// Roles reported before their connection.
    var earlyRoles: [BDADDR: ConnectionRole] = [:]
    var inquiry: Inquiry?

    var commands = CommandQueue()
    /// Runs while commands are queued and the controller accepts none.
    var stallTimer: Timer?
    /// Code of a Hardware Error event since the last reset.
    var hardwareError: UInt8?
    var family = LECommandFamily()
    var answers: [Int: PendingCommand] = [:]
    var nextCommand = 0
    var waiters: [EventWaiter] = []
    var isStarting = false
    /// Source of keys and nonces.
    var secrets: SecretSource
    /// Source of own addresses: a separate stream, since an address on the air reveals most of a random number.
    var addresses: SecretSource
    // SMP
    var outOfBandData: LocalOutOfBandData?
    /// The controller has created out-of-band data for Secure Simple Pairing.
    var hasClassicOutOfBandData = false
    var attempts = RepeatedAttempts()
    // GAP
    var privacy: HostPrivacy?
    var scans: [Scan] = []
    var reportAssembler = ReportAssembler()
    var advertisingSets: [UInt8: AdvertisingSet] = [:]
    var connecting: Promise<Connection>?
    /// The own address used for initiating, if known to the host.
    var initiatingAddress: DeviceAddress?
    var arrivals = Deque<Connection>()
    var arrival: Promise<Connection>?

    /// - Parameters:
    ///   - transport: the host's end of a pipe to a controller.
    ///   - seed: determines addresses and keys on a loop in virtual time; in wall time they are from the system's generator.
    public init(loop: RunLoop, transport: any HCITransport, database: GATTDatabase = GATTDatabase(), seed: UInt64 = 0) {
        self.loop = loop
        self.database = database
        path = DataPath(loop: loop, transport: transport, server: GATTServer(database: database))
        context = path.context
        secrets = SecretSource(seed: seed, label: "host \(transport.name)", on: loop)
        addresses = secrets.stream("addresses")
        listenForDiscovery()
    }

    public var counters: HostCounters {
        var counters = context.counters
        counters.strayAnswers = commands.strayAnswers
        counters.excessCredits = context.scheduler.excessCredits
        counters.strayData += path.droppedData
        return counters
    }

    /// Open LE connections, in no particular order.
    public var connections: [Connection] { path.connections.all }
    /// Open BR/EDR connections, in no particular order.
    public var classicConnections: [ClassicConnection] { path.classicConnections.all }

    /// Called with all packets between host and controller; listeners must not block.
    public var packetObservers: Listeners<PacketObserver> { path.observers }

    /// Closes the pipe and fails all waits.
    public func close() {
        path.transport.close()
        fail(.environment(.closed))
    }

    func transportClosed(_ reason: TransportError) { fail(.environment(.transport(reason))) }

    /// Fails all pending commands and procedures with the same error.
    func fail(_ error: HostError) {
        guard failure == nil else { return }
        failure = error
        isStarted = false
        commands.reset()
        let unanswered = answers.sorted { $0.key < $1.key }
        answers.removeAll()
        if let stallTimer { loop.cancel(stallTimer) }
        stallTimer = nil
        for (_, pending) in unanswered {
            if let timer = pending.timer { loop.cancel(timer) }
            pending.finish(.failure(error))
        }
        let waiting = waiters
        waiters.removeAll()
        for waiter in waiting { waiter.fail(error) }
        endActivities(error, reason: .connectionTimeout)
        arrival?.fail(error)
        arrival = nil
        path.host = nil
    }

    /// HCI_Reset ends connections, sets and scans without events. Core Vol 4, Part E, 7.3.2.
    func controllerWasReset() {
        let reason = ErrorCode.connectionTerminatedByLocalHost
        let error = HostError.peer(.disconnected(reason))
        for connection in path.connections.all { failWaiters(of: connection.handle.rawValue, error) }
        for connection in path.classicConnections.all { failWaiters(of: connection.handle.rawValue, error) }
        endActivities(error, reason: reason)
        arrivals.removeAll()
    }

    private func endActivities(_ error: HostError, reason: ErrorCode) {
        endPrivacy()
        for handle in path.voices.keys.sorted(by: { $0.rawValue < $1.rawValue }) { endSynchronous(handle, reason) }
        for connection in path.connections.all { connection.ended(error, reason: reason) }
        for connection in path.classicConnections.all { connection.ended(error, reason: reason) }
        path.forgetConnections()
        connecting?.fail(error)
        connecting = nil
        let sets = advertisingSets.sorted { $0.key < $1.key }
        advertisingSets.removeAll()
        for (_, set) in sets {
            set.isRunning = false
            set.end.fail(error)
        }
        isClassicPrepared = false
        hasClassicOutOfBandData = false
        earlyRoles.removeAll()
        inquiry?.finish(error)
        inquiry = nil
        let ended = scans
        scans.removeAll()
        for scan in ended { scan.finish(error) }
    }
}
