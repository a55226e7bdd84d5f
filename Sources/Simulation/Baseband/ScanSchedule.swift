import BBPackets
import BBTiming

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

    private static let ticksPerPhase = 1 << 12

    private let clock: NativeClock
    private let radio: Radio
    private var interval = Microseconds.zero
    private var window = Microseconds.zero
    private var isInterlaced = false
    /// True while the device inquires or pages. The distance between its own scan windows then varies from half the interval to the
    /// interval. At a constant distance, windows that coincide with those of the paged device would do so until the page time-out. An
    /// interval of less than 32 windows is extended to 32, so that own scans take at most a sixteenth of the time.
    var isIrregular = false { didSet { length = nextLength } }
    /// Start and number of the current interval.
    private var start = Microseconds.zero
    private var number = 0
    /// Length of the current interval.
    private var length = Microseconds.zero
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
        start = loop.now
        beginInterval()
        isLate = false
    }

    private func beginInterval() {
        number += 1
        length = nextLength
    }

    /// Length of an interval that begins now.
    private var nextLength: Microseconds {
        guard isIrregular else { return interval }
        let fraction = UInt32(truncatingIfNeeded: number) &* 0x9E37_79B9 &+ UInt32(truncatingIfNeeded: radio.identifier) &* 0x6C07_8965
        let longest = max(interval, window * (32 * windowsPerInterval))
        return longest - longest / 2 * Int(fraction >> 20) / (1 << 12)
    }

    private func reach(_ time: Microseconds) {
        while time >= start + length {
            start = start + length
            beginInterval()
        }
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
        reach(now)
        let part: Int = (now - start) / window
        guard part < windowsPerInterval else {
            rest(scanner, until: start + length)
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

    /// Leaves the radio to others until `time`.
    func rest(_ scanner: any RadioActivity, until time: Microseconds) {
        timer.set(at: time)
        radio.reserve(scanner, at: time)
        radio.release(scanner)
    }
}
