import Packets

/// Connection update by the central. Core Vol 6, Part B, 5.1.1.
struct LocalConnectionUpdate: LocalProcedure {
    enum State {
        case awaitingStart
        case awaitingInstant
    }

    let requested: RequestedParameters
    private(set) var state = State.awaitingStart

    var kind: ProcedureKind { .connectionUpdate }
    var isAwaitingPeer: Bool { false }

    init(_ requested: RequestedParameters) { self.requested = requested }

    mutating func start(_ context: ProcedureContext) -> [ProcedureAction] {
        guard let timing = LinkTiming(requested, context) else {
            return [.tell(.updated(.unsupportedLMPParameterValue)), .finish]
        }
        state = .awaitingInstant
        return timing.announcement(context)
    }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? { nil }

    mutating func instantReached(changed: Bool, _ context: ProcedureContext) -> [ProcedureAction] {
        [.tell(.updated(.success)), .finish]
    }
}

/// The peripheral's part.
struct RemoteConnectionUpdate: LinkProcedure {
    var kind: ProcedureKind { .connectionUpdate }
    let isAwaitingPeer = false

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard case .connectionUpdateInd(let pdu) = message, context.role == .peripheral else { return nil }
        return LinkTiming.acceptance(pdu, context)
    }

    mutating func instantReached(changed: Bool, _ context: ProcedureContext) -> [ProcedureAction] {
        changed ? [.tell(.updated(.success)), .finish] : [.finish]
    }
}

extension LinkTiming {
    /// The timing that a central chooses within what is asked; nil when LE Coded leaves no room for it.
    init?(_ requested: RequestedParameters, _ context: ProcedureContext) {
        let interval = max(requested.intervalMin, Self.leastInterval(context))
        guard interval <= requested.intervalMax else { return nil }
        // Within the range the present interval is kept, so that the link's rhythm changes only where it must.
        let present = UInt16(clamping: Int(context.interval.rawValue) / 1_250)
        let chosen = (interval...requested.intervalMax).contains(present) ? present : requested.intervalMax
        self.init(
            windowSize: 1_250, windowOffset: 0, interval: Microseconds(Int(chosen) * 1_250), latency: Int(requested.latency),
            timeout: Microseconds(Int(requested.timeout) * 10_000))
    }

    /// On LE Coded: room for the shortest legal packet after the longest reply, in units of 1.25 ms. Core Vol 6, Part B, 4.5.10.
    private static func leastInterval(_ context: ProcedureContext) -> UInt16 {
        guard context.transmitPHY == .leCoded || context.receivePHY == .leCoded else { return 6 }
        let lengths = context.lengths
        let least = EffectiveDataLength.leastCodedTime
        let sent = max(least, Int(min(lengths.local.maxTxTime, lengths.remote.maxRxTime)))
        let heard = max(least, Int(min(lengths.local.maxRxTime, lengths.remote.maxTxTime)))
        return UInt16(clamping: (max(sent, heard) + least + 2 * 150 + 1_249) / 1_250)
    }

    /// LL_CONNECTION_UPDATE_IND, and the change at its instant.
    func announcement(_ context: ProcedureContext) -> [ProcedureAction] {
        let event = context.instant
        let pdu = LLControl.ConnectionUpdateInd(
            winSize: UInt8(windowSize / 1_250 as Int), winOffset: UInt16(windowOffset / 1_250 as Int),
            interval: UInt16(interval / 1_250 as Int), latency: UInt16(latency), timeout: UInt16(timeout / 10_000 as Int),
            instant: UInt16(truncatingIfNeeded: event))
        return [.send(pdu), .schedule(.timing(self), event: event)]
    }

    /// What a peripheral does on LL_CONNECTION_UPDATE_IND; nil when its contents are impossible.
    static func acceptance(_ pdu: LLControl.ConnectionUpdateInd, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard (6...3_200).contains(pdu.interval), (10...3_200).contains(pdu.timeout), pdu.latency <= 499, (1...8).contains(pdu.winSize),
            pdu.winOffset <= pdu.interval
        else { return nil }
        guard let event = context.event(of: pdu.instant) else { return [.disconnect(.instantPassed)] }
        let timing = LinkTiming(
            windowSize: Microseconds(Int(pdu.winSize) * 1_250), windowOffset: Microseconds(Int(pdu.winOffset) * 1_250),
            interval: Microseconds(Int(pdu.interval) * 1_250), latency: Int(pdu.latency), timeout: Microseconds(Int(pdu.timeout) * 10_000))
        return [.schedule(.timing(timing), event: event)]
    }
}
