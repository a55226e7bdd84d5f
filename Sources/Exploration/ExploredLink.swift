import BBPackets
import BBSimulation
import BBTiming
import BBTraffic

/// A data channel packet with content, at its first transmission.
struct SentPDU: Sendable {
    var role: LinkRole
    /// Opcode and CtrData of a control PDU; nil for data.
    var control: [UInt8]?
    /// Number of the connection event in which it was sent.
    var event: Int

    var opcode: UInt8? { control?.first }
}

/// The result of one path.
struct PathOutcome: Sendable {
    struct End: Sendable {
        var events: [HostEvent]
        var accepted: [LinkRequest]
        var sent: [UInt8]
        var received: [UInt8]
        var link: LinkView?
    }

    var ends: [LinkRole: End]
    var sent: [SentPDU]
    /// False if a procedure, a timeout or data was left when the run ended.
    var isAtRest: Bool
    /// Numbers of the packets whose loss can make a difference: those with content, and those that acknowledge one.
    var worthLosing: [Int]

    subscript(role: LinkRole) -> End { ends[role] ?? End(events: [], accepted: [], sent: [], received: [], link: nil) }
}

/// Two virtual controllers with a link in virtual time, on which a path is tried.
final class ExploredLink {
    /// 4 s, in units of 10 ms.
    static let supervisionTimeout: UInt16 = 400
    static let interval = Microseconds.milliseconds(30)
    /// Time for the procedures to end after the last request, and that after which every timeout has ended the link.
    static let (usual, most) = (Microseconds.milliseconds(1_500), Microseconds.seconds(46))

    private let loop = RunLoop()
    private let simulation: Simulation
    private var hosts: [LinkRole: ExploredHost] = [:]
    private var identifiers: [LinkRole: ControllerID] = [:]
    private var sent: [SentPDU] = []
    private var worthLosing: [Int] = []
    private var firstPacket = 0
    private var last: [LinkRole: (sequence: UInt8, hasContent: Bool)] = [:]
    private var lastHadContent = false

    init(_ configurations: (LinkRole) -> ControllerConfiguration, seed: UInt64) throws {
        simulation = Simulation(loop: loop, seed: seed)
        for role in LinkRole.allCases {
            var configuration = configurations(role)
            configuration.profile = .le
            configuration.address = Self.address(role)
            let (identifier, pipe) = try simulation.addController(configuration)
            identifiers[role] = identifier
            hosts[role] = ExploredHost(role, pipe)
        }
    }

    private static func address(_ role: LinkRole) -> DeviceAddress { DeviceAddress(value: role == .central ? 0xB1BE_0001 : 0xB1BE_0002) }

    /// Connects, runs a path, and waits until nothing is under way any more.
    func run(_ path: ExploredPath) throws -> PathOutcome {
        defer { loop.end() }
        return try loop.run { [self] in
            try await connect()
            let lastEvent = path.requests.last?.event ?? 0
            observe()
            if let lost = path.lostPacket { simulation.losePacket(lost) }
            for number in 0...lastEvent {
                for planned in path.requests where planned.event == number { hosts[planned.role]?.make(planned.request) }
                try await loop.sleep(for: Self.interval)
            }
            try await rest(isEnding: path.terminates)
            return outcome()
        }
    }

    private func connect() async throws {
        guard let central = hosts[.central], let peripheral = hosts[.peripheral] else { return }
        for host in hosts.values { try host.open() }
        peripheral.send(
            HCICommands.LESetAdvertisingParameters(advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, advertisingChannelMap: 7))
        peripheral.send(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
        central.send(
            HCICommands.LECreateConnection(
                leScanInterval: 0x10, leScanWindow: 0x10, peerAddress: Self.address(.peripheral).bdADDR, connectionIntervalMin: 24,
                connectionIntervalMax: 24, supervisionTimeout: Self.supervisionTimeout))
        while hosts.values.contains(where: { $0.handle == nil }) { try await loop.sleep(for: .milliseconds(5)) }
        central.make(.features)
        try await loop.sleep(for: Self.interval * 4)
        for host in hosts.values { host.clear() }
        try await toAnchor()
    }

    /// Waits until 1 ms before an anchor point.
    private func toAnchor() async throws {
        guard let central = identifiers[.central], let link = simulation.link(of: central) else { return }
        try await loop.sleep(until: link.nextAnchor + Self.interval - .milliseconds(1))
    }

    /// Waits until the link is at rest.
    ///
    /// - Parameter isEnding: true to wait for the end of both links.
    private func rest(isEnding: Bool) async throws {
        func isOver() -> Bool {
            simulation.areLinksAtRest && !(isEnding && identifiers.values.contains { simulation.link(of: $0) != nil })
        }
        let start = loop.now
        while loop.now - start < Self.usual {
            try await loop.sleep(for: Self.interval)
            if isOver() { return }
        }
        while !isOver(), loop.now - start < Self.most { try await loop.sleep(for: .milliseconds(500)) }
    }

    private func outcome() -> PathOutcome {
        var ends: [LinkRole: PathOutcome.End] = [:]
        for (role, host) in hosts {
            ends[role] = PathOutcome.End(
                events: host.events, accepted: host.accepted, sent: host.sent, received: host.received,
                link: identifiers[role].flatMap { simulation.link(of: $0) })
        }
        return PathOutcome(ends: ends, sent: sent, isAtRest: simulation.areLinksAtRest, worthLosing: worthLosing)
    }

    // MARK: Air

    private func observe() {
        firstPacket = simulation.transmissions
        let roles = Dictionary(uniqueKeysWithValues: identifiers.map { ($0.value, $0.key) })
        simulation.observeAir { [unowned self] observation in
            if let role = roles[observation.sender] { note(observation, role) }
        }
    }

    private func note(_ observation: AirObservation, _ role: LinkRole) {
        guard let pdu = observation.frame.pdu, pdu.kind == .data else { return }
        let content = observation.plain.map { Array($0.dropFirst(2)) } ?? Array(observation.frame.bytes[pdu.payload])
        let hasContent = !content.isEmpty
        if hasContent || lastHadContent { worthLosing.append(simulation.transmissions - firstPacket) }
        lastHadContent = hasContent
        defer { last[role] = (pdu.sequenceNumber, hasContent) }
        // The same sequence number again: a retransmission.
        guard hasContent, last[role].map({ $0.sequence != pdu.sequenceNumber || !$0.hasContent }) ?? true else { return }
        let event = identifiers[.central].flatMap { simulation.link(of: $0)?.eventCounter } ?? 0
        sent.append(SentPDU(role: role, control: pdu.isControl ? content : nil, event: event))
    }
}
