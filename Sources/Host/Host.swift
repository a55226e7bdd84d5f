import BBBluetoothCrypto
import BBHCI
import BBPackets
import BBTiming
import BBTransport

/// A Bluetooth host on one controller: commands, connections, L2CAP, ATT and GATT.
///
/// It belongs to its loop. Operations with a result are `async`; packet handlers are synchronous, called on the loop from within the
/// delivery of the packet, and may call back at once.
///
/// The class creates and closes its parts and routes events to them. Each part has its own state, with its public calls beside it.
public final class Host {
    let path: DataPath
    let commands: CommandClient
    let addresses: OwnAddresses
    let setup: ControllerSetup
    let peers: PeerDirectory
    let pairing: PairingAgent
    let advertisingEncryption: AdvertisingEncryption
    private(set) lazy var family = CommandFamily(self)
    private(set) lazy var advertising = Advertising(self)
    private(set) lazy var scanning = Scanning(self)
    private(set) lazy var periodicSyncs = PeriodicSyncs(self)
    private(set) lazy var inquiring = Inquiring(self)
    private(set) lazy var connecting = Connecting(self)
    private(set) lazy var privacy = Privacy(self)
    private(set) lazy var classicSetup = ClassicSetup(self)
    private(set) lazy var classicConnecting = ClassicConnecting(self)
    /// Decides about connection parameters that a peer requests; by default any legal request is accepted.
    public var parameterPolicy: (Connection, ConnectionParameterRequest) -> Bool = { _, request in request.isLegal }
    /// Changes connection parameters that a peer requests and this host accepts, before it sets them.
    package var adjustsParameters: (ConnectionParameterRequest) -> ConnectionParameterRequest = { $0 }

    /// - Parameters:
    ///   - transport: the host's end of a pipe to a controller.
    ///   - seed: determines addresses and keys on a loop in virtual time; in wall time they are from the system's generator.
    public init(loop: RunLoop, transport: any HCITransport, database: GATTDatabase = GATTDatabase(), seed: UInt64 = 0) {
        path = DataPath(loop: loop, transport: transport, server: GATTServer(database: database))
        commands = CommandClient(path)
        let secrets = SecretSource(seed: seed, label: "host \(transport.name)", on: loop)
        addresses = OwnAddresses(commands, secrets.stream("addresses"))
        setup = ControllerSetup(commands, addresses)
        peers = PeerDirectory(path)
        pairing = PairingAgent(secrets, addresses, path.context)
        advertisingEncryption = AdvertisingEncryption(path.context, secrets.stream("randomizers"))
        listenForDiscovery()
        if database.offersEnhancedBearers { offerEnhancedBearers() }
    }

    var context: HostContext { path.context }
    public var loop: RunLoop { path.context.loop }
    /// The attribute database, and the answers of this host to requests of any peer.
    public var database: GATTDatabase { context.server.database }
    /// Open LE connections, in no particular order.
    public var connections: [Connection] { path.links.compactMap(\.le) }
    /// Open BR/EDR connections, in no particular order.
    public var classicConnections: [ClassicConnection] { path.links.compactMap(\.classic) }

    /// True if a reset of the controller would end an activity.
    var isBusy: Bool {
        !path.links.isEmpty || !advertising.isIdle || !scanning.isIdle || privacy.isOn || !connecting.isIdle
    }

    // MARK: Closing

    /// Closes the pipe and fails all waits.
    public func close() {
        path.transport.close()
        fail(.environment(.closed))
    }

    func transportClosed(_ reason: TransportError) { fail(.environment(.transport(reason))) }

    /// Fails all pending commands and procedures with the same error.
    func fail(_ error: HostError) {
        guard failure == nil else { return }
        setup.ended()
        commands.fail(error)
        endActivities(error, reason: .connectionTimeout)
        connecting.failed(error)
        path.host = nil
    }

    /// The connection has ended; also called if the controller reuses its handle without reporting the end.
    func end(_ link: ACLLink, _ reason: ErrorCode) {
        let error = HostError.peer(.disconnected(reason))
        link.ended(error, reason: reason)
        path.remove(link)
        commands.waiters.fail(of: link.handle, error)
    }

    /// HCI_Reset ends connections, sets and scans without events. Core Vol 4, Part E, 7.3.2.
    func controllerWasReset() {
        let reason = ErrorCode.connectionTerminatedByLocalHost
        let error = HostError.peer(.disconnected(reason))
        family.reset()
        for link in path.links { commands.waiters.fail(of: link.acl.handle, error) }
        endActivities(error, reason: reason)
    }

    private func endActivities(_ error: HostError, reason: ErrorCode) {
        privacy.ended()
        path.endConnections(error, reason: reason)
        connecting.ended(error)
        advertising.ended(error)
        classicSetup.ended()
        classicConnecting.ended()
        inquiring.ended(error)
        scanning.ended(error)
        periodicSyncs.ended(error)
    }
}

/// The state that the host shares with its connections.
extension Host {
    /// Injected faults, for tests of testers.
    public var quirks: HostQuirks {
        get { context.quirks }
        set { context.quirks = newValue }
    }
    /// The workarounds for deviations of the controller.
    public var workarounds: ControllerWorkarounds {
        get { context.workarounds }
        set { context.workarounds = newValue }
    }
    /// The table of known controllers, from which the host takes its workarounds at its start.
    public var knowledge: ControllerKnowledge? {
        get { context.knowledge }
        set { context.knowledge = newValue }
    }
    /// Choices that the specification leaves to a host on BR/EDR.
    public var classicChoices: ClassicChoices {
        get { context.classicChoices }
        set { context.classicChoices = newValue }
    }
    /// Keys of bonded peers.
    public var keys: KeyStore {
        get { context.keys }
        set { context.keys = newValue }
    }

    /// Observed quirks of the controller since the host exists, its pipe included.
    public var learned: LearnedConductList {
        var all = path.transport.learned
        all.add(context.learned)
        let counters = counters
        all.note(.reservedBits, "advertising reports had reserved bits set: masked", count: counters.reservedBits)
        all.note(.excessCredits, "more packets were reported as completed than had been sent", count: counters.excessCredits)
        all.note(.answerForAnotherCommand, "an unknown vendor's command was answered under another opcode", count: commands.misnamedAnswers)
        return all
    }

    public var counters: HostCounters {
        var counters = context.counters
        counters.strayAnswers = commands.strayAnswers
        counters.excessCredits = context.scheduler.excessCredits
        counters.strayData += path.droppedData
        return counters
    }

    /// Called with all packets between host and controller; listeners must not block.
    public var packetObservers: Listeners<PacketObserver> { path.observers }
}
