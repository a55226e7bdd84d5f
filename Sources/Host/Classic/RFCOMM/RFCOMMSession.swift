import BBPackets

/// Settings of an RFCOMM session.
public struct RFCOMMSettings: Sendable, Hashable {
    /// Server channels that the peer may open, 1...30.
    public var services: Set<UInt8>
    /// N1 offered, and maximum N1 accepted, as allowed by the MTU of L2CAP.
    public var frameSize: Int
    public var usesCredits: Bool
    /// Number of frames that the peer may have outstanding on a connection.
    public var creditWindow: Int
    /// T1: timeout of the response to SABM and DISC, 10...60 s. RFCOMM 1.2, 5.3.
    public var acknowledgementTimeOut = Microseconds.seconds(20)
    /// T2: timeout of the response to a multiplexer message, 10...60 s.
    public var responseTimeOut = Microseconds.seconds(20)
    /// Maximum octets queued for credits on a connection.
    public var queueLimit = 65_536
    /// Injected faults.
    var quirks = ChannelQuirks()

    /// - Parameter mtu: MTU of the L2CAP channel.
    public init(services: Set<UInt8> = [], mtu: Int = 672, usesCredits: Bool = true, creditWindow: Int = 32) {
        self.services = services
        let room = mtu - RFCOMMFrame.mostOverhead
        frameSize = min(max(room, RFCOMMParameters.frameSizes.lowerBound), RFCOMMParameters.frameSizes.upperBound)
        self.usesCredits = usesCredits
        self.creditWindow = max(1, creditWindow)
    }

    var initialCredits: Int { min(creditWindow, RFCOMMParameters.mostInitialCredits) }
}

/// Reason why a connection or session ended.
public enum RFCOMMEnd: Sendable, Hashable {
    case local
    case remote
    /// SABM was answered with DM.
    case refused
    case timedOut
    /// The peer violated the protocol.
    case violation
}

public enum RFCOMMAction: Sendable, Hashable {
    /// Send a frame on the L2CAP channel.
    case send([UInt8])
    /// The multiplexer is started.
    case started
    case opened(dlci: UInt8)
    case received(dlci: UInt8, [UInt8])
    /// The transmit queue has space again.
    case writable(dlci: UInt8)
    case signals(dlci: UInt8, RFCOMMSignals)
    case portSettings(dlci: UInt8, RFCOMMPortSettings)
    case lineStatus(dlci: UInt8, UInt8)
    case testAnswered([UInt8])
    case notSupported(UInt8)
    case closed(dlci: UInt8, RFCOMMEnd)
    /// The session has ended; close its L2CAP channel.
    case ended(RFCOMMEnd)
}

/// RFCOMM on one L2CAP channel: the multiplexer and its data link connections. RFCOMM 1.2; TS 07.10, 5.
public struct RFCOMMSession: Sendable {
    public enum Role: Sendable {
        case initiator
        case acceptor
    }

    enum State: Sendable, Hashable {
        case idle
        /// SABM was sent on DLCI 0.
        case awaitAcknowledgement
        case open
        /// DISC was sent on DLCI 0.
        case awaitDisconnect
        case ended
    }

    /// A multiplexer message that awaits its response.
    struct Awaited: Sendable {
        /// The type octet of the command.
        var type: UInt16
        var dlci: UInt8?
        var deadline: Microseconds
    }

    public let role: Role
    public internal(set) var settings: RFCOMMSettings
    var state = State.idle
    var links: [UInt8: RFCOMMDataLink] = [:]
    var awaited: [Awaited] = []
    /// Expiry of T1 for SABM or DISC on DLCI 0.
    var controlDeadline: Microseconds?
    /// FCoff was received from the peer.
    var isStopped = false

    public init(_ role: Role, _ settings: RFCOMMSettings = RFCOMMSettings()) {
        (self.role, self.settings) = (role, settings)
    }

    /// Time at which to call `expire`.
    public var deadline: Microseconds? {
        let all = [controlDeadline].compactMap { $0 } + awaited.map(\.deadline) + links.values.compactMap(\.deadline)
        return all.min()
    }

    public var isOver: Bool { state == .ended }
    /// True for an acceptor before the initiator has started the session.
    public var isIdle: Bool { state == .idle }
    /// True if connections can still be opened.
    public var isUsable: Bool { state != .ended && state != .awaitDisconnect }
    /// DLCIs of the open connections.
    public var openLinks: [UInt8] { links.filter { $0.value.isOpen }.keys.sorted() }

    /// DLCI with which this device opens a server channel of the peer. RFCOMM 1.2, 5.4.
    public func dlci(toChannel channel: UInt8) -> UInt8 { channel << 1 | (role == .initiator ? 0 : 1) }

    /// True if the peer may open the DLCI: a service of this device, with this device's direction bit.
    func serves(_ dlci: UInt8) -> Bool {
        dlci & 1 == (role == .initiator ? 1 : 0) && (1...30).contains(dlci >> 1) && settings.services.contains(dlci >> 1)
    }

    // MARK: Calls of the user

    /// Starts the multiplexer; an acceptor waits for the peer to do so.
    public mutating func start(at now: Microseconds) -> [RFCOMMAction] {
        guard state == .idle, role == .initiator else { return [] }
        state = .awaitAcknowledgement
        controlDeadline = now + settings.acknowledgementTimeOut
        return [command(.sabm, 0)]
    }

    /// Opens a connection to a server channel of the peer, 1...30, after the multiplexer is started; an acceptor waits for the peer's SABM
    /// for T1.
    public mutating func open(channel: UInt8, at now: Microseconds) -> [RFCOMMAction] {
        let dlci = dlci(toChannel: channel)
        guard (1...30).contains(channel), links[dlci] == nil, isUsable else { return [] }
        links[dlci] = RFCOMMDataLink(.waiting)
        if state == .idle, role == .acceptor { links[dlci]?.deadline = now + settings.acknowledgementTimeOut }
        return state == .open ? negotiate(dlci, at: now) : start(at: now)
    }

    /// Sends octets, or queues them until there are credits; nil if the queue is full or the connection does not exist.
    public mutating func send(_ octets: [UInt8], on dlci: UInt8) -> [RFCOMMAction]? {
        guard var link = links[dlci], link.isOpen else { return nil }
        guard link.queued + octets.count <= settings.queueLimit else {
            link.wasFull = true
            links[dlci] = link
            return nil
        }
        link.enqueue(octets)
        links[dlci] = link
        return pump(dlci)
    }

    /// Enables or disables reception, by withholding credits or with FC. RFCOMM 1.2, 6.3 and 6.5.
    public mutating func setReceiving(_ isReceiving: Bool, on dlci: UInt8, at now: Microseconds) -> [RFCOMMAction] {
        guard var link = links[dlci], link.isOpen, link.isReceiving != isReceiving else { return [] }
        link.isReceiving = isReceiving
        let credits = link.replenish(window: settings.creditWindow)
        let hasCredits = link.hasCredits
        links[dlci] = link
        if hasCredits { return credits.map { [data(dlci, credits: $0)] } ?? [] }
        return ask(.modemStatus(dlci: dlci, isReceiving ? .ready : [.ready, .flowControl]), at: now)
    }

    /// Sends a multiplexer message.
    public mutating func ask(_ message: RFCOMMCommand, at now: Microseconds) -> [RFCOMMAction] {
        guard state == .open else { return [] }
        awaited.append(Awaited(type: message.type, dlci: message.dlci, deadline: now + settings.responseTimeOut))
        return [self.message(message, isCommand: true)]
    }

    /// Closes a connection, and after the last one the session.
    public mutating func close(_ dlci: UInt8, at now: Microseconds) -> [RFCOMMAction] {
        guard let link = links[dlci] else { return [] }
        if case .awaitDisconnect = link.phase { return [] }
        guard link.phase != .waiting else { return gone(dlci, .local, at: now) }
        return disconnect(dlci, .local, at: now)
    }

    /// Closes the session with all its connections.
    public mutating func close(at now: Microseconds) -> [RFCOMMAction] {
        switch state {
        case .idle: return end(.local)
        case .awaitAcknowledgement, .open:
            state = .awaitDisconnect
            controlDeadline = now + settings.acknowledgementTimeOut
            return [command(.disc, 0)]
        case .awaitDisconnect, .ended: return []
        }
    }

    /// The L2CAP channel was closed.
    public mutating func channelClosed() -> [RFCOMMAction] { end(.remote) }

    // MARK: Timeouts. RFCOMM 1.2, 5.3

    /// Handles expired deadlines.
    public mutating func expire(at now: Microseconds) -> [RFCOMMAction] {
        if isDue(controlDeadline, now) || awaited.contains(where: { isDue($0.deadline, now) }) { return end(.timedOut) }
        var actions: [RFCOMMAction] = []
        for (dlci, link) in links.sorted(by: { $0.key < $1.key }) where isDue(link.deadline, now) {
            switch link.phase {
            case .awaitDisconnect(let why): actions += gone(dlci, why, at: now)
            case .awaitAcknowledgement: actions += disconnect(dlci, .timedOut, at: now)
            case .waiting, .awaitParameters, .negotiated, .open: actions += gone(dlci, .timedOut, at: now)
            }
        }
        return actions
    }

    private func isDue(_ deadline: Microseconds?, _ now: Microseconds) -> Bool { deadline.map { $0 <= now } ?? false }
}

// MARK: Sending frames

extension RFCOMMSession {
    /// Sends a command frame. C/R is 1 in commands of the initiator and in responses of the acceptor. TS 07.10, table 1.
    func command(_ kind: RFCOMMFrame.Kind, _ dlci: UInt8) -> RFCOMMAction {
        .send(RFCOMMFrame(kind, dlci: dlci, commandResponse: role == .initiator).octets)
    }

    func response(_ kind: RFCOMMFrame.Kind, _ dlci: UInt8) -> RFCOMMAction {
        .send(RFCOMMFrame(kind, dlci: dlci, commandResponse: role == .acceptor).octets)
    }

    func data(_ dlci: UInt8, credits: UInt8? = nil, _ information: [UInt8] = []) -> RFCOMMAction {
        .send(
            RFCOMMFrame(
                .uih, dlci: dlci, commandResponse: role == .initiator, pollFinal: credits != nil, credits: credits,
                information: information
            ).octets)
    }

    func message(_ message: RFCOMMCommand, isCommand: Bool) -> RFCOMMAction { data(0, message.octets(isCommand: isCommand)) }

    /// Sends queued data as far as allowed.
    mutating func pump(_ dlci: UInt8) -> [RFCOMMAction] {
        guard var link = links[dlci] else { return [] }
        var actions: [RFCOMMAction] = []
        while let information = link.next(isStopped: isStopped, ignoresCredits: settings.quirks.ignoresCredits) {
            actions.append(data(dlci, information))
        }
        if link.wasFull, link.queued <= settings.queueLimit / 2 {
            link.wasFull = false
            actions.append(.writable(dlci: dlci))
        }
        links[dlci] = link
        return actions
    }

    // MARK: Connections

    /// Sends PN before SABM to negotiate credits and frame size. RFCOMM 1.2, 5.5.3.
    mutating func negotiate(_ dlci: UInt8, at now: Microseconds) -> [RFCOMMAction] {
        links[dlci]?.phase = .awaitParameters
        links[dlci]?.deadline = nil
        let parameters = RFCOMM.PNCmd(
            dlci: dlci, convergenceLayer: settings.usesCredits ? RFCOMMParameters.asksForCredits : 0,
            maximumFrameSize: UInt16(settings.frameSize), initialCredits: settings.usesCredits ? UInt8(settings.initialCredits) : 0)
        return ask(.parameterNegotiation(parameters), at: now)
    }

    mutating func opened(_ dlci: UInt8, at now: Microseconds) -> [RFCOMMAction] {
        links[dlci]?.phase = .open
        links[dlci]?.deadline = nil
        return [.opened(dlci: dlci)] + ask(.modemStatus(dlci: dlci, .ready), at: now)
    }

    mutating func disconnect(_ dlci: UInt8, _ why: RFCOMMEnd, at now: Microseconds) -> [RFCOMMAction] {
        links[dlci]?.phase = .awaitDisconnect(why)
        links[dlci]?.deadline = now + settings.acknowledgementTimeOut
        awaited.removeAll { $0.dlci == dlci }
        return [command(.disc, dlci)]
    }

    /// Removes a closed connection. The device that closes the last one closes the session. RFCOMM 1.2, 5.2.2.
    mutating func gone(_ dlci: UInt8, _ why: RFCOMMEnd, at now: Microseconds) -> [RFCOMMAction] {
        links[dlci] = nil
        awaited.removeAll { $0.dlci == dlci }
        let closed = RFCOMMAction.closed(dlci: dlci, why)
        guard links.isEmpty, why != .remote else { return [closed] }
        return [closed] + close(at: now)
    }

    mutating func end(_ why: RFCOMMEnd) -> [RFCOMMAction] {
        guard state != .ended else { return [] }
        let closed = links.keys.sorted().map { RFCOMMAction.closed(dlci: $0, why) }
        state = .ended
        links = [:]
        awaited = []
        controlDeadline = nil
        return closed + [.ended(why)]
    }
}
