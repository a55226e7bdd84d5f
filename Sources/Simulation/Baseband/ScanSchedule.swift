import Packets
import Timing

/// When a page or inquiry scanner listens: from the start of one window to that of the next, each followed by a second one where scanning is interlaced.
/// Core Vol 2, Part B, 8.3.1 and 8.4.1.
final class ScanSchedule {
    /// A stretch of a window in which the phase of the hopping sequence stands still.
    struct Stretch {
        /// In which it begins.
        var tick: Int
        /// How many phases on it listens: 16 in the second window of two.
        var shift: Int
        /// The latest start of an ID packet that falls whole into the window.
        var end: Microseconds
    }

    /// The windows that a device takes which looks for others itself.
    enum Share {
        case all
        /// So many that two devices whose windows fall together find each other, and never two in succession: a page meets a device that scans each 1.28 s once at least
        /// before it changes its train.
        case some
        case none
    }

    private static let ticksPerPhase = 1 << 12

    private let clock: NativeClock
    private let radio: Radio
    private var interval = Microseconds.zero
    private var window = Microseconds.zero
    private var isInterlaced = false
    var share = Share.all
    /// The start of the first window.
    private var began = Microseconds.zero
    /// Another activity had the radio when the first window of an interval was due.
    private var isLate = false
    /// The number of the interval in which the scanner last listened.
    private var lastHeard: Int?
    private var timer: AirTimer!

    private var loop: RunLoop { radio.air.loop }

    /// - Parameter isDue: the scanner's rest is over.
    init(clock: NativeClock, radio: Radio, isDue: @escaping () -> Void) {
        self.clock = clock
        self.radio = radio
        timer = AirTimer(on: radio.air.loop, isDue)
    }

    /// Counts windows from now on.
    func begin(interval: Microseconds, window: Microseconds, isInterlaced: Bool) {
        (self.interval, self.window, self.isInterlaced) = (interval, window, isInterlaced)
        restart()
    }

    private func restart() {
        began = loop.now
        isLate = false
        lastHeard = nil
    }

    func stop() { timer.cancel() }

    /// Who scans without a pause leaves the radio to others as a scanner of LE does.
    var priority: Int { window == interval ? RadioPriority.scanning : RadioPriority.inquiry }
    /// Interlaced scanning needs room for two windows. Core Vol 2, Part B, 8.3.1 and 8.4.1.
    private var windowsPerInterval: Int { isInterlaced && interval >= window * 2 ? 2 : 1 }

    /// Takes the radio for the rest of the window and of the phase.
    ///
    /// Between the two windows of an interlaced scan the scanner keeps the radio. A first window that another activity took is made up for, and windows are counted
    /// from there on: two scanners that began together would take the same ones from each other again and again. What is lost of an interval after the scanner has
    /// listened in it is not made up for: otherwise each interruption would begin a new interval, and the scan would take the radio from inquiry and page.
    ///
    /// - Returns: nil when the scanner rests or waits for the radio; it scans again when it is told.
    func open(for scanner: any RadioActivity) -> Stretch? {
        timer.cancel()
        radio.reserve(scanner, at: nil)
        let now = loop.now
        if isLate, radio.acquire(scanner) { restart() }
        let number: Int = (now - began) / interval
        let start = began + interval * number
        guard isTaken(number) else {
            rest(scanner, until: start + interval)
            return nil
        }
        let part: Int = (now - start) / window
        guard part < windowsPerInterval else {
            rest(scanner, until: start + interval)
            return nil
        }
        let end = start + window * (part + 1)
        // An ID packet must fall whole into the last window.
        let latest = part + 1 < windowsPerInterval ? end - 1 : end - BREDRPacket.idAirTime
        guard now <= latest else {
            rest(scanner, until: end)
            return nil
        }
        guard radio.acquire(scanner) else {
            isLate = lastHeard != number
            radio.wait(scanner)
            return nil
        }
        lastHeard = number
        let tick = clock.tick(at: now)
        let nextPhase = clock.start(of: (tick / Self.ticksPerPhase + 1) * Self.ticksPerPhase)
        return Stretch(tick: tick, shift: part * 16, end: min(latest, nextPhase - 1))
    }

    /// Of three windows the first or the second, in no rhythm that another device's windows could have.
    private func isTaken(_ number: Int) -> Bool {
        switch share {
        case .all: true
        case .some: number % 3 == (number / 3 + radio.identifier).nonzeroBitCount % 2
        case .none: false
        }
    }

    /// Leaves the radio to others until then.
    func rest(_ scanner: any RadioActivity, until time: Microseconds) {
        timer.set(at: time)
        radio.reserve(scanner, at: time)
        radio.release(scanner)
    }
}
