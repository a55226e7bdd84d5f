import BBHCI
import BBTiming

/// The figures of a dongle's openings that have been closed.
struct USBAccount {
    /// Number of transfers that did not complete at closing; they keep the handle open.
    var leakedTransfers = 0
    var clearedHalts = 0
    var voice = VoiceStatistics()
    var oddities = USBOddities()
}

/// The end of a dongle's pipe.
struct USBEnding {
    var isOver = false
    /// The dongle has left the bus.
    var isLost = false
    /// The port is reset at the end, because the chip does not answer any more.
    var resetsPort = false
    /// The dongle goes back to the legacy mode first, because it does not send packets any more.
    var leavesMode = false
}

/// The dongle that a pipe was opened for.
struct USBReservation {
    let identity: USBDeviceIdentity
    /// Connection speed; nil if the system does not report it.
    let speed: USBSpeed?
    /// Prevents use by other instances of the bench; nil after closing.
    var lock: DongleLock?
}

/// Firmware loading by the user of a dongle's pipe.
struct USBLoading {
    /// True while firmware is loaded: the dongle may leave the bus and return.
    var isActive = false
    /// True while a boot loader takes the image commands on the bulk pipe and answers there.
    var usesBulkPipe = false
    /// Called when the dongle has returned during firmware loading.
    var onReturn: (() -> Void)?
}

/// The timers of a dongle's pipe.
struct USBTimers {
    var ladder: Timer?
    var order: Timer?
    var reconnect: Timer?

    var all: [Timer] { [ladder, order, reconnect].compactMap(\.self) }
}
