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

    private static let ticksPerPhase = 1 << 12

    private let clock: NativeClock
    private let radio: Radio
    private var interval = Microseconds.zero
    private var window = Microseconds.zero
    private var isInterlaced = false
    /// Whether the device looks for others itself: then only some windows are taken, so that two of them whose windows fall together find each other.
    var isSharing = false
    /// The start of the first window.
    private var began = Microseconds.zero
    /// Another activity had the radio when a window was due.
    private var isLate = false
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
        began = loop.now
        isLate = false
    }

    func stop() { timer.cancel() }

    /// Who scans without a pause leaves the radio to others as a scanner of LE does.
    var priority: Int { window == interval ? RadioPriority.scanning : RadioPriority.inquiry }
    /// Interlaced scanning needs room for two windows. Core Vol 2, Part B, 8.3.1 and 8.4.1.
    private var windowsPerInterval: Int { isInterlaced && interval >= window * 2 ? 2 : 1 }

    /// Takes the radio for the rest of the window and of the phase.
    ///
    /// A window that another activity took is made up for, and windows are counted from there on: two scanners that began together would take the same ones from
    /// each other again and again.
    ///
    /// - Returns: nil when the scanner rests or waits for the radio; it scans again when it is told.
    func open(for scanner: any RadioActivity) -> Stretch? {
        timer.cancel()
        radio.reserve(scanner, at: nil)
        let now = loop.now
        if isLate, radio.acquire(scanner) {
            began = now
            isLate = false
        }
        let number: Int = (now - began) / interval
        let start = began + interval * number
        guard !isSharing || isTaken(number) else {
            rest(scanner, until: start + interval)
            return nil
        }
        let part: Int = (now - start) / window
        guard part < windowsPerInterval else {
            rest(scanner, until: start + interval)
            return nil
        }
        let end = start + window * (part + 1)
        // An ID packet must fall whole into the window.
        guard now + BREDRPacket.idAirTime <= end else {
            rest(scanner, until: end)
            return nil
        }
        guard radio.acquire(scanner) else {
            isLate = true
            radio.wait(scanner)
            return nil
        }
        let tick = clock.tick(at: now)
        let nextPhase = clock.start(of: (tick / Self.ticksPerPhase + 1) * Self.ticksPerPhase)
        return Stretch(tick: tick, shift: part * 16, end: min(end - BREDRPacket.idAirTime, nextPhase - 1))
    }

    /// Every second window or so, in no rhythm that another device's windows could have. Two devices leave out different ones.
    private func isTaken(_ number: Int) -> Bool { (number.nonzeroBitCount + radio.identifier) % 2 == 0 }

    /// Leaves the radio to others until then.
    func rest(_ scanner: any RadioActivity, until time: Microseconds) {
        timer.set(at: time)
        radio.reserve(scanner, at: time)
        radio.release(scanner)
    }
}
