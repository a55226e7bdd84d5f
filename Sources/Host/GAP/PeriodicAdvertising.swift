import BBPackets

/// Parameters and data of a periodic advertising train. Core Vol 4, Part E, 7.8.61 and 7.8.62.
public struct PeriodicSettings: Sendable, Hashable {
    /// N x 1.25 ms, 0x0006...0xFFFF.
    public var intervalMin: UInt16 = 0x0050
    /// N x 1.25 ms, 0x0006...0xFFFF.
    public var intervalMax: UInt16 = 0x0050
    /// Sends the transmit power in each event.
    public var includesTxPower = false
    /// At most what `LE_Read_Maximum_Advertising_Data_Length` says, and what the interval holds.
    public var data: [UInt8]

    public init(data: AdvertisingData = AdvertisingData()) { self.data = data.octets }
}

/// The train of an advertising set. It is sent until it is stopped, whether its set advertises or not. Core Vol 6, Part B, 4.4.2.12.
extension AdvertisingSet {
    /// Starts the train. The set must be extended, and neither connectable, scannable nor anonymous.
    ///
    /// - Throws: `HostError.misuse(.unsupported)`, `.peer(.rejected)` with the controller's reason.
    public func startPeriodic(_ settings: PeriodicSettings) async throws {
        guard owner.host.controller.leFeatures.contains(.lePeriodicAdvertising) else {
            throw HostError.misuse(.unsupported(.periodicAdvertising))
        }
        try await owner.host.send(
            HCICommands.LESetPeriodicAdvertisingParameters(
                advertisingHandle: handle, periodicAdvertisingIntervalMin: settings.intervalMin,
                periodicAdvertisingIntervalMax: settings.intervalMax, periodicAdvertisingProperties: settings.includesTxPower ? 0x40 : 0))
        try await sendPeriodic(settings.data)
        try await enablePeriodic(true)
    }

    /// Replaces the data of the train. Data that needs several commands, of more than 251 octets, is taken only while the train is off: it
    /// begins anew then, and syncs with it are lost. Core Vol 4, Part E, 7.8.62.
    public func setPeriodicData(_ data: [UInt8]) async throws {
        guard Advertising.fragments(data).count > 1 else { return try await sendPeriodic(data) }
        try await enablePeriodic(false)
        do { try await sendPeriodic(data) } catch {
            try await enablePeriodic(true)
            throw error
        }
        try await enablePeriodic(true)
    }

    /// Ends the train; the set may go on.
    public func stopPeriodic() async throws { try await enablePeriodic(false) }

    private func enablePeriodic(_ isOn: Bool) async throws {
        try await owner.host.send(HCICommands.LESetPeriodicAdvertisingEnable(enable: isOn ? 1 : 0, advertisingHandle: handle))
    }

    private func sendPeriodic(_ data: [UInt8]) async throws {
        for (operation, part) in Advertising.fragments(data) {
            try await owner.host.send(
                HCICommands.LESetPeriodicAdvertisingData(advertisingHandle: handle, operation: operation, advertisingData: part))
        }
    }
}
