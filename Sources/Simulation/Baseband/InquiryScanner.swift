import Packets
import Timing

protocol InquiryScannerDelegate: AnyObject {
    /// The answer to an ID packet, as of now.
    func response(of scanner: InquiryScanner) -> InquiryResponse
}

/// The inquiry scan and inquiry response substates. Core Vol 2, Part B, 8.4.1 and 8.4.3.
final class InquiryScanner {
    struct Settings: Equatable {
        /// From the start of one window to that of the next.
        var interval: Microseconds
        var window: Microseconds
        /// Each window is followed by a second one, sixteen phases on.
        var isInterlaced: Bool
        var laps: [UInt32]
    }

    /// An ID packet that it will hear, if the inquirer is not busy then.
    private struct Appointment {
        var inquirer: Inquirer
        var time: Microseconds
        var phase: Int
        /// The ID packet was heard; the answer is due.
        var isHeard = false
    }

    private(set) var settings: Settings
    private let clock: NativeClock
    private let identifier: Int
    private let channel: InquiryChannel
    private unowned let delegate: any InquiryScannerDelegate
    private var random: RandomSource
    /// N.
    private var shift = 0
    private var began = Microseconds.zero
    /// The random time of silence after an answer.
    private var silentUntil = Microseconds.zero
    private var appointment: Appointment?
    private var timer: AirTimer!

    /// Of what it sends, in dBm.
    static let power: Int8 = 0

    private var loop: RunLoop { channel.air.loop }

    init(
        _ settings: Settings, clock: NativeClock, identifier: Int, channel: InquiryChannel, random: RandomSource,
        delegate: any InquiryScannerDelegate
    ) {
        self.settings = settings
        self.clock = clock
        self.identifier = identifier
        self.channel = channel
        self.random = random
        self.delegate = delegate
        timer = AirTimer(on: channel.air.loop) { [unowned self] in keepAppointment() }
    }

    func start() {
        began = loop.now
        channel.add(self)
        plan(from: loop.now)
    }

    func stop() {
        timer.cancel()
        appointment = nil
        channel.remove(self)
    }

    /// Scans on with other settings, in windows counted from now.
    func change(_ settings: Settings) {
        guard settings != self.settings else { return }
        self.settings = settings
        began = loop.now
        inquirersChanged()
    }

    /// An answer that is due is sent all the same; the scanner cannot know that nobody waits for it.
    func inquirersChanged() {
        if appointment?.isHeard != true { plan(from: loop.now) }
    }

    // MARK: Listening

    private func plan(from time: Microseconds) {
        appointment = next(from: max(time, silentUntil, began))
        if let appointment { timer.set(at: appointment.time + InquiryResponse.idAirTime) } else { timer.cancel() }
    }

    /// The first ID packet from `time` on that falls whole into a window.
    private func next(from time: Microseconds) -> Appointment? {
        let candidates = channel.inquirers.filter { settings.laps.contains($0.settings.lap) && $0.identifier != identifier }
        guard let end = candidates.map(\.end).max() else { return nil }
        var window = began + settings.interval * Int((time - began).rawValue / settings.interval.rawValue)
        while window < end {
            for (index, start) in windows(at: window).enumerated() {
                let last = start + settings.window - InquiryResponse.idAirTime
                guard last >= time else { continue }
                let found = candidates.compactMap { inquirer -> Appointment? in
                    inquirer.nextID(from: max(start, time), through: last) { phase(at: $0, interlaced: index == 1) }
                        .map { Appointment(inquirer: inquirer, time: $0.time, phase: $0.phase) }
                }
                if let first = found.min(by: { $0.time < $1.time }) { return first }
            }
            window = window + settings.interval
        }
        return nil
    }

    /// Interlaced scanning needs room for two windows. Core Vol 2, Part B, 8.4.1.
    private func windows(at start: Microseconds) -> [Microseconds] {
        settings.isInterlaced && settings.interval >= settings.window * 2 ? [start, start + settings.window] : [start]
    }

    private func phase(at time: Microseconds, interlaced: Bool) -> Int {
        InquiryHops.scanPhase(clock: NativeClock.value(of: clock.tick(at: time)), shift: shift + (interlaced ? 16 : 0))
    }

    // MARK: Answering

    private func keepAppointment() {
        guard var kept = appointment else { return }
        if kept.isHeard { return answer(kept) }
        guard kept.inquirer.hasSent(at: kept.time),
            channel.reception(power: kept.inquirer.settings.power, from: kept.inquirer.identifier, to: identifier)?.isIntact == true
        else { return plan(from: kept.time + 1) }
        kept.isHeard = true
        appointment = kept
        timer.set(at: kept.time + InquiryResponse.delay)
    }

    /// Sends the answer, then leaves a random number of slots to others and goes on in the next phase.
    private func answer(_ kept: Appointment) {
        let response = delegate.response(of: self)
        kept.inquirer.receive(response, phase: kept.phase, power: Self.power, from: identifier)
        let slots = Int(random.next() % (settings.interval >= .milliseconds(1_280) ? 1_024 : 128))
        silentUntil = loop.now + response.wholeAirTime + NativeClock.slot * slots
        shift = (shift + 1) % InquiryHops.count
        plan(from: silentUntil)
    }
}
