import Packets

/// The procedures of link layer control. Core Vol 6, Part B, 5.1.
enum ProcedureKind {
    case version
    case features
    case connectionUpdate
    case parameterRequest
    case channelMap
    case phy
    case dataLength
    case ping

    /// Whether it changes the link at an instant. Such procedures exclude one another. Core Vol 6, Part B, 5.3.
    var hasInstant: Bool {
        switch self {
        case .connectionUpdate, .parameterRequest, .channelMap, .phy: true
        case .version, .features, .dataLength, .ping: false
        }
    }
}

/// One side of a procedure: a machine whose states say what it awaits. It is told of events and answers with actions.
protocol LinkProcedure {
    var kind: ProcedureKind { get }
    /// Whether it waits for the other side, which has 40 s to answer.
    var isAwaitingPeer: Bool { get }
    /// Takes a PDU; nil when it is none of this procedure's in this state.
    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]?
    /// The other side refused (LL_REJECT_IND, LL_REJECT_EXT_IND) or did not know (LL_UNKNOWN_RSP) a PDU of this procedure.
    ///
    /// - Parameter opcode: the PDU, where the refusal names it.
    /// - Returns: nil when no such refusal is awaited.
    mutating func refused(_ opcode: UInt8?, _ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction]?
    /// The event of the instant begins, and the change has been made.
    mutating func instantReached(changed: Bool, _ context: ProcedureContext) -> [ProcedureAction]
}

extension LinkProcedure {
    mutating func instantReached(changed: Bool, _ context: ProcedureContext) -> [ProcedureAction] { [.finish] }
    mutating func refused(_ opcode: UInt8?, _ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction]? { nil }
}

/// A procedure of this side's own: it speaks first.
protocol LocalProcedure: LinkProcedure {
    mutating func start(_ context: ProcedureContext) -> [ProcedureAction]
}

/// What procedures know of their link.
struct ProcedureContext {
    var role: ConnectionParameters.Role
    var eventCounter: Int
    var peripheralLatency: Int
    var interval: Microseconds
    var transmitPHY: PHY
    var receivePHY: PHY
    var ownFeatures: LEFeatures
    /// Nil before a feature exchange.
    var peerFeatures: LEFeatures?
    var ownVersion: RemoteVersion
    var peerVersion: RemoteVersion?
    var hasSentVersion: Bool
    var lengths: EffectiveDataLength
    var preferredTxPHYs: PHYs
    var preferredRxPHYs: PHYs
    var quirks: ControllerQuirks

    /// Six events ahead of the one that can carry the PDU first, when a sleeping peripheral has surely heard it. Core Vol 6, Part B, 5.5.
    var instant: Int { eventCounter + 1 + peripheralLatency + 6 }

    /// The event that an instant of the other side means; nil when it has passed.
    func event(of instant: UInt16) -> Int? {
        let ahead = instant &- UInt16(truncatingIfNeeded: eventCounter)
        return ahead == 0 || ahead >= 32_767 ? nil : eventCounter + Int(ahead)
    }

    /// The PHYs this controller is able to use.
    var supportedPHYs: PHYs {
        var phys: PHYs = .le1M
        if ownFeatures.contains(.le2MPHY) { phys.insert(.le2M) }
        if ownFeatures.contains(.leCodedPHY) { phys.insert(.leCoded) }
        return phys
    }

    /// Whether the other side is known to lack a feature.
    func peerLacks(_ feature: LEFeatures) -> Bool { peerFeatures.map { $0.isDisjoint(with: feature) } ?? false }
}

/// What a procedure wants done, in order.
enum ProcedureAction: Equatable {
    case send([UInt8])
    /// Make a change when the event of the instant begins.
    case schedule(LinkChange, event: Int)
    /// Make a change now.
    case change(LinkChange)
    case tell(LinkReport)
    case finish
    case disconnect(ErrorCode)

    static func send(_ pdu: some LLControlPDU) -> ProcedureAction { .send(pdu.bytes) }
}

/// A change of the link.
enum LinkChange: Equatable {
    case timing(LinkTiming)
    case channelMap(ChannelMap)
    /// Nil leaves a direction as it is.
    case phys(transmit: PHY?, receive: PHY?)
    case peerLengths(DataLength)
    case peerFeatures(LEFeatures)
    case peerVersion(RemoteVersion)
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
    case features(LEFeatures, ErrorCode)
    case version(RemoteVersion, ErrorCode)
}
