import BBVirtualDongle

/// The way of a host's requests to a virtual dongle.
protocol USBLink: AnyObject {
    /// Receives completions, possibly from within `submit` and `cancel`.
    var complete: ((USBCompletion) -> Void)? { get set }
    func submit(_ request: USBRequest)
    /// Cancels a pending request; false if it was already completed or is unknown.
    @discardableResult func cancel(_ id: UInt32) -> Bool
    func unplug()
}

extension USBDongle: USBLink {}

/// The USB side of the virtual controllers of a run.
struct VirtualUSB: Sendable {
    /// True if every virtual controller is reached through USB, not only those of cases about it.
    var isEverywhere = false
    /// True if hosts select Bulk Serialization mode at the opening, where a dongle offers it.
    var startsSerialised = false
    /// Makes the way to a dongle.
    var link: @Sendable (USBDongle) -> any USBLink = { $0 }
}
