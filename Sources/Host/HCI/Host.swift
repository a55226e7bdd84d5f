import DequeModule
import HCI
import Packets
import Timing
import Transport

/// A Bluetooth host on one controller: commands, connections, L2CAP, ATT and GATT.
///
/// It lives on its loop. What has a result to wait for is `async`; what happens per packet is synchronous: handlers are called on the loop, from within
/// the delivery of the packet, and may call back into links at once.
public final class Host {
    public let loop: RunLoop
    /// What others can read here, and what this host answers to requests of any peer.
    public let database: GATTDatabase
    let path: DataPath

    /// How the host departs from good conduct, for tests of testers.
    public var quirks: HostQuirks {
        get { path.quirks }
        set { path.quirks = newValue }
    }

    public internal(set) var controller = ControllerInformation()
    public internal(set) var isStarted = false
    /// Why nothing works any more.
    public internal(set) var failure: HostError?
    /// The random address that was set last.
    public internal(set) var randomAddress: DeviceAddress?
    /// Decides about connection parameters that a peer asks for; by default whatever is legal is granted.
    public var parameterPolicy: (Link, ConnectionParameterRequest) -> Bool = { _, request in request.isLegal }
    /// Called for each new link before anything is received on it.
    public var onLink: ((Link) -> Void)?

    var commands = CommandQueue()
    var answers: [Int: PendingCommand] = [:]
    var nextCommand = 0
    var waiters: [EventWaiter] = []
    var isStarting = false
    var random: RandomSource
    // GAP
    var scans: [Scan] = []
    var reportAssembler = ReportAssembler()
    var advertisingSets: [UInt8: AdvertisingSet] = [:]
    var connecting: Promise<Link>?
    var arrivals = Deque<Link>()
    var arrival: Promise<Link>?

    /// - Parameters:
    ///   - transport: the host's end of a pipe to a controller.
    ///   - seed: for what the host draws itself, such as random addresses.
    public init(loop: RunLoop, transport: any HCITransport, database: GATTDatabase = GATTDatabase(), seed: UInt64 = 0) {
        self.loop = loop
        self.database = database
        path = DataPath(loop: loop, transport: transport)
        random = RandomSource(seed: seed, label: "host \(transport.name)")
        path.database = database
    }

    public var counters: HostCounters {
        var counters = path.counters
        counters.strayAnswers = commands.strayAnswers
        counters.strayData += path.droppedData
        return counters
    }

    /// The links that are up, in no particular order.
    public var links: [Link] { path.allLinks }

    /// Adds an observer of all packets; it is called synchronously and must not block.
    public func addObserver(_ observer: @escaping PacketObserver) -> ObserverID { path.addObserver(observer) }
    public func removeObserver(_ id: ObserverID) { path.removeObserver(id) }

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
        for (_, pending) in unanswered {
            loop.cancel(pending.timer)
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

    /// A reset controller has forgotten links, sets and scans without a word. Core Vol 4, Part E, 7.3.2.
    func controllerWasReset() {
        let reason = ErrorCode.connectionTerminatedByLocalHost
        let error = HostError.peer(.disconnected(reason))
        for link in path.allLinks { failWaiters(of: link.handle.rawValue, error) }
        endActivities(error, reason: reason)
        arrivals.removeAll()
    }

    private func endActivities(_ error: HostError, reason: ErrorCode) {
        for link in path.allLinks { link.ended(error, reason: reason) }
        path.forgetLinks()
        connecting?.fail(error)
        connecting = nil
        let sets = advertisingSets.sorted { $0.key < $1.key }
        advertisingSets.removeAll()
        for (_, set) in sets {
            set.isRunning = false
            set.end.fail(error)
        }
        let ended = scans
        scans.removeAll()
        for scan in ended { scan.finish(error) }
    }
}
