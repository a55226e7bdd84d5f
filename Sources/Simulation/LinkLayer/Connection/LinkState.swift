import BBBluetoothCrypto
import BBPackets

/// State of one end of a link: parameters that both ends agreed on, and properties of the peer. It changes with `LinkChange` and with each
/// connection event.
struct LinkState {
    let role: ConnectionParameters.Role
    /// Capabilities of this controller.
    let configuration: ControllerConfiguration
    var timing: EventTiming
    private(set) var channels: LinkChannels
    private(set) var phys: LinkPHYs
    private(set) var lengths: DataLengths
    var encryption: LinkEncryption
    private(set) var peer = PeerKnowledge()
    /// LL_VERSION_IND is sent once per link.
    private(set) var hasSentVersion = false
    /// Parameters that running procedures may put into use.
    var pendingParameters: [PendingParameters] = [] { didSet { updatePayloadLimit() } }
    /// Maximum payload of a data PDU sent now, in octets.
    private(set) var payloadLimit = 27

    /// - Parameter secrets: source of this device's contributions to session keys.
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

    /// Applies a change.
    ///
    /// - Parameter instant: the event for which it was scheduled.
    /// - Returns: true if something has changed, and reports for the host besides the result of the procedure.
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

    /// PHY and coding of sent packets.
    var airPHY: AirPHY { AirPHY(phys.transmit, prefersS2: phys.prefersS2 ?? configuration.prefersS2) }

    /// Duration of a sent PDU, with the MIC included in the length.
    func airTime(_ length: Int) -> Microseconds {
        airPHY.airTime(payload: length, crcOctets: configuration.quirks.crcOctets)
    }

    /// Duration of the longest packet that the peer may send.
    var longestReply: Microseconds {
        let phy = AirPHY(phys.receive, prefersS2: false)
        let octets = Int(lengths.effective.maxRxOctets)
        return min(
            phy.airTime(payload: octets + encryption.receivedMICLength),
            max(Microseconds(Int(lengths.effective.maxRxTime)), phy.airTime(payload: 0)))
    }

    /// Shortest duration of an exchange that the peer starts.
    var shortestExchange: Microseconds {
        AirPHY(phys.receive, prefersS2: true).airTime(payload: 0) + airTime(0) + interFrameSpace * 2
    }

    private mutating func updateLengths() -> [LinkReport] {
        lengths.update(interval: timing.interval, transmitPHY: phys.transmit, receivePHY: phys.receive) ? [.dataLength] : []
    }

    /// Limits payloads so that a PDU can be retransmitted after the pending change of a procedure. Core Vol 6, Part B, 5.1.7.4 and
    /// 5.1.10.1.
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

/// Parameters that a procedure may put into use when it completes.
struct PendingParameters: Equatable {
    var transmitPHYs: PHYs = []
    var receivePHYs: PHYs = []
    var interval: Microseconds?
}

/// Channel map and channel selection of the link.
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

/// PHYs in use, and the host's preferences.
struct LinkPHYs {
    fileprivate(set) var transmit: PHY
    fileprivate(set) var receive: PHY
    /// Masks of LE_Set_PHY, initially those of LE_Set_Default_PHY; empty means no preference.
    fileprivate(set) var preferredTx: PHYs
    fileprivate(set) var preferredRx: PHYs
    /// PHY options of LE_Set_PHY: true for S=2, false for S=8, nil for the controller's choice.
    fileprivate(set) var prefersS2: Bool?
}

/// Known properties of the peer.
struct PeerKnowledge {
    /// The peer's features; nil before a feature exchange.
    fileprivate(set) var features: LEFeatures?
    /// The peer's version; nil before a version exchange.
    fileprivate(set) var version: RemoteVersion?

    /// True if the peer is known to lack a feature.
    func lacks(_ feature: LEFeatures) -> Bool { features.map { $0.isDisjoint(with: feature) } ?? false }
}

/// A change of the link state.
enum LinkChange: Equatable {
    case timing(LinkTiming)
    case channelMap(ChannelMap)
    /// Nil keeps the PHY of a direction.
    case phys(transmit: PHY?, receive: PHY?)
    case preferredPHYs(tx: PHYs, rx: PHYs)
    case codedPreference(prefersS2: Bool?)
    /// Maximum that this device sends.
    case localLengths(octets: UInt16, time: UInt16)
    case peerLengths(DataLength)
    case peerFeatures(LEFeatures)
    case peerVersion(RemoteVersion)
    case versionSent
    case encryption(LinkEncryption.Step)
}

/// Parameters of LL_CONNECTION_UPDATE_IND without the instant.
struct LinkTiming: Equatable {
    var windowSize: Microseconds
    var windowOffset: Microseconds
    var interval: Microseconds
    var latency: Int
    var timeout: Microseconds
}

/// An event for the host.
enum LinkReport: Equatable {
    /// LE_Connection_Update_Complete. Also reported, with success, if the peer changed the parameters.
    case updated(ErrorCode)
    /// LE_Remote_Connection_Parameter_Request; answer with `Connection.replyToParameterRequest`.
    case requested(RequestedParameters)
    /// LE_PHY_Update_Complete.
    case phy(ErrorCode)
    /// LE_Data_Length_Change: at least one of the four effective values has changed.
    case dataLength
    /// LE_Read_Remote_Features_Complete.
    case features(LEFeatures, ErrorCode)
    /// Read_Remote_Version_Information_Complete.
    case version(RemoteVersion, ErrorCode)
    /// Encryption_Change: encryption has started or failed to start.
    case encrypted(ErrorCode)
    /// Encryption_Key_Refresh_Complete: encryption has restarted, or failed to, on a link that was already encrypted.
    case keyRefreshed(ErrorCode)
    /// LE_Long_Term_Key_Request with Rand and EDIV; answer with `Connection.replyToKeyRequest`.
    case keyRequested(random: UInt64, diversifier: UInt16)
}
