import BBPackets

/// The central switches to an adapted or the basic hopping sequence at an instant. Core Vol 2, Part C, 4.1.4.
struct LocalChannelMap: LMPProcedure {
    /// Channel map to use; nil for the basic hopping sequence.
    private let map: AdaptedChannelMap?
    let kind = LinkManagement.Kind.channelMap

    init(_ map: AdaptedChannelMap?) { self.map = map }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .start = event else { return nil }
        guard link.mayAdaptHopping, map != link.channelMap else { return [.finish] }
        let instant = link.hoppingInstant
        let pdu = LMP.SetAFH(
            afhInstant: instant, afhMode: map == nil ? 0 : 1, afhChannelMap: map?.octets ?? [UInt8](repeating: 0, count: 10))
        return [.send(pdu, link.ownTransaction), .baseband(.channelMap(map, instant: instant)), .finish]
    }
}

/// The peripheral's part. If the instant has already passed, the change is applied at once.
struct RemoteChannelMap: LMPProcedure {
    let kind = LinkManagement.Kind.channelMap

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event, case .setAFH(let pdu) = message.pdu else { return nil }
        guard pdu.afhMode == 1 else { return [.baseband(.channelMap(nil, instant: pdu.afhInstant)), .finish] }
        guard let map = AdaptedChannelMap(octets: pdu.afhChannelMap) else { return [.finish] }
        return [.baseband(.channelMap(map, instant: pdu.afhInstant)), .finish]
    }
}

extension ACLLinkState {
    var mayAdaptHopping: Bool { role == .central && supports(.adaptiveHoppingCentral) && peerSupports(.adaptiveHoppingPeripheral) }

    /// Instant at least 96 slots ahead, and at least six times when the peripheral is sure to listen. Core Vol 2, Part C, 4.1.4.
    fileprivate var hoppingInstant: UInt32 {
        let listening = max(UInt32(pollInterval), UInt32(sniff?.interval ?? 0))
        return ((slot + max(96, 6 * listening) + 2) & ~1) % Self.slots
    }
}
