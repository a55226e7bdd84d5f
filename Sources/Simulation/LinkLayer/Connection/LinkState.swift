import BluetoothCrypto
import Packets

/// The state of a link at one end: what both ends agreed on, and what this one knows of the other. It changes by `LinkChange`, and as events come and go.
struct LinkState {
    let role: ConnectionParameters.Role
    /// What this controller is and is able to do.
    let configuration: ControllerConfiguration
    var timing: EventTiming
    private(set) var channels: LinkChannels
    private(set) var phys: LinkPHYs
    private(set) var lengths: DataLengths
    var encryption: LinkEncryption
    private(set) var peer = PeerKnowledge()
    /// LL_VERSION_IND is sent once in a link's life.
    private(set) var hasSentVersion = false
    /// What the procedures that run may bring into use.
    var pendingParameters: [PendingParameters] = [] { didSet { updatePayloadLimit() } }
    /// The most data octets of a PDU sent now.
    private(set) var payloadLimit = 27

    /// - Parameter secrets: of what this side adds to session keys.
    init(
        _ parameters: ConnectionParameters, _ configuration: ControllerConfiguration, _ defaults: LinkDefaults, now: Microseconds,
        secrets: SecretSource
    ) {
        role = parameters.role
        self.configuration = configuration
        timing = EventTiming(parameters, configuration, now: now)
        channels = LinkChannels(parameters)
        encryption = LinkEncryption(parameters, secrets: secrets, quirks: configuration.quirks.encryption)
        phys = LinkPHYs(
            transmit: parameters.phy, receive: parameters.phy, preferredTx: defaults.txPHYs, preferredRx: defaults.rxPHYs)
        lengths = DataLengths(configuration, defaults: defaults, phy: parameters.phy)
        _ = updateLengths()
        updatePayloadLimit()
    }

    /// Makes a change.
    ///
    /// - Parameter instant: the event that it was scheduled for.
    /// - Returns: whether anything differs from before, and what the host is to hear of it beside the result of the procedure.
    mutating func apply(_ change: LinkChange, at instant: Int?) -> (isChanged: Bool, reports: [LinkReport]) {
        defer { updatePayloadLimit() }
        switch change {
        case .timing(let new):
            let isChanged = timing.change(to: new, at: instant ?? timing.eventCounter)
            return (isChanged, updateLengths())
        case .channelMap(let map):
            defer { channels.map = map }
            return (map != channels.map, [])
        case .phys(let transmit, let receive):
            let before = (phys.transmit, phys.receive)
            phys.transmit = transmit ?? phys.transmit
            phys.receive = receive ?? phys.receive
            return (before != (phys.transmit, phys.receive), updateLengths())
        case .preferredPHYs(let tx, let rx):
            phys.preferredTx = tx
            phys.preferredRx = rx
        case .codedPreference(let prefersS2): phys.prefersS2 = prefersS2
        case .localLengths(let octets, let time):
            lengths.setLocal(octets: octets, time: time, configuration)
            return (true, updateLengths())
        case .peerLengths(let reported):
            lengths.setRemote(reported)
            let reports = updateLengths()
            return (!reports.isEmpty, reports)
        case .peerFeatures(let features): peer.features = features
        case .peerVersion(let version): peer.version = version
        case .versionSent: hasSentVersion = true
        case .encryption(let step): encryption.apply(step)
        }
        return (true, [])
    }

    // MARK: Packets

    /// The PHY and coding of what this side sends.
    var airPHY: AirPHY { AirPHY(phys.transmit, prefersS2: phys.prefersS2 ?? configuration.prefersS2) }

    /// Time on the air of a PDU of this side, its MIC included in the length.
    func airTime(_ length: Int) -> Microseconds {
        airPHY.airTime(payload: length, crcOctets: configuration.quirks.crcOctets)
    }

    /// Time on the air of the longest packet that the other side may send.
    var longestReply: Microseconds {
        let phy = AirPHY(phys.receive, prefersS2: false)
        let octets = Int(lengths.effective.maxRxOctets)
        return min(
            phy.airTime(payload: octets + encryption.receivedMICLength),
            max(Microseconds(Int(lengths.effective.maxRxTime)), phy.airTime(payload: 0)))
    }

    /// The least that one exchange takes which the other side begins.
    var shortestExchange: Microseconds {
        AirPHY(phys.receive, prefersS2: true).airTime(payload: 0) + airTime(0) + interFrameSpace * 2
    }

    private mutating func updateLengths() -> [LinkReport] {
        lengths.update(interval: timing.interval, transmitPHY: phys.transmit, receivePHY: phys.receive) ? [.dataLength] : []
    }

    /// A PDU may have to be sent again after the change that a procedure brings, so it suits both. Core Vol 6, Part B, 5.1.7.4 and 5.1.10.1.
    private mutating func updatePayloadLimit() {
        payloadLimit = longestPayload(phys.transmit, phys.receive, timing.interval)
        for pendingParameters in pendingParameters {
            for transmit in PHY.allCases where transmit == phys.transmit || pendingParameters.transmitPHYs.contains(transmit.flag) {
                for receive in PHY.allCases where receive == phys.receive || pendingParameters.receivePHYs.contains(receive.flag) {
                    for interval in [timing.interval, pendingParameters.interval ?? timing.interval] {
                        payloadLimit = min(payloadLimit, longestPayload(transmit, receive, interval))
                    }
                }
            }
        }
    }

    private func longestPayload(_ transmit: PHY, _ receive: PHY, _ interval: Microseconds) -> Int {
        let times = lengths.times(interval: interval, transmitPHY: transmit, receivePHY: receive)
        let phy = AirPHY(transmit, prefersS2: phys.prefersS2 ?? configuration.prefersS2)
        return max(1, min(Int(lengths.effective.maxTxOctets), phy.payload(within: Microseconds(times.transmit)) - encryption.sentMICLength))
    }
}

/// What a procedure may bring into use at its end.
struct PendingParameters: Equatable {
    var transmitPHYs: PHYs = []
    var receivePHYs: PHYs = []
    var interval: Microseconds?
}

/// Which channels the link hops over.
struct LinkChannels {
    fileprivate(set) var map: ChannelMap
    private let selection: ChannelSelection

    init(_ parameters: ConnectionParameters) {
        map = parameters.channelMap
        selection =
            parameters.usesAlgorithm2
            ? .algorithm2(ChannelSelectionAlgorithm2(accessAddress: parameters.accessAddress))
            : .algorithm1(ChannelSelectionAlgorithm1(hopIncrement: parameters.hopIncrement))
    }

    func channel(of event: Int) -> ChannelIndex { selection.channel(event: event, map: map) }
}

/// The PHYs in use, and what the host would rather have.
struct LinkPHYs {
    fileprivate(set) var transmit: PHY
    fileprivate(set) var receive: PHY
    /// LE_Set_PHY's masks, at first LE_Set_Default_PHY's; empty is no preference.
    fileprivate(set) var preferredTx: PHYs
    fileprivate(set) var preferredRx: PHYs
    /// LE_Set_PHY's options: S2 (true), S8 (false), or the controller's choice.
    fileprivate(set) var prefersS2: Bool?
}

/// What this end has learnt of the other.
struct PeerKnowledge {
    /// Nil before a feature exchange.
    fileprivate(set) var features: LEFeatures?
    /// Nil before a version exchange.
    fileprivate(set) var version: RemoteVersion?

    /// Whether the other side is known to lack a feature.
    func lacks(_ feature: LEFeatures) -> Bool { features.map { $0.isDisjoint(with: feature) } ?? false }
}

/// A change of the link.
enum LinkChange: Equatable {
    case timing(LinkTiming)
    case channelMap(ChannelMap)
    /// Nil leaves a direction as it is.
    case phys(transmit: PHY?, receive: PHY?)
    case preferredPHYs(tx: PHYs, rx: PHYs)
    case codedPreference(prefersS2: Bool?)
    /// What this side is to send at most.
    case localLengths(octets: UInt16, time: UInt16)
    case peerLengths(DataLength)
    case peerFeatures(LEFeatures)
    case peerVersion(RemoteVersion)
    case versionSent
    case encryption(LinkEncryption.Step)
}

/// The contents of LL_CONNECTION_UPDATE_IND without its instant.
struct LinkTiming: Equatable {
    var windowSize: Microseconds
    var windowOffset: Microseconds
    var interval: Microseconds
    var latency: Int
    var timeout: Microseconds
}

/// News for the host.
enum LinkReport: Equatable {
    case updated(ErrorCode)
    case requested(RequestedParameters)
    case phy(ErrorCode)
    /// An effective data length has changed.
    case dataLength
    case features(LEFeatures, ErrorCode)
    case version(RemoteVersion, ErrorCode)
    /// Encryption has started, or could not.
    case encrypted(ErrorCode)
    /// The same for a link that was encrypted before.
    case keyRefreshed(ErrorCode)
    /// The other side wants the link encrypted with the key that these numbers name.
    case keyRequested(random: UInt64, diversifier: UInt16)
}
