import BBPackets

/// Connection Update procedure of the central. Core Vol 6, Part B, 5.1.1.
struct LocalConnectionUpdate: LinkProcedure {
    let requested: RequestedParameters
    private(set) var pendingParameters: PendingParameters?
    let kind = LinkLayerControl.Kind.connectionUpdate

    init(_ requested: RequestedParameters) { self.requested = requested }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .start:
            guard let update = LLControl.ConnectionUpdateInd(requested, link) else {
                return [.report(.updated(.unsupportedLMPParameterValue)), .finish]
            }
            pendingParameters = PendingParameters(interval: update.intervalMicroseconds)
            return update.announcement(link)
        case .instantReached: return [.report(.updated(.success)), .finish]
        default: return nil
        }
    }
}

/// The peripheral's part.
struct RemoteConnectionUpdate: LinkProcedure {
    private(set) var pendingParameters: PendingParameters?
    let kind = LinkLayerControl.Kind.connectionUpdate

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .message(.connectionUpdateInd(let pdu)):
            pendingParameters = PendingParameters(interval: pdu.intervalMicroseconds)
            return link.role == .peripheral ? pdu.acceptance(link) : nil
        case .instantReached(let isChanged): return isChanged ? [.report(.updated(.success)), .finish] : [.finish]
        default: return nil
        }
    }
}

extension LLControl.ConnectionUpdateInd {
    /// Parameters that a central selects from the requested range; nil if LE Coded leaves no room for them.
    init?(_ requested: RequestedParameters, _ link: LinkState) {
        self.init(
            winSize: 1, winOffset: 0, interval: requested.intervalMin, latency: requested.latency, timeout: requested.timeout,
            instant: UInt16(truncatingIfNeeded: link.nextInstant))
        let least = link.leastInterval
        while intervalMicroseconds < least {
            guard interval < requested.intervalMax else { return nil }
            interval += 1
        }
        // The current interval is kept if it is within the range, so that the anchor points do not change unnecessarily.
        var present = self
        present.intervalMicroseconds = link.timing.interval
        interval = (interval...requested.intervalMax).contains(present.interval) ? present.interval : requested.intervalMax
    }

    private var timing: LinkTiming {
        LinkTiming(
            windowSize: winSizeMicroseconds, windowOffset: winOffsetMicroseconds, interval: intervalMicroseconds, latency: Int(latency),
            timeout: timeoutMicroseconds)
    }

    /// Sends the PDU and schedules the change for its instant.
    func announcement(_ link: LinkState) -> [LinkAction] { [.announce(bytes, .timing(timing), instant: link.nextInstant)] }

    /// The peripheral's actions on receiving the PDU; nil if its parameters are invalid.
    func acceptance(_ link: LinkState) -> [LinkAction]? {
        guard Self.intervalRange.contains(interval), Self.timeoutRange.contains(timeout), Self.latencyRange.contains(latency),
            Self.winSizeRange.contains(winSize), winOffset <= interval
        else { return nil }
        guard let event = link.event(of: instant) else { return [.disconnect(.instantPassed)] }
        return [.schedule(.timing(timing), instant: event)]
    }
}

extension LinkState {
    /// Minimum interval on LE Coded: the shortest legal packet must fit after the longest reply. Core Vol 6, Part B, 4.5.10.
    fileprivate var leastInterval: Microseconds {
        guard phys.transmit == .leCoded || phys.receive == .leCoded else { return .zero }
        let times = lengths.agreedTimes
        let longest = max(DataLengths.leastCodedTime, times.transmit, times.receive)
        return Microseconds(longest + DataLengths.leastCodedTime) + interFrameSpace * 2
    }
}
