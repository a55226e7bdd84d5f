import Packets
import Timing

/// Scan windows of a page or inquiry scanner, each followed by a second window in interlaced scan. Core Vol 2, Part B, 8.3.1 and 8.4.1.
final class ScanSchedule {
    /// A part of a window with a constant hop phase.
    struct Stretch {
        /// Tick in which it starts.
        var tick: Int
        /// Offset added to the phase: 16 in the second window of an interlaced scan.
        var shift: Int
        /// Latest start of an ID packet that ends within the window.
        var end: Microseconds
    }

    /// Share of the scan windows that a device uses while it inquires or pages itself.
    enum Share {
        case all
        /// Enough windows for two devices with coinciding windows to find each other, but never two in succession. A page then meets a
        /// device that scans every 1.28 s at least once per train.
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
    /// Start of the first window.
    private var began = Microseconds.zero
    /// Another activity had the radio at the start of an interval's first window.
    private var isLate = false
    /// Number of the last interval in which the scanner listened.
    private var lastHeard: Int?
    private var timer: AirTimer!

    private var loop: RunLoop { radio.air.loop }

    /// - Parameter isDue: called when the scanner's rest is over.
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

    /// Continuous scanning gets the priority of LE scanning.
    var priority: Int { window == interval ? RadioPriority.scanning : RadioPriority.inquiry }
    /// Interlaced scanning needs an interval of at least two windows. Core Vol 2, Part B, 8.3.1 and 8.4.1.
    private var windowsPerInterval: Int { isInterlaced && interval >= window * 2 ? 2 : 1 }

    /// Takes the radio for the rest of the window and of the phase.
    ///
    /// The scanner keeps the radio between the two windows of an interlaced scan. A first window that another activity took is made up for
    /// later, and further windows are counted from there; otherwise two scanners that started together would take the same windows from
    /// each other forever. Time lost after the scanner has listened in an interval is not made up for; otherwise each interruption would
    /// start a new interval, and the scan would take the radio from inquiry and page.
    ///
    /// - Returns: nil if the scanner rests or waits for the radio; it is called again when it may scan.
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
        // An ID packet must end within the last window.
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

    /// Selects the first or second of every three windows in an aperiodic pattern, so that it does not stay in step with another device's windows.
    private func isTaken(_ number: Int) -> Bool {
        switch share {
        case .all: true
        case .some: number % 3 == (number / 3 + radio.identifier).nonzeroBitCount % 2
        case .none: false
        }
    }

    /// Leaves the radio to others until `time`.
    func rest(_ scanner: any RadioActivity, until time: Microseconds) {
        timer.set(at: time)
        radio.reserve(scanner, at: time)
        radio.release(scanner)
    }
}
