import Packets

/// The peripheral's part of a connection event. Core Vol 6, Part B, 4.5.1, 4.5.7 and 4.2.4.
extension Connection {
    func beginPeripheralEvent() {
        let expected = clock.anchor(of: eventCounter)
        let widening = widening(of: eventCounter)
        listen(from: expected - widening, until: expected + transmitWindow + widening)
    }

    /// How far the central's packet may lie from where it is expected.
    func widening(of number: Int) -> Microseconds {
        guard role == .peripheral else { return .zero }
        let accuracy = configuration.clockAccuracy + parameters.peerClockAccuracy
        return AnchorClock.widening(after: clock.anchor(of: number) - lastAnchor, accuracy: accuracy, interval: interval)
    }

    /// The first packet of an event, corrupt or not, is the anchor point.
    func synchronise(to start: Microseconds) {
        clock.rebase(to: start, event: eventCounter)
        lastAnchor = start
        transmitWindow = .zero
        event.nextAnchor = clock.anchor(of: eventCounter + 1)
    }

    func reply(at start: Microseconds) {
        event.exchanges += 1
        statistics.exchanges += 1
        let end = start + airTime(plannedLength(acknowledged: false)) + interFrameSpace
        let fits = event.exchanges == 1 || end <= eventLimit + AnchorClock.instantaneousJitter
        transmitNext(at: start, allowsData: fits)
    }

    /// The reply is out: listens for one more packet if either side has more to send.
    func awaitMore(from end: Microseconds) {
        dropIfNeverRetransmitted()
        guard event.ownMoreData || event.peerMoreData else { return closeEvent() }
        let next = end + interFrameSpace
        // Where not even two empty packets end by the next anchor point, the central's next packet begins the next event.
        guard next + shortestExchange <= eventLimit + AnchorClock.instantaneousJitter else { return closeEvent() }
        listen(from: next - activeClockTolerance, until: next + activeClockTolerance)
    }

    private var shortestExchange: Microseconds {
        AirPHY(receivePHY, prefersS2: true).airTime(payload: 0) + airTime(0) + interFrameSpace * 2
    }

    /// The next event to listen at. Core Vol 6, Part B, 4.5.1: connPeripheralLatency.
    func nextPeripheralEvent() -> Int {
        let soonest = eventCounter + 1
        guard peripheralLatency > 0, event.heardIntact, isIdle, !configuration.quirks.ignoresPeripheralLatency else { return soonest }
        let latest = soonest + peripheralLatency
        return control.nextInstant.map { max(soonest, min(latest, $0)) } ?? latest
    }

    /// Nothing to send, nothing to hear.
    private var isIdle: Bool {
        guard queue.isEmpty, outstanding.map({ $0.payload.isEmpty }) ?? true, !event.peerMoreData else { return false }
        return !control.isAwaitingPeer
    }

    /// There is something to send: a peripheral that sleeps through events takes part in the next.
    func wake() {
        guard role == .peripheral, phase == .idle, peripheralLatency > 0, nextEvent > eventCounter + 1 else { return }
        var number = eventCounter + 1
        while number < nextEvent, clock.anchor(of: number) - widening(of: number) <= air.loop.now { number += 1 }
        if number < nextEvent { schedule(event: number) }
    }
}
