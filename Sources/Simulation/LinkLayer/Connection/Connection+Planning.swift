import BBPackets

/// Decisions about the length of a connection event and about the next one. They do not change the state of the link.
extension Connection {
    var role: ConnectionParameters.Role { parameters.role }

    /// True while a procedure holds back new data.
    var holdsData: Bool { engine.holdsData && !configuration.quirks.encryption.contains(.sendsDataWhileStarting) }

    /// The next event to take part in. A peripheral may skip connPeripheralLatency events (Core Vol 6, Part B, 4.5.1). It listens to all
    /// events until the central has its acknowledgement of an instant, to the event before the instant, and at the instant (5.1.1 and
    /// 5.5.1).
    var followingEvent: Int {
        guard role == .peripheral, event.hasHeardIntact, !event.peerHasMore, packets.isIdle, !engine.isAwaitingPeer,
            !awaitsConfirmation, !configuration.choices.listensAtEveryEvent
        else { return state.timing.eventCounter + 1 }
        return state.timing.nextHeard(before: engine.nextInstant)
    }

    /// The first event before `next` for which a peripheral can still wake up. Core Vol 6, Part B, 4.5.1.
    func event(before next: Int) -> Int? { state.timing.skipped(before: next, now: air.loop.now) }

    func channel(of number: Int) -> ChannelIndex {
        let channel = state.channels.channel(of: number)
        let offset = configuration.quirks.hopOffset
        return offset == 0 ? channel : ChannelIndex((channel.rawValue &+ offset) % 37)
    }

    func tuning(_ phy: PHY) -> Tuning {
        Tuning(channel: event.channel, phy: phy, accessAddress: parameters.accessAddress, crcInit: parameters.crcInit)
    }

    var priority: Int { RadioPriority.connection + min(missedEvents, 1_000) }

    /// Time by which the event must end, because this link or another activity needs the radio.
    var eventLimit: Microseconds { min(event.nextAnchor, radio.nextReservation(besides: self)) }

    /// True if the event ends with the current exchange because the configured maximum is reached.
    var isLastExchange: Bool { configuration.maxExchangesPerEvent.map { event.exchanges >= $0 } ?? false }

    /// Decides if the central continues the event: there must be a reason to, and the exchange must end before the next anchor point.
    func continuation(at start: Microseconds) -> EventContinuation {
        guard !isLastExchange else { return .ends(.atLimit) }
        guard event.hasMoreToSend || event.peerHasMore else { return .ends(.empty) }
        let isExtra = start + exchangeTime > eventLimit
        guard !isExtra || event.extraExchanges < configuration.quirks.extraExchangesPerEvent else { return .ends(.full) }
        return .exchange(isExtra: isExtra)
    }

    /// True if the peripheral listens for another packet: either device has more data.
    ///
    /// If not even two empty packets fit before the next anchor point, the central's next packet starts the next event.
    func mayHearMore(at next: Microseconds) -> Bool {
        guard event.hasMoreToSend || event.peerHasMore, !isLastExchange else { return false }
        return next + state.shortestExchange <= eventLimit + AnchorClock.instantaneousJitter
    }

    /// True if the peripheral's next PDU ends before the next anchor point.
    func fitsReply(at start: Microseconds) -> Bool {
        start + state.airTime(nextLength) + interFrameSpace <= eventLimit + AnchorClock.instantaneousJitter
    }

    /// Length of the PDU that would be sent next.
    var nextLength: Int {
        packets.nextLength(acknowledged: false, limit: state.payloadLimit, micLength: state.encryption.sentMICLength)
    }

    /// Duration of own PDU, T_IFS, the peer's PDU and T_IFS.
    var exchangeTime: Microseconds {
        let own = state.airTime(nextLength)
        return own + replyTime + configuration.quirks.interFrameSpace
    }

    /// Duration of T_IFS and the peer's PDU, as `EventFilling` assumes them.
    var replyTime: Microseconds {
        let longest = interFrameSpace + state.longestReply
        switch configuration.eventFilling {
        case .reserveMax: return longest
        case .actual: return air.replyForecasts.time(on: parameters.accessAddress, after: packets.nextExpected) ?? longest
        }
    }
}

/// The central's next step in an event after receiving the peer's packet.
enum EventContinuation {
    case ends(ConnectionEvent.Ending)
    /// - Parameter isExtra: the exchange runs past the next anchor point, to inject a fault.
    case exchange(isExtra: Bool)
}

extension Connection: ReplyForecast {
    func replyTime(after nextExpected: UInt8) -> Microseconds {
        configuration.quirks.interFrameSpace
            + state.airTime(
                packets.nextLength(after: nextExpected, limit: state.payloadLimit, micLength: state.encryption.sentMICLength))
    }
}
