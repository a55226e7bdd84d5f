import Packets

/// How dongles are opened.
public struct USBOptions: Sendable {
    /// What a dongle is known to need, by what its descriptors say.
    public var workarounds: @Sendable (USBDongleDescription) -> USBWorkarounds = { _ in USBWorkarounds() }
    /// Why a dongle is not opened, by what its descriptors say; nil where it may be.
    public var refusal: @Sendable (USBDongleDescription) -> String? = { _ in nil }
    /// Opens dongles that are known to be of no use, and on systems that are known to fail at it.
    public var isForced = false
    public var limits = USBLimits()

    public init() {}
}

/// How long a dongle may take for what happens outside HCI.
public struct USBLimits: Sendable, Hashable {
    /// For what it still has to say from before.
    public var drain = Microseconds.milliseconds(50)
    /// For the answer to the first HCI_Reset.
    public var firstReset = Microseconds.seconds(2)
    /// For the answer to the second one, and to the one after a reset of the port.
    public var laterReset = Microseconds.seconds(4)
    /// Away from the bus after a reset of which nobody knew that it would leave.
    public var unexpectedReconnectTime = Microseconds.seconds(1)
    /// Away from the bus where that was to be expected.
    public var expectedReconnectTime = Microseconds.seconds(6)
    /// For the answer to the last HCI_Reset.
    public var lastReset = Microseconds.milliseconds(300)
    /// To be suspended by the system.
    public var suspension = Microseconds.seconds(3)

    public init() {}

    /// All of them times a factor, for devices and machines that are slow, and for tests.
    public func scaled(by factor: Double) -> USBLimits {
        var limits = self
        for path in [
            \USBLimits.drain, \.firstReset, \.laterReset, \.unexpectedReconnectTime, \.expectedReconnectTime, \.lastReset, \.suspension,
        ] {
            limits[keyPath: path] = Microseconds(Int64(Double(self[keyPath: path].rawValue) * factor))
        }
        return limits
    }
}
