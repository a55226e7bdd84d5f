import BBL2CAP
import BBPackets
import BBTiming

/// The state machine of a BR/EDR link's signalling channel and connection-oriented channels. Core Vol 3, Part A, 4 to 7.
struct ClassicSignaling {
    enum Action: Equatable {
        case send([UInt8])
        /// The peer requests a channel; `decide` answers.
        case requested(cid: UInt16, psm: UInt16)
        /// The channel is open, or continues with new terms.
        case opened(ChannelTerms)
        /// The channel has ended; reported once, to its owner or to the caller that requested it.
        case closed(cid: UInt16, ChannelEnd)
        /// The peer's fixed channels, one bit each; 0 if the peer does not report them.
        case fixedChannels(UInt64)
        /// The peer's features, which the host has asked for; nil if the peer does not report them.
        case features(ExtendedFeatures?)
        /// True if the peer has answered the host's echo request.
        case echoed(Bool)
        case creditBased(CreditBasedSignaling.Action)
    }

    /// The answer to the peer's request for a channel.
    enum Decision: Equatable {
        case accept(ClassicChannelSettings)
        /// Pending with this status: 1 authentication, 2 authorization. Core Vol 3, Part A, 4.3.
        case pending(status: UInt16)
        case refuse(ConnectionResult)
    }

    struct Settings: Equatable {
        var features: ExtendedFeatures = [
            .enhancedRetransmission, .streaming, .fcsOption, .fixedChannels, .extendedWindowSize, .enhancedCreditBased,
        ]
        /// One bit for each fixed channel: signalling and security manager. Core Vol 3, Part A, 4.13.
        var fixedChannels: UInt64 = 1 << 1 | 1 << 7
        /// The longest signalling PDU that this side accepts; at least 48. Core Vol 3, Part A, 4.
        var signalingMTU = 672
        var mostChannels = 64
        /// RTX: 1...60 s. Core Vol 3, Part A, 6.2.1.
        var responseTimeOut = Microseconds.seconds(20)
        /// ERTX: 60...300 s. Core Vol 3, Part A, 6.2.2.
        var extendedResponseTimeOut = Microseconds.seconds(120)
        /// The longest duration of a configuration. Core Vol 3, Part A, 7.1.
        var configurationTimeOut = Microseconds.seconds(120)
    }

    /// The state of the query for the peer's features.
    enum PeerFeatures: Equatable {
        case unknown
        case awaitResponse(identifier: UInt8, deadline: Microseconds)
        case known(ExtendedFeatures)
    }

    let settings: Settings
    /// The channels in the order in which they were requested.
    var channels: [ClassicChannel] = []
    /// Channels in enhanced credit-based flow control mode. Core Vol 3, Part A, 4.25 to 4.28.
    private(set) var creditBased = CreditBasedSignaling(cids: CID.dynamic)
    var peerFeatures = PeerFeatures.unknown
    /// The outstanding request for the peer's fixed channels.
    var fixedChannelsRequest: (identifier: UInt8, deadline: Microseconds)?
    /// The outstanding echo request.
    var echoRequest: (identifier: UInt8, deadline: Microseconds)?
    /// True if the host waits for the peer's features.
    private var reportsFeatures = false
    var identifiers = SignalingIdentifiers()

    init(_ settings: Settings = Settings()) { self.settings = settings }

    /// The time at which to call `expire`.
    var deadline: Microseconds? {
        var deadlines = channels.compactMap(\.deadline)
        if case .awaitResponse(_, let deadline) = peerFeatures { deadlines.append(deadline) }
        deadlines += [fixedChannelsRequest, echoRequest].compactMap { $0?.deadline }
        if let deadline = creditBased.deadline { deadlines.append(deadline) }
        return deadlines.min()
    }

    // MARK: Calls of the host

    /// Requests a channel from the peer.
    ///
    /// - Returns: this side's channel identifier; nil if there are too many channels.
    mutating func connect(psm: UInt16, _ wanted: ClassicChannelSettings, at now: Microseconds) -> (cid: UInt16?, actions: [Action]) {
        guard let cid = freeCID else { return (nil, []) }
        var channel = ClassicChannel(
            localCID: cid, remoteCID: 0, psm: psm, state: .awaitConnectionResponse,
            configuration: ChannelConfiguration(wanted, features: settings.features))
        let command = L2CAPSignaling.ConnectionReq(psm: psm, sourceCID: cid)
        let actions = askFeatures(for: wanted, at: now) + [send(command, for: &channel, at: now)]
        channels.append(channel)
        return (cid, actions)
    }

    /// Answers the peer's request for a channel.
    mutating func decide(_ cid: UInt16, _ decision: Decision, at now: Microseconds) -> [Action] {
        guard let index = index(of: cid), case .awaitDecision(let identifier) = channels[index].state else { return [] }
        var response = L2CAPSignaling.ConnectionRsp(destinationCID: cid, sourceCID: channels[index].remoteCID)
        switch decision {
        case .accept(let wanted):
            channels[index].configuration = ChannelConfiguration(wanted, features: settings.features)
            channels[index].state = .configuration
            channels[index].configurationDeadline = now + settings.configurationTimeOut
            return [.send(response.bytes(identifier: identifier))] + askFeatures(for: wanted, at: now) + propose(index, at: now)
        case .pending(let status):
            (response.result, response.status) = (.pending, status)
        case .refuse(let result):
            response.result = result
            response.destinationCID = 0
            channels.remove(at: index)
        }
        return [.send(response.bytes(identifier: identifier))]
    }

    mutating func disconnect(_ cid: UInt16, at now: Microseconds) -> [Action] {
        guard let index = index(of: cid) else { return [] }
        return leave(index, .byThisSide, at: now)
    }

    /// Reconfigures an open channel; data may continue meanwhile.
    mutating func reconfigure(_ cid: UInt16, at now: Microseconds) -> [Action] {
        guard let index = index(of: cid), channels[index].state == .open else { return [] }
        reopen(index, at: now)
        return propose(index, at: now)
    }

    /// Ends all channels because the link has ended; the owner of the credit-based ones ends them itself.
    mutating func linkEnded(_ end: ChannelEnd = .timedOut) -> [Action] {
        let ended = channels.filter { $0.state != .awaitDisconnectionResponse }
        channels.removeAll()
        peerFeatures = .unknown
        (fixedChannelsRequest, echoRequest, reportsFeatures) = (nil, nil, false)
        creditBased = CreditBasedSignaling(cids: CID.dynamic)
        return ended.map { .closed(cid: $0.localCID, end) }
    }

    // MARK: Time

    mutating func expire(at now: Microseconds) -> [Action] {
        var actions: [Action] = []
        if case .awaitResponse(_, let deadline) = peerFeatures, deadline <= now { actions += learned(nil, at: now) }
        if let request = fixedChannelsRequest, request.deadline <= now { actions += learnedFixedChannels(0) }
        if let request = echoRequest, request.deadline <= now { actions += echoed(false) }
        actions += withCreditBased { $0.expire(at: now) }
        for cid in channels.filter({ $0.deadline.map { $0 <= now } ?? false }).map(\.localCID) {
            guard let index = index(of: cid) else { continue }
            switch channels[index].state {
            // The peer's CID is unknown, so there is nothing to disconnect.
            case .awaitConnectionResponse, .awaitDecision: actions += drop(index, .timedOut)
            case .awaitDisconnectionResponse: channels.remove(at: index)
            case .configuration, .open: actions += leave(index, .timedOut, at: now)
            }
        }
        return actions
    }

    // MARK: Channels

    func index(of cid: UInt16) -> Int? { channels.firstIndex { $0.localCID == cid } }

    var freeCID: UInt16? {
        guard channels.count < settings.mostChannels else { return nil }
        let used = Set(channels.map(\.localCID) + creditBased.endpoints.map(\.localCID))
        return CID.dynamic.first { !used.contains($0) }
    }

    /// Sends a request and starts RTX for its response.
    mutating func send(_ command: some L2CAPSignalingPDU, for channel: inout ClassicChannel, at now: Microseconds) -> Action {
        let identifier = identifiers.next()
        channel.request = identifier
        channel.responseDeadline = now + settings.responseTimeOut
        return .send(command.bytes(identifier: identifier))
    }

    mutating func send(_ command: some L2CAPSignalingPDU, for index: Int, at now: Microseconds) -> Action {
        var channel = channels[index]
        defer { channels[index] = channel }
        return send(command, for: &channel, at: now)
    }

    /// Removes the channel without signalling.
    mutating func drop(_ index: Int, _ end: ChannelEnd) -> [Action] {
        [.closed(cid: channels.remove(at: index).localCID, end)]
    }

    /// Ends a channel with a disconnection request.
    mutating func leave(_ index: Int, _ end: ChannelEnd, at now: Microseconds) -> [Action] {
        switch channels[index].state {
        case .awaitDisconnectionResponse: return []
        case .awaitConnectionResponse: return drop(index, end)
        case .awaitDecision(let identifier):
            let response = L2CAPSignaling.ConnectionRsp(sourceCID: channels[index].remoteCID, result: .refusedNoResources)
            return [.send(response.bytes(identifier: identifier))] + drop(index, end)
        case .configuration, .open:
            channels[index].state = .awaitDisconnectionResponse
            channels[index].configurationDeadline = nil
            let command = L2CAPSignaling.DisconnectionReq(
                destinationCID: channels[index].remoteCID, sourceCID: channels[index].localCID)
            return [send(command, for: index, at: now), .closed(cid: channels[index].localCID, end)]
        }
    }

    /// True if the peer has a channel with this CID.
    func isTaken(_ remoteCID: UInt16) -> Bool {
        channels.contains { $0.remoteCID == remoteCID } || creditBased.endpoints.contains { $0.remoteCID == remoteCID }
    }

    /// Calls a function of the credit-based channels, which have the same identifiers and CIDs, and returns the resulting actions.
    mutating func withCreditBased(_ body: (inout CreditBasedSignaling) -> [CreditBasedSignaling.Action]) -> [Action] {
        creditBased.identifiers = identifiers
        creditBased.others = (Set(channels.map(\.localCID)), Set(channels.map(\.remoteCID)))
        let actions = body(&creditBased)
        identifiers = creditBased.identifiers
        return actions.map { if case .send(let pdu) = $0 { .send(pdu) } else { .creditBased($0) } }
    }

    // MARK: Configuration

    mutating func reopen(_ index: Int, at now: Microseconds) {
        channels[index].state = .configuration
        channels[index].configurationDeadline = now + settings.configurationTimeOut
        channels[index].configuration.reopen()
    }

    /// Sends this side's proposal once the peer's features are known, if the proposal depends on them.
    mutating func propose(_ index: Int, at now: Microseconds) -> [Action] {
        guard channels[index].state == .configuration, channels[index].configuration.isIdle, channels[index].request == nil else {
            return []
        }
        switch peerFeatures {
        case .awaitResponse: if channels[index].configuration.mode != .basic { return [] }
        case .unknown: break
        case .known(let features): channels[index].configuration.peerFeatures = features
        }
        let step = channels[index].configuration.propose()
        return proceed(index, step, at: now)
    }

    mutating func proceed(_ index: Int, _ step: ChannelConfiguration.Step, at now: Microseconds) -> [Action] {
        switch step {
        case .wait: return []
        case .request(let flags, let options):
            let command = L2CAPSignaling.ConfigurationReq(
                destinationCID: channels[index].remoteCID, flags: flags, configurationOptions: options)
            return [send(command, for: index, at: now)]
        case .agreed: return openIfComplete(index)
        case .fail(let result): return leave(index, .notConfigured(result), at: now)
        }
    }

    mutating func openIfComplete(_ index: Int) -> [Action] {
        guard channels[index].state == .configuration, channels[index].configuration.isComplete else { return [] }
        channels[index].state = .open
        channels[index].hasOpened = true
        channels[index].configurationDeadline = nil
        return [.opened(channels[index].terms)]
    }

    // MARK: Features

    /// Requests the peer's features, which modes other than basic depend on. Core Vol 3, Part A, 4.10.
    private mutating func askFeatures(for wanted: ClassicChannelSettings, at now: Microseconds) -> [Action] {
        guard wanted.mode != .basic, peerFeatures == .unknown else { return [] }
        return askFeatures(at: now)
    }

    /// Requests the peer's features for the host.
    mutating func reportFeatures(at now: Microseconds) -> [Action] {
        reportsFeatures = true
        if case .awaitResponse = peerFeatures { return [] }
        return askFeatures(at: now)
    }

    private mutating func askFeatures(at now: Microseconds) -> [Action] {
        let identifier = identifiers.next()
        peerFeatures = .awaitResponse(identifier: identifier, deadline: now + settings.responseTimeOut)
        let command = L2CAPSignaling.InformationReq(infoType: InformationType.extendedFeatures)
        return [.send(command.bytes(identifier: identifier))]
    }

    /// Requests the list of the peer's fixed channels. Core Vol 3, Part A, 4.13.
    mutating func askFixedChannels(at now: Microseconds) -> [Action] {
        guard fixedChannelsRequest == nil else { return [] }
        let identifier = identifiers.next()
        fixedChannelsRequest = (identifier, now + settings.responseTimeOut)
        return [.send(L2CAPSignaling.InformationReq(infoType: InformationType.fixedChannels).bytes(identifier: identifier))]
    }

    mutating func learnedFixedChannels(_ mask: UInt64) -> [Action] {
        fixedChannelsRequest = nil
        return [.fixedChannels(mask)]
    }

    /// Sends an echo request. Core Vol 3, Part A, 4.8.
    mutating func askEcho(_ octets: [UInt8], at now: Microseconds) -> [Action] {
        guard echoRequest == nil else { return [] }
        let identifier = identifiers.next()
        echoRequest = (identifier, now + settings.responseTimeOut)
        return [.send(L2CAPSignaling.EchoReq(echoData: octets).bytes(identifier: identifier))]
    }

    mutating func echoed(_ isAnswered: Bool) -> [Action] {
        echoRequest = nil
        return [.echoed(isAnswered)]
    }

    /// Records the peer's features; a peer that does not report them has none.
    mutating func learned(_ features: ExtendedFeatures?, at now: Microseconds) -> [Action] {
        peerFeatures = .known(features ?? [])
        let reports: [Action] = reportsFeatures ? [.features(features)] : []
        reportsFeatures = false
        return reports + channels.map(\.localCID).flatMap { cid in index(of: cid).map { propose($0, at: now) } ?? [] }
    }
}
