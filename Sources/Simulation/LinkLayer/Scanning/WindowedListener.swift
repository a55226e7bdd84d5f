import BBPackets
import BBTiming

/// Scan interval and window on one primary PHY. Core Vol 6, Part B, 4.4.3.
struct ScanWindows: Equatable {
    var phy: PHY
    var interval: Microseconds
    var window: Microseconds
}

/// Receives the packets of a listener; sends a request in answer to some.
protocol ListenerOwner: AnyObject {
    /// Handles a PDU on a primary channel. Returns true if an exchange has started.
    func heard(_ pdu: AdvertisingPDU, _ reception: Reception) -> Bool
    /// Handles an announced packet. Returns true if an exchange has started.
    func heard(_ pdu: AdvertisingPDU, _ reception: Reception, announcedAs announcement: WindowedListener.AuxiliaryReception) -> Bool
    /// Called if an announced packet was missing or corrupted.
    func missed(_ announcement: WindowedListener.AuxiliaryReception)
    /// Called when the request of an exchange has been sent.
    func exchangeSent(at end: Microseconds)
    /// Handles the response, intact or not, or nil if none arrived. Returns true if the exchange continues.
    func exchangeAnswered(_ reception: Reception?) -> Bool
    /// Called if the radio was taken away during an exchange.
    func exchangeLost()
}

/// Listens on primary advertising channels in scan windows, and for the auxiliary packets that an AuxPtr announces. Scanner and initiator
/// have one each.
///
/// There is one radio: overlapping windows of two PHYs follow one another, and an auxiliary packet interrupts a window.
final class WindowedListener: RadioActivity {
    private struct Schedule {
        var windows: ScanWindows
        var nextStart: Microseconds
        var channel = 0
    }

    private enum Phase {
        case idle
        case waitingForRadio
        case window
        case auxiliary
        /// A request of the owner is under way.
        case exchange
    }

    /// An auxiliary packet announced by an AuxPtr.
    struct AuxiliaryReception {
        var pointer: AuxiliaryPointer
        /// Earliest start of the packet.
        var start: Microseconds
        /// Event number, defined by the owner.
        var event: Int
        var end: Microseconds { start + pointer.unit }
    }

    let priority: Int
    /// Unowned: the owner has the only reference to its listener.
    unowned var owner: (any ListenerOwner)?
    private let radio: Radio
    private let quirks: ControllerQuirks
    private var schedules: [Schedule]
    private var current = 0
    private var windowEnd: Microseconds = .zero
    private var phase = Phase.idle
    private var expected: AuxiliaryReception?
    /// Announced packets in order of their start.
    private var announced: [AuxiliaryReception] = []
    private var windowTimer: AirTimer!
    private var auxiliaryTimer: AirTimer!
    private var exchangeTuning = Tuning(channel: 37, phy: .le1M)
    private var isStopped = true
    private var isPaused = false

    /// Time before a packet at which the receiver must be ready.
    private static let lead: Microseconds = 20
    private static let mostAnnounced = 16

    var loop: RunLoop { radio.air.loop }

    init(_ windows: [ScanWindows], priority: Int, radio: Radio, quirks: ControllerQuirks) {
        self.priority = priority
        self.radio = radio
        self.quirks = quirks
        schedules = windows.map { Schedule(windows: $0, nextStart: .zero) }
        windowTimer = AirTimer(on: radio.air.loop) { [unowned self] in openWindow() }
        auxiliaryTimer = AirTimer(on: radio.air.loop) { [unowned self] in beginAuxiliary() }
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    // MARK: Running

    func start() {
        isStopped = false
        isPaused = false
        for index in schedules.indices { schedules[index].nextStart = loop.now }
        scheduleWindow()
    }

    func stop() {
        isStopped = true
        windowTimer.cancel()
        auxiliaryTimer.cancel()
        announced.removeAll()
        expected = nil
        phase = .idle
        radio.forget(self)
    }

    /// Stops opening scan windows until `start()`; reception on secondary channels continues.
    func pause() {
        isPaused = true
        windowTimer.cancel()
        windowEnd = loop.now
        if phase == .window || phase == .waitingForRadio {
            phase = .idle
            radio.release(self)
        }
    }

    // MARK: Windows

    private func scheduleWindow() {
        guard let next = schedules.indices.min(by: { schedules[$0].nextStart < schedules[$1].nextStart }) else { return }
        current = next
        windowTimer.set(at: schedules[next].nextStart)
    }

    private func openWindow() {
        if phase == .waitingForRadio { return closeWindow() }
        windowEnd = loop.now + schedules[current].windows.window
        guard phase == .idle else { return }
        listenInWindow()
    }

    /// Listens for the rest of the window, then continues with the next window.
    private func listenInWindow() {
        guard !isStopped else { return }
        guard windowEnd > loop.now else { return closeWindow() }
        guard radio.acquire(self) else {
            phase = .waitingForRadio
            windowTimer.set(at: windowEnd)
            return radio.wait(self)
        }
        phase = .window
        windowTimer.cancel()
        let schedule = schedules[current]
        let channel = ChannelIndex.primaryAdvertising[schedule.channel]
        radio.listen(Tuning(channel: channel, phy: schedule.windows.phy), from: loop.now, until: windowEnd - 1)
    }

    private func closeWindow() {
        phase = .idle
        radio.release(self)
        guard !isStopped, !isPaused, !windowTimer.isSet else { return }
        schedules[current].channel = (schedules[current].channel + 1) % 3
        schedules[current].nextStart = max(loop.now, schedules[current].nextStart + schedules[current].windows.interval)
        scheduleWindow()
    }

    func radioIsFree() {
        guard phase == .waitingForRadio else { return }
        phase = .idle
        windowTimer.cancel()
        listenInWindow()
    }

    func preempted() {
        let before = phase
        phase = .idle
        switch before {
        case .auxiliary: lose()
        case .exchange: owner?.exchangeLost()
        case .idle, .waitingForRadio, .window: break
        }
        guard !isStopped else { return }
        resume()
    }

    /// Returns to the current window or waits for the next.
    private func resume() {
        phase = .idle
        guard !isStopped else { return }
        if windowEnd > loop.now || !windowTimer.isSet { listenInWindow() } else { radio.release(self) }
    }

    // MARK: Auxiliary packets

    /// Listens for the packet that an AuxPtr announces.
    func follow(_ pointer: AuxiliaryPointer, from start: Microseconds, event: Int) {
        guard announced.count < Self.mostAnnounced else {
            owner?.missed(AuxiliaryReception(pointer: pointer, start: start, event: event))
            return
        }
        let announcement = AuxiliaryReception(pointer: pointer, start: start + pointer.offset, event: event)
        let index = announced.firstIndex { $0.start > announcement.start } ?? announced.endIndex
        announced.insert(announcement, at: index)
        armAuxiliaryTimer()
    }

    private func armAuxiliaryTimer() {
        guard let first = announced.first else { return auxiliaryTimer.cancel() }
        auxiliaryTimer.set(at: first.start - Self.lead)
    }

    private func beginAuxiliary() {
        guard !isStopped, !announced.isEmpty else { return }
        let next = announced.removeFirst()
        defer { armAuxiliaryTimer() }
        let isBusy = phase == .auxiliary || phase == .exchange || (phase == .window && radio.isReceiving)
        guard !isBusy, loop.now < next.start, radio.acquire(self) else {
            owner?.missed(next)
            return
        }
        if phase == .waitingForRadio { windowTimer.cancel() }
        phase = .auxiliary
        expected = next
        let tuning = Tuning(channel: ChannelIndex(next.pointer.channel), phy: next.pointer.phy)
        radio.listen(tuning, from: next.start - activeClockTolerance, until: next.end + activeClockTolerance)
    }

    private func lose() {
        guard let lost = expected else { return }
        expected = nil
        owner?.missed(lost)
    }

    // MARK: Exchanges

    /// Sends a request T_IFS after a packet, on the same channel.
    func beginExchange(_ pdu: AdvertisingPDU, after reception: Reception) {
        phase = .exchange
        exchangeTuning = reception.tuning
        let packet = LEPacket(pdu.air, reception.tuning, phy: reception.phy, crcOctets: quirks.crcOctets)
        radio.transmit(packet, at: reception.end + quirks.interFrameSpace)
    }

    func awaitAnswer(after end: Microseconds) {
        let due = end + interFrameSpace
        radio.listen(exchangeTuning, from: due - activeClockTolerance, until: due + activeClockTolerance)
    }

    // MARK: Radio

    func transmitted(at end: Microseconds) {
        guard phase == .exchange else { return }
        owner?.exchangeSent(at: end)
    }

    func received(_ reception: Reception) {
        switch phase {
        case .window:
            let goesOn = reception.isIntact && (AdvertisingPDU(reception.pdu).flatMap { owner?.heard($0, reception) } ?? false)
            if !goesOn { resume() }
        case .auxiliary:
            guard let announcement = expected else { return resume() }
            expected = nil
            guard reception.isIntact, let pdu = AdvertisingPDU(reception.pdu) else {
                owner?.missed(announcement)
                return resume()
            }
            if owner?.heard(pdu, reception, announcedAs: announcement) != true { resume() }
        case .exchange: if owner?.exchangeAnswered(reception) != true { resume() }
        case .idle, .waitingForRadio: break
        }
    }

    func windowClosed() {
        switch phase {
        case .window: closeWindow()
        case .auxiliary:
            lose()
            resume()
        case .exchange: if owner?.exchangeAnswered(nil) != true { resume() }
        case .idle, .waitingForRadio: break
        }
    }
}
