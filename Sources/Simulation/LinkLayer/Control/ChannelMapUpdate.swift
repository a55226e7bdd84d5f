import BBPackets

/// Channel Map Update procedure of the central. Core Vol 6, Part B, 5.1.2.
struct LocalChannelMapUpdate: LinkProcedure {
    let map: ChannelMap
    let kind = LinkLayerControl.Kind.channelMap

    init(_ map: ChannelMap) { self.map = map }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .start:
            let instant = link.nextInstant
            let pdu = LLControl.ChannelMapInd(chM: map.bits, instant: UInt16(truncatingIfNeeded: instant))
            return [.announce(pdu.bytes, .channelMap(map), instant: instant)]
        case .instantReached: return [.finish]
        default: return nil
        }
    }
}

struct RemoteChannelMapUpdate: LinkProcedure {
    let kind = LinkLayerControl.Kind.channelMap

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .message(.channelMapInd(let pdu)):
            let map = ChannelMap(pdu.chM)
            guard link.role == .peripheral, map.used.count >= 2 else { return nil }
            guard let instant = link.optionalEvent(of: pdu.instant) else { return [.disconnect(.instantPassed)] }
            return [.schedule(.channelMap(map), instant: instant)]
        case .instantReached: return [.finish]
        default: return nil
        }
    }
}
