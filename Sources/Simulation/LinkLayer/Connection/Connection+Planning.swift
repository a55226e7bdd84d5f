import Packets

/// What a connection event may hold, and which event comes next: decisions on the link's state, which change nothing.
extension Connection {
    var role: ConnectionParameters.Role { parameters.role }

    /// Whether new data waits for a procedure.
    var holdsData: Bool { engine.holdsData && !configuration.quirks.encryption.contains(.sendsDataWhileStarting) }

    /// The next event to take part in. Core Vol 6, Part B, 4.5.1: connPeripheralLatency; 5.1.1 and 5.5.1: a peripheral is awake until the central knows that it has heard of an
    /// instant, in the event before the instant, and at the instant.
    var followingEvent: Int {
        let soonest = state.timing.eventCounter + 1
        let latency = state.timing.peripheralLatency
        guard role == .peripheral, latency > 0, event.hasHeardIntact, !event.peerHasMore, packets.isIdle, !engine.isAwaitingPeer,
            !awaitsConfirmation, !configuration.choices.listensAtEveryEvent
        else { return soonest }
        let latest = soonest + latency
        return engine.nextInstant.map { max(soonest, min(latest, $0 - 1)) } ?? latest
    }

    /// The first event before `next` that a peripheral can still wake up for. Core Vol 6, Part B, 4.5.1.
    func event(before next: Int) -> Int? {
        let timing = state.timing
        guard role == .peripheral, timing.peripheralLatency > 0, next > timing.eventCounter + 1 else { return nil }
        return (timing.eventCounter + 1..<next).first { timing.start(of: $0) > air.loop.now }
    }

    func channel(of number: Int) -> ChannelIndex {
        let channel = state.channels.channel(of: number)
        let offset = configuration.quirks.hopOffset
        return offset == 0 ? channel : ChannelIndex((channel.rawValue &+ offset) % 37)
    }

    func tuning(_ phy: PHY) -> Tuning {
        Tuning(channel: event.channel, phy: phy, accessAddress: parameters.accessAddress, crcInit: parameters.crcInit)
    }

    var priority: Int { RadioPriority.connection + min(missedEvents, 1_000) }

    /// When the event may not go on any more: this link, or another use of the radio, needs it.
    var eventLimit: Microseconds { min(event.nextAnchor, radio.nextReservation(besides: self)) }

    /// Whether the event ends with the exchange under way because no more are allowed.
    var isLastExchange: Bool { configuration.maxExchangesPerEvent.map { event.exchanges >= $0 } ?? false }

    /// Whether the central goes on with its event: if there is a reason to, and the exchange ends by the next anchor point.
    func continuation(at start: Microseconds) -> EventContinuation {
        guard !isLastExchange else { return .ends(.atLimit) }
        guard event.hasMoreToSend || event.peerHasMore else { return .ends(.empty) }
        let isExtra = start + exchangeTime > eventLimit
        guard !isExtra || event.extraExchanges < configuration.quirks.extraExchangesPerEvent else { return .ends(.full) }
        return .exchange(isExtra: isExtra)
    }

    /// Whether the peripheral listens for one more packet: if either side has more to send.
    ///
    /// Where not even two empty packets end by the next anchor point, the central's next packet begins the next event.
    func mayHearMore(at next: Microseconds) -> Bool {
        guard event.hasMoreToSend || event.peerHasMore, !isLastExchange else { return false }
        return next + state.shortestExchange <= eventLimit + AnchorClock.instantaneousJitter
    }

    /// Whether the peripheral's next PDU, sent whole, ends by the next anchor point.
    func fitsReply(at start: Microseconds) -> Bool {
        start + state.airTime(nextLength) + interFrameSpace <= eventLimit + AnchorClock.instantaneousJitter
    }

    /// Of the PDU that would be sent next.
    var nextLength: Int {
        packets.nextLength(acknowledged: false, limit: state.payloadLimit, micLength: state.encryption.sentMICLength)
    }

    /// Own PDU, gap, the other side's PDU, gap.
    var exchangeTime: Microseconds {
        let own = state.airTime(nextLength)
        return own + replyTime + configuration.quirks.interFrameSpace
    }

    /// Gap and PDU of the other side, as `EventFilling` judges them.
    var replyTime: Microseconds {
        let longest = interFrameSpace + state.longestReply
        switch configuration.eventFilling {
        case .reserveMax: return longest
        case .actual: return air.replyForecasts.time(on: parameters.accessAddress, after: packets.nextExpected) ?? longest
        }
    }
}

/// What the central does once it has heard the other side.
enum EventContinuation {
    case ends(ConnectionEvent.Ending)
    /// - Parameter isExtra: it runs past the next anchor point, as a fault demands.
    case exchange(isExtra: Bool)
}

extension Connection: ReplyForecast {
    func replyTime(after nextExpected: UInt8) -> Microseconds {
        configuration.quirks.interFrameSpace
            + state.airTime(
                packets.nextLength(after: nextExpected, limit: state.payloadLimit, micLength: state.encryption.sentMICLength))
    }
}
