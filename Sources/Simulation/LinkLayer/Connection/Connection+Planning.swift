import Packets

/// What a connection event may hold, and which event comes next: decisions on the link's state, which change nothing.
extension Connection {
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

    func channel(of number: Int) -> ChannelIndex {
        let channel = state.channels.channel(of: number)
        let offset = configuration.quirks.hopOffset
        return offset == 0 ? channel : ChannelIndex((channel.rawValue &+ offset) % 37)
    }

    /// When the event may not go on any more: this link, or another use of the radio, needs it.
    var eventLimit: Microseconds { min(event.nextAnchor, radio.nextReservation(besides: self)) }

    /// Whether the event ends with the exchange under way because no more are allowed.
    var isLastExchange: Bool { configuration.maxExchangesPerEvent.map { event.exchanges >= $0 } ?? false }

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

extension Connection: ReplyForecast {
    func replyTime(after nextExpected: UInt8) -> Microseconds {
        configuration.quirks.interFrameSpace
            + state.airTime(
                packets.nextLength(after: nextExpected, limit: state.payloadLimit, micLength: state.encryption.sentMICLength))
    }
}
