import BBPackets
import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// USB power management of a device through its sysfs files on Linux.
struct USBPower {
    enum Finding: Equatable {
        /// The system does not suspend it, or its state is unknown.
        case awake
        /// Autosuspend was on and is turned off for the run.
        case keptAwake
        /// Autosuspend is on and the user may not change it.
        case mayBeSuspended
    }

    /// The sysfs folder of the device.
    let folder: String
    /// Autosuspend was turned off for the run.
    private var isKeptAwake = false
    private var control: String { folder + "/power/control" }

    init(bus: Int, ports: [Int]) { folder = USBSystem.folder(bus: bus, ports: ports) }

    mutating func keepAwake() -> Finding {
        guard USBSystem.text(of: control) == "auto" else { return .awake }
        isKeptAwake = write("on", to: control)
        return isKeptAwake ? .keptAwake : .mayBeSuspended
    }

    /// Restores autosuspend if it was turned off.
    func restore() { if isKeptAwake { _ = write("auto", to: control) } }

    /// Shell command that turns autosuspend off.
    var advice: String { "echo on | sudo tee \(control)" }

    /// Makes the system suspend the device once and wakes it up again. The device must not be open.
    ///
    /// - Returns: nil on success, otherwise the reason for the failure.
    func suspendOnce(within limit: Microseconds) -> String? {
        guard let before = USBSystem.text(of: control) else { return "this system does not let devices be suspended" }
        let delay = folder + "/power/autosuspend_delay_ms"
        let delayBefore = USBSystem.text(of: delay)
        guard write("0", to: delay), write("auto", to: control) else {
            return "this user may not: echo auto | sudo tee \(control), wait some seconds, then try again"
        }
        let deadline = MonotonicClock.now() + limit
        while USBSystem.text(of: folder + "/power/runtime_status") != "suspended", MonotonicClock.now() < deadline { usleep(20_000) }
        let isSuspended = USBSystem.text(of: folder + "/power/runtime_status") == "suspended"
        _ = write("on", to: control)
        _ = write(delayBefore ?? "2000", to: delay)
        if before != "on" { _ = write(before, to: control) }
        return isSuspended ? nil : "the system did not suspend it within \(Int(saturating: limit.milliseconds)) ms"
    }

    private func write(_ text: String, to path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let octets = Array(text.utf8) + [10]
        #if canImport(Glibc)
            return Glibc.write(descriptor, octets, octets.count) == octets.count
        #else
            return Darwin.write(descriptor, octets, octets.count) == octets.count
        #endif
    }
}
