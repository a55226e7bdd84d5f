import BBTransport

extension HCITransport {
    /// The USB dongle behind the pipe; nil for another device.
    public var dongle: USBTransport? { (self as? FirmwareTransport)?.inner as? USBTransport ?? self as? USBTransport }

    /// Result of the firmware check; nil before it, after a failure, and for a device that is not checked.
    public var firmware: FirmwareOutcome? { (self as? FirmwareTransport)?.outcome }

    /// Opens the pipe and waits until the chip has its firmware; returns at once for a device that is not checked.
    ///
    /// - Throws: `TransportError.unprepared` with the cause, or the reason why the pipe ended.
    public func loadFirmware() async throws { _ = try await (self as? FirmwareTransport)?.prepare() }
}
