import Packets

/// The central's part of a connection event. Core Vol 6, Part B, 4.5.1.
extension Connection {
    func beginCentralEvent() {
        event.exchanges = 1
        statistics.exchanges += 1
        transmitNext(at: air.loop.now)
    }

    func awaitReply(from end: Microseconds) {
        dropIfNeverRetransmitted()
        listen(from: end + interFrameSpace - activeClockTolerance, until: end + interFrameSpace + activeClockTolerance)
    }

    /// Starts one more exchange if there is a reason to and it ends by the next anchor point.
    func continueEvent(at start: Microseconds) {
        guard event.exchanges < exchangeLimit else { return closeEvent(\.endedAtLimit) }
        guard event.ownMoreData || event.peerMoreData else { return closeEvent(\.endedEmpty) }
        if start + exchangeTime() > eventLimit {
            guard event.extraExchanges < configuration.quirks.extraExchangesPerEvent else { return closeEvent(\.endedFull) }
            event.extraExchanges += 1
        }
        event.exchanges += 1
        statistics.exchanges += 1
        transmitNext(at: start)
    }

    private var exchangeLimit: Int {
        min(configuration.maxExchangesPerEvent ?? .max, peer?.configuration.maxExchangesPerEvent ?? .max)
    }

    /// Own PDU, gap, the other side's PDU, gap.
    private func exchangeTime() -> Microseconds {
        let own = airTime(plannedLength(acknowledged: false))
        let gap = configuration.quirks.interFrameSpace
        guard let peer else { return own + interFrameSpace + longestReply + gap }
        let reply: Microseconds
        switch configuration.eventFilling {
        case .actual: reply = peer.airTime(peer.plannedLength(acknowledged: acknowledges(peer)))
        case .reserveMax: reply = longestReply
        }
        return own + peer.configuration.quirks.interFrameSpace + reply + gap
    }

    /// Whether the packet sent next acknowledges what `peer` has outstanding.
    private func acknowledges(_ peer: Connection) -> Bool { acknowledgement.expected != peer.acknowledgement.transmit }

    /// The longest packet the other side may send.
    private var longestReply: Microseconds {
        let phy = AirPHY(receivePHY, prefersS2: false)
        let payload = Int(dataLength.maxRxOctets) + (isEncrypted ? 4 : 0)
        return min(phy.airTime(payload: payload), max(Microseconds(Int(dataLength.maxRxTime)), phy.airTime(payload: 0)))
    }

    /// The planted fault: nothing is sent twice.
    func dropIfNeverRetransmitted() {
        guard configuration.quirks.neverRetransmits, let pdu = outstanding, !pdu.payload.isEmpty else { return }
        outstanding = OutgoingPDU(llid: LLID.continuation, payload: [], kind: pdu.kind)
    }
}
