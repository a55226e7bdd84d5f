import BBPackets

/// Parameters of a new link that both ends know from the page procedure.
struct BasebandLinkParameters {
    var role: LinkRole
    /// BD_ADDR of the central, which determines access code and hopping sequence.
    var central: BDADDR
    /// CLK of the piconet.
    var clock: NativeClock
    /// LT_ADDR, 1...7.
    var ltAddr: UInt8
    /// Start of the central's first packet.
    var start: Microseconds
    var own: BDADDR
    /// CLKN of this device.
    var native: NativeClock
    var quirks: BREDRQuirks = []
}

/// State of one end of a link. It changes with `BasebandChange` and with each packet sent or received.
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
    /// Number of transmissions with a MIC to spoil, as an injected fault.
    var spoiledMICs = 0
    private(set) var channelMap: AdaptedChannelMap?
    /// Sniff mode schedule; nil in active mode.
    private(set) var sniff: SniffSchedule?
    var exchange = SlotExchange()
    /// T_poll. Core Vol 2, Part B, 4.2 and Part C, 4.1.8.
    private(set) var pollInterval: Microseconds = NativeClock.slot * 40
    /// Link supervision timeout. Core Vol 2, Part B, 3.1.
    private(set) var supervisionTimeout: Microseconds = NativeClock.slot * 0x7D00
    /// Time of the last packet from the peer, or of the start of the link.
    private(set) var lastHeard: Microseconds
    /// True once a packet of the peer has been received.
    private(set) var isEstablished = false
    /// Start of the last exchange.
    var lastExchange: Microseconds
    /// True if the peer's last packet had a payload: more may follow, and it needs an acknowledgement.
    private(set) var peerIsSending = false

    /// Turns since the last packet from the peer.
    private var silentTurns = 0
    private var micFailures = 0
    /// Number of silent turns after which a peer that was sending is polled as an idle one.
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

    /// Maximum time that the link can wait for a turn.
    var turnInterval: Microseconds { max(pollInterval, sniff?.interval ?? .zero) }

    /// Applies a change that has no instant.
    ///
    /// - Parameter now: time from which it is valid.
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

    /// Joins another piconet; sequence numbers, packet types and hopping are reset.
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

    /// Adjusts the piconet clock to a packet received from the central.
    mutating func synchronise(to start: Microseconds, in tick: Int) { clock = NativeClock(showing: tick, at: start) }

    /// Returns to the previous piconet and keeps the data queued since.
    mutating func fallBack(to before: BasebandLinkState) {
        let queued = exchange
        self = before
        exchange = queued
        exchange.restart()
    }

    // MARK: Slots. Core Vol 2, Part B, 2.2.3 and 2.6

    /// Tick of the first central-to-peripheral slot at or after `time`.
    func centralTick(from time: Microseconds) -> Int {
        let tick = clock.tick(at: time)
        let next = (clock.start(of: tick) < time ? tick + 4 : tick + 3) & ~3
        return next
    }

    /// Tick of the first central-to-peripheral slot at or after `time` in which the peripheral listens.
    func turn(from time: Microseconds) -> Int {
        let tick = centralTick(from: time)
        return sniff?.next(from: tick) ?? tick
    }

    /// Tick of the next poll by a central that has no data.
    ///
    /// - Parameter tick: the central's next turn.
    func poll(from tick: Int) -> Int {
        let poll = max(tick, centralTick(from: lastExchange + pollInterval))
        guard let sniff else { return poll }
        guard sniff.anchors.first <= tick else { return min(poll, sniff.anchors.first) }
        return sniff.poll(from: tick, lastHeard: clock.tick(at: lastHeard))
    }

    /// Records data traffic: in sniff mode, data in either direction keeps the peer listening.
    mutating func note(_ type: BREDRPacketType, in tick: Int) {
        if sniff != nil, type.format.hasCRC { sniff?.noteData(in: tick...(tick + 2 * (type.slots - 1))) }
    }

    /// The RF channel of a packet that starts in a tick.
    ///
    /// - Parameter answered: start of the packet that this one replies to; the adapted sequence uses the same channel for both.
    func channel(in tick: Int, answering answered: Int? = nil) -> UInt8 {
        guard let channelMap else {
            return HopSelection.basicChannel(clock: NativeClock.value(of: tick), address: central.hopAddress)
        }
        return HopSelection.adaptedChannel(clock: NativeClock.value(of: answered ?? tick), address: central.hopAddress, map: channelMap)
    }

    func tuning(_ channel: UInt8) -> BREDRTuning { BREDRTuning(rfChannel: channel, lap: central.lap) }

    // MARK: Packets

    /// A packet with the access code, channel and whitening of the piconet.
    func packet(in tick: Int, answering answered: Int?) -> BREDRPacket {
        BREDRPacket(
            rfChannel: channel(in: tick, answering: answered), lap: central.lap, uap: central.uap,
            whitening: Whitening(clock: NativeClock.value(of: tick)), isFromCentral: role == .central)
    }

    /// The next packet to send: queued data, otherwise POLL from a central or NULL from a peripheral.
    ///
    /// - Parameter slots: maximum number of slots.
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
        if packet.isSealed, spoiledMICs > 0, let last = packet.payload.indices.last {
            spoiledMICs -= 1
            packet.payload[last] ^= 1
        }
        protection.encrypt(&packet, clock: NativeClock.value(of: tick))
        return packet
    }

    /// Result of receiving a packet.
    struct Taken {
        var acknowledged: OutgoingPDU?
        /// New user data or a new LMP message, with its LLID.
        var payload: (data: ArraySlice<UInt8>, llid: UInt8)?
        /// Payloads with a wrong MIC received in succession.
        var micFailures = 0
    }

    /// Handles a packet whose header is correct.
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
            exchange.refuse()
            micFailures += 1
            taken.micFailures = micFailures
            return taken
        }
        if llid != LLID.control { micFailures = 0 }
        taken.payload = (opened, llid)
        return taken
    }

    /// Records a packet received on a synchronous transport.
    mutating func heard(at start: Microseconds) { lastHeard = start }

    /// Records that no packet of the peer arrived when one was due.
    mutating func heardNothing() {
        silentTurns += 1
        if silentTurns >= Self.timeout { peerIsSending = false }
    }
}
