import Packets

/// What both ends of a new link know from the page.
struct BasebandLinkParameters {
    var role: LinkRole
    /// Of the central, to which access code and hopping sequence belong.
    var central: BDADDR
    /// CLK.
    var clock: NativeClock
    /// 1...7.
    var ltAddr: UInt8
    /// When the central's first packet is due.
    var start: Microseconds
    var own: BDADDR
    /// CLKN.
    var native: NativeClock
    var quirks: BREDRQuirks = []
}

/// The state of a link at one end. It changes by `BasebandChange`, and as packets come and go.
struct BasebandLinkState {
    private(set) var role: LinkRole
    private(set) var central: BDADDR
    private(set) var clock: NativeClock
    private(set) var ltAddr: UInt8
    let own: BDADDR
    let native: NativeClock
    private let quirks: BREDRQuirks
    private(set) var choice = PacketChoice()
    private(set) var protection = PayloadProtection()
    private(set) var channelMap: AdaptedChannelMap?
    /// In sniff mode.
    private(set) var sniff: SniffSchedule?
    var exchange = SlotExchange()
    /// T_poll. Core Vol 2, Part B, 4.2 and Part C, 4.1.8.
    private(set) var pollInterval: Microseconds = NativeClock.slot * 40
    /// Core Vol 2, Part B, 3.1.
    private(set) var supervisionTimeout: Microseconds = NativeClock.slot * 0x7D00
    /// When a packet of the other side last came, or the link began.
    private(set) var lastHeard: Microseconds
    /// Whether the other side has been heard at all.
    private(set) var isEstablished = false
    /// The start of the last exchange.
    var lastExchange: Microseconds
    /// Whether the last packet had a payload: then more may come at once, and it wants its acknowledgement.
    private(set) var peerIsSending = false

    /// Turns since the other side was heard.
    private var silentTurns = 0
    /// How many of them a side that was sending may have before it is polled as an idle one.
    private static let timeout = 4

    init(_ parameters: BasebandLinkParameters) {
        role = parameters.role
        central = parameters.central
        clock = parameters.clock
        ltAddr = parameters.ltAddr
        own = parameters.own
        native = parameters.native
        quirks = parameters.quirks
        exchange.quirks = parameters.quirks
        if quirks.contains(.ignoresPollInterval) { pollInterval = pollInterval * 10 }
        lastHeard = parameters.start
        lastExchange = parameters.start
    }

    var supervisionDeadline: Microseconds { supervisionTimeout == .zero ? .never : lastHeard + supervisionTimeout }

    /// How long the link may do without a turn.
    var turnInterval: Microseconds { max(pollInterval, sniff?.interval ?? .zero) }

    /// Makes a change that has no instant.
    ///
    /// - Parameter now: from when on it holds.
    mutating func apply(_ change: BasebandChange, at now: Microseconds) {
        switch change {
        case .supervisionTimeout(let slots): supervisionTimeout = NativeClock.slot * Int(slots)
        case .polling(let interval, _):
            pollInterval = NativeClock.slot * max(2, Int(interval) & ~1) * (quirks.contains(.ignoresPollInterval) ? 10 : 1)
        case .packetTypes(let types): if !quirks.contains(.sendsForbiddenTypes) { choice.types = types }
        case .packetTypeTable(let table): choice.table = table
        case .maximumSlots(let slots): choice.maximumSlots = Int(slots)
        case .encryption(let encryption, let direction): protection.apply(encryption, direction)
        case .holdsData(let isHeld): exchange.holdData(isHeld)
        case .channelMap(let map, _): channelMap = map
        case .sniff(let parameters): sniff = parameters.map { SniffSchedule($0, from: centralTick(from: now)) }
        case .roleSwitch, .synchronous: break
        }
    }

    // MARK: Roles. Core Vol 2, Part B, 8.6.5

    /// Takes part in another piconet; sequence numbers, packet types and hopping begin anew.
    mutating func join(role: LinkRole, central: BDADDR, clock: NativeClock, ltAddr: UInt8, now: Microseconds) {
        (self.role, self.central, self.clock, self.ltAddr) = (role, central, clock, ltAddr)
        channelMap = nil
        sniff = nil
        choice.table = .basic
        isEstablished = false
        peerIsSending = false
        lastExchange = now
        exchange.restart()
    }

    /// The central's packet tells where its slots lie.
    mutating func synchronise(to start: Microseconds, in tick: Int) { clock = NativeClock(showing: tick, at: start) }

    /// The piconet of before, with what has been queued since.
    mutating func fallBack(to before: BasebandLinkState) {
        let queued = exchange
        self = before
        exchange = queued
        exchange.restart()
    }

    // MARK: Slots. Core Vol 2, Part B, 2.2.3 and 2.6

    /// The first slot of the central that starts at `time` or later; its number of ticks.
    func centralTick(from time: Microseconds) -> Int {
        let tick = clock.tick(at: time)
        let next = (clock.start(of: tick) < time ? tick + 4 : tick + 3) & ~3
        return next
    }

    /// The first slot of the central from `time` on in which the two ends may meet.
    func turn(from time: Microseconds) -> Int {
        let tick = centralTick(from: time)
        return sniff?.next(from: tick) ?? tick
    }

    /// When a central with nothing to send polls.
    ///
    /// - Parameter tick: its next turn.
    func poll(from tick: Int) -> Int {
        let poll = max(tick, centralTick(from: lastExchange + pollInterval))
        guard let sniff else { return poll }
        guard sniff.anchors.first <= tick else { return min(poll, sniff.anchors.first) }
        return sniff.poll(from: tick, lastHeard: clock.tick(at: lastHeard))
    }

    /// In sniff mode, data of either side keeps the other listening.
    mutating func note(_ type: BREDRPacketType, in tick: Int) {
        if sniff != nil, type.format.hasCRC { sniff?.noteData(in: tick...(tick + 2 * (type.slots - 1))) }
    }

    /// The RF channel of a packet that starts in a tick.
    ///
    /// - Parameter answered: the tick in which the packet started that it answers; with the adapted sequence it has the same channel.
    func channel(in tick: Int, answering answered: Int? = nil) -> UInt8 {
        guard let channelMap else {
            return HopSelection.basicChannel(clock: NativeClock.value(of: tick), address: central.hopAddress)
        }
        return HopSelection.adaptedChannel(clock: NativeClock.value(of: answered ?? tick), address: central.hopAddress, map: channelMap)
    }

    func tuning(_ channel: UInt8) -> BREDRTuning { BREDRTuning(rfChannel: channel, lap: central.lap) }

    // MARK: Packets

    /// A packet of the piconet, whatever it will be.
    func packet(in tick: Int, answering answered: Int?) -> BREDRPacket {
        BREDRPacket(
            rfChannel: channel(in: tick, answering: answered), lap: central.lap, uap: central.uap,
            whitening: Whitening(clock: NativeClock.value(of: tick)), isFromCentral: role == .central)
    }

    /// A packet of this side: data that waits, or else POLL of a central and NULL of a peripheral.
    ///
    /// - Parameter slots: the most that it may take.
    mutating func packet(in tick: Int, answering answered: Int? = nil, slots: Int) -> BREDRPacket {
        let outgoing = exchange.next(choice, slots: slots, &protection, isCentral: role == .central)
        var packet = packet(in: tick, answering: answered)
        packet.isSealed = outgoing?.isSealed ?? false
        packet.type = outgoing?.type ?? (role == .central ? .poll : .null)
        packet.ltAddr = ltAddr
        packet.flow = true
        packet.arqn = exchange.takeAcknowledgement()
        packet.seqn = exchange.seqn
        packet.payload = outgoing?.payload ?? []
        protection.encrypt(&packet, clock: NativeClock.value(of: tick))
        return packet
    }

    /// What came of a packet.
    struct Taken {
        var acknowledged: OutgoingPDU?
        /// New user data or a new message, with its LLID.
        var payload: (data: ArraySlice<UInt8>, llid: UInt8)?
        var isMICWrong = false
    }

    /// Takes a packet of the other side whose header came right.
    mutating func take(_ reception: BREDRReception) -> Taken {
        let packet = reception.packet
        isEstablished = true
        lastHeard = reception.start
        silentTurns = 0
        var taken = Taken(acknowledged: exchange.received(packet))
        guard let format = packet.type?.format, format.hasCRC, packet.type != .fhs else {
            peerIsSending = false
            return taken
        }
        peerIsSending = true
        let clock = NativeClock.value(of: clock.tick(at: reception.start))
        let payload = reception.isIntact ? protection.decrypt(packet, clock: clock) : nil
        guard exchange.received(payloadWith: packet.seqn, isIntact: payload != nil), let payload,
            let header = BREDRPayloadHeader(payload, count: format.header)
        else { return taken }
        let llid = header.logicalLink.rawValue
        let data = payload[format.header...].prefix(header.length)
        guard let opened = protection.open(data, llid: llid, isCentral: role == .central) else {
            taken.isMICWrong = true
            return taken
        }
        taken.payload = (opened, llid)
        return taken
    }

    /// A packet of a synchronous transport came.
    mutating func heard(at start: Microseconds) { lastHeard = start }

    /// Nothing of the other side came where it was due; it may still have more to send.
    mutating func heardNothing() {
        silentTurns += 1
        if silentTurns >= Self.timeout { peerIsSending = false }
    }
}
