import Packets

/// Connection update by the central. Core Vol 6, Part B, 5.1.1.
struct LocalConnectionUpdate: LinkProcedure {
    let requested: RequestedParameters
    let kind = LinkLayerControl.Kind.connectionUpdate

    init(_ requested: RequestedParameters) { self.requested = requested }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .start:
            guard let timing = LinkTiming(requested, link) else { return [.report(.updated(.unsupportedLMPParameterValue)), .finish] }
            return timing.announcement(link)
        case .instantReached: return [.report(.updated(.success)), .finish]
        default: return nil
        }
    }
}

/// The peripheral's part.
struct RemoteConnectionUpdate: LinkProcedure {
    let kind = LinkLayerControl.Kind.connectionUpdate

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .message(.connectionUpdateInd(let pdu)): link.role == .peripheral ? LinkTiming.acceptance(pdu, link) : nil
        case .instantReached(let isChanged): isChanged ? [.report(.updated(.success)), .finish] : [.finish]
        default: nil
        }
    }
}

extension LinkTiming {
    /// The timing that a central chooses within what is asked; nil when LE Coded leaves no room for it.
    init?(_ requested: RequestedParameters, _ link: LinkState) {
        let interval = max(requested.intervalMin, Self.leastInterval(link))
        guard interval <= requested.intervalMax else { return nil }
        // Within the range the present interval is kept, so that the link's rhythm changes only where it must.
        let present = UInt16(clamping: Int(link.timing.interval.rawValue) / 1_250)
        let chosen = (interval...requested.intervalMax).contains(present) ? present : requested.intervalMax
        self.init(
            windowSize: 1_250, windowOffset: 0, interval: Microseconds(Int(chosen) * 1_250), latency: Int(requested.latency),
            timeout: Microseconds(Int(requested.timeout) * 10_000))
    }

    /// On LE Coded: room for the shortest legal packet after the longest reply, in units of 1.25 ms. Core Vol 6, Part B, 4.5.10.
    private static func leastInterval(_ link: LinkState) -> UInt16 {
        guard link.phys.transmit == .leCoded || link.phys.receive == .leCoded else { return 6 }
        let times = link.lengths.agreedTimes
        let least = DataLengths.leastCodedTime
        let longest = max(least, times.transmit, times.receive)
        return UInt16(clamping: (longest + least + 2 * 150 + 1_249) / 1_250)
    }

    /// LL_CONNECTION_UPDATE_IND, and the change at its instant.
    func announcement(_ link: LinkState) -> [LinkAction] {
        let instant = link.nextInstant
        let pdu = LLControl.ConnectionUpdateInd(
            winSize: UInt8(windowSize / 1_250 as Int), winOffset: UInt16(windowOffset / 1_250 as Int),
            interval: UInt16(interval / 1_250 as Int), latency: UInt16(latency), timeout: UInt16(timeout / 10_000 as Int),
            instant: UInt16(truncatingIfNeeded: instant))
        return [.send(pdu), .schedule(.timing(self), instant: instant)]
    }

    /// What a peripheral does on LL_CONNECTION_UPDATE_IND; nil when its contents are impossible.
    static func acceptance(_ pdu: LLControl.ConnectionUpdateInd, _ link: LinkState) -> [LinkAction]? {
        guard (6...3_200).contains(pdu.interval), (10...3_200).contains(pdu.timeout), pdu.latency <= 499, (1...8).contains(pdu.winSize),
            pdu.winOffset <= pdu.interval
        else { return nil }
        guard let instant = link.event(of: pdu.instant) else { return [.disconnect(.instantPassed)] }
        let timing = LinkTiming(
            windowSize: pdu.winSizeMicroseconds, windowOffset: pdu.winOffsetMicroseconds, interval: pdu.intervalMicroseconds,
            latency: Int(pdu.latency), timeout: pdu.timeoutMicroseconds)
        return [.schedule(.timing(timing), instant: instant)]
    }
}
