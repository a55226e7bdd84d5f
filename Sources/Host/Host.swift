import BluetoothCrypto
import DequeModule
import HCI
import Packets
import Timing
import Transport

/// A Bluetooth host on one controller: commands, connections, L2CAP, ATT and GATT.
///
/// It lives on its loop. What has a result to wait for is `async`; what happens per packet is synchronous: handlers are called on the loop, from within
/// the delivery of the packet, and may call back into connections at once.
public final class Host {
    public let loop: RunLoop
    /// What others can read here, and what this host answers to requests of any peer.
    public let database: GATTDatabase
    let path: DataPath
    let context: HostContext

    /// How the host departs from good conduct, for tests of testers.
    public var quirks: HostQuirks {
        get { context.quirks }
        set { context.quirks = newValue }
    }

    /// What the host does otherwise with this controller than its claims would have it.
    public var workarounds: ControllerWorkarounds {
        get { context.workarounds }
        set { context.workarounds = newValue }
    }
    /// What is known of controllers by their numbers; at its start the host takes its workarounds from there.
    public var knowledge: ControllerKnowledge? {
        get { context.knowledge }
        set { context.knowledge = newValue }
    }
    /// What the controller was found to do since the host exists, its pipe included.
    public var learned: LearnedConductList {
        var all = path.transport.learned
        all.add(context.learned)
        let counters = counters
        all.note(.reservedBits, "advertising reports had reserved bits set: masked", count: counters.reservedBits)
        all.note(.excessCredits, "more packets were reported as completed than had been sent", count: counters.excessCredits)
        all.note(.answerForAnotherCommand, "an unknown vendor's command was answered under another opcode", count: commands.misnamedAnswers)
        return all
    }

    /// How long the controller may take.
    public var limits = HostLimits()
    /// The command that took longest to be answered.
    public internal(set) var slowestCommand: CommandTiming?
    /// Public addresses of other devices in the run: nobody else goes by them.
    public var othersAddresses: Set<BDADDR> = []

    /// What the specification leaves to a host on BR/EDR.
    public var classicChoices: ClassicChoices {
        get { context.classicChoices }
        set { context.classicChoices = newValue }
    }
    /// The keys of bonded peers.
    public var keys: KeyStore {
        get { context.keys }
        set { context.keys = newValue }
    }

    public internal(set) var controller = ControllerInformation()
    public internal(set) var isStarted = false
    /// Why nothing works any more.
    public internal(set) var failure: HostError?
    /// Which address the host takes when it starts.
    public var addressChoice = OwnAddress.automatic
    /// The address that the host goes by where settings name no other.
    public internal(set) var address = DeviceAddress(value: 0)
    /// The random address that was set last.
    public internal(set) var randomAddress: DeviceAddress?
    /// Decides about connection parameters that a peer asks for; by default whatever is legal is granted.
    public var parameterPolicy: (Connection, ConnectionParameterRequest) -> Bool = { _, request in request.isLegal }
    /// How the host pairs; nil if it does not, and says so to whoever asks. Core Vol 3, Part H, 3.5.5.
    public var pairingSettings: PairingSettings?
    /// Who answers when pairing asks; by default nobody is there and everything is agreed to, but no passkey is known.
    public var pairingDialogue = PairingDialogue.unattended(accepts: true)
    /// Told of each new connection before anything is received on it.
    public let newConnections = Listeners<(Connection) -> Void>()
    /// The same of BR/EDR.
    public let newClassicConnections = Listeners<(ClassicConnection) -> Void>()
    /// Decides about devices that want a connection over BR/EDR; nil leaves HCI_Connection_Request to whoever waits for it.
    public var acceptsClassic: ((BDADDR) -> Bool)?

    // BR/EDR
    /// The controller has been told what the host does on BR/EDR.
    var isClassicPrepared = false
    /// Devices that this side pages.
    var paging: Set<BDADDR> = []
    // Either transport
    var registrations: [ConnectionEvents] = []
    var knownServices = KnownServices()
    /// Of links whose connection has not been told yet.
    var earlyRoles: [BDADDR: ConnectionRole] = [:]
    var inquiry: Inquiry?

    var commands = CommandQueue()
    /// Runs while commands wait and the controller takes none.
    var stallTimer: Timer?
    /// Of a Hardware Error event since the last reset.
    var hardwareError: UInt8?
    var family = LECommandFamily()
    var answers: [Int: PendingCommand] = [:]
    var nextCommand = 0
    var waiters: [EventWaiter] = []
    var isStarting = false
    /// For keys and nonces.
    var secrets: SecretSource
    /// For own addresses: a stream of its own, since one on the air shows most of a number.
    var addresses: SecretSource
    // SMP
    var outOfBandData: LocalOutOfBandData?
    /// The controller has made such data for Secure Simple Pairing.
    var hasClassicOutOfBandData = false
    var attempts = RepeatedAttempts()
    // GAP
    var privacy: HostPrivacy?
    var scans: [Scan] = []
    var reportAssembler = ReportAssembler()
    var advertisingSets: [UInt8: AdvertisingSet] = [:]
    var connecting: Promise<Connection>?
    /// The address that the controller initiates with, where the host knows it.
    var initiatingAddress: DeviceAddress?
    var arrivals = Deque<Connection>()
    var arrival: Promise<Connection>?

    /// - Parameters:
    ///   - transport: the host's end of a pipe to a controller.
    ///   - seed: fixes addresses and keys on a loop in virtual time; in wall time they come from the system's generator.
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

    /// The connections that are up, in no particular order.
    public var connections: [Connection] { path.connections.all }
    /// The same of BR/EDR.
    public var classicConnections: [ClassicConnection] { path.classicConnections.all }

    /// Told of all packets between host and controller; a listener is called synchronously and must not block.
    public var packetObservers: Listeners<PacketObserver> { path.observers }

    /// Ends everything; the pipe is closed and every wait fails.
    public func close() {
        path.transport.close()
        fail(.environment(.closed))
    }

    func transportClosed(_ reason: TransportError) { fail(.environment(.transport(reason))) }

    /// Fails every pending command and procedure at once, with the same error.
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

    /// A reset controller has forgotten connections, sets and scans without a word. Core Vol 4, Part E, 7.3.2.
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
