import BBPackets

/// Options for opening USB dongles.
public struct USBOptions: Sendable {
    /// Workarounds that a dongle needs, selected by its USB description.
    public var workarounds: @Sendable (USBDongleDescription) -> USBWorkarounds = { _ in USBWorkarounds() }
    /// Reason for not opening a dongle, by its USB description; nil to open it.
    public var refusal: @Sendable (USBDongleDescription) -> String? = { _ in nil }
    /// True to open dongles known not to work, and dongles on systems known not to work.
    public var isForced = false
    public var mode = USBMode.auto
    public var limits = USBLimits()

    public init() {}
}

/// Timeouts outside HCI.
public struct USBLimits: Sendable, Hashable {
    /// The time for which stale input is discarded after opening.
    public var drain = Microseconds.milliseconds(50)
    /// Timeout of the first HCI_Reset.
    public var firstReset = Microseconds.seconds(2)
    /// Timeout of the second HCI_Reset and of the one after a port reset.
    public var laterReset = Microseconds.seconds(4)
    /// Maximum time off the bus after an unexpected re-enumeration.
    public var unexpectedReconnectTime = Microseconds.seconds(1)
    /// Maximum time off the bus after an expected re-enumeration.
    public var expectedReconnectTime = Microseconds.seconds(6)
    /// Timeout of the HCI_Reset before closing.
    public var lastReset = Microseconds.milliseconds(300)
    /// Timeout for the system to suspend the device.
    public var suspension = Microseconds.seconds(3)

    public init() {}

    /// All timeouts times a factor, for slow devices and machines, and for tests.
    public func scaled(by factor: Double) -> USBLimits {
        var limits = self
        for path in [
            \USBLimits.drain, \.firstReset, \.laterReset, \.unexpectedReconnectTime, \.expectedReconnectTime, \.lastReset, \.suspension,
        ] {
            limits[keyPath: path] = Microseconds(Int64(saturating: Double(self[keyPath: path].rawValue) * factor))
        }
        return limits
    }
}
