import Packets

/// What a scanner heard, before it is put into the words of a legacy or an extended report.
struct AdvertisingReport {
    enum DataStatus: UInt8 {
        case complete = 0
        case moreToCome = 1
        case truncated = 2
    }

    var isConnectable = false
    var isScannable = false
    var isDirected = false
    var isScanResponse = false
    /// The PDU that a legacy report names; nil for extended advertising.
    var legacyType: AdvertisingPDUType?
    /// Nil for an anonymous advertiser.
    var advertiser: DeviceAddress?
    /// Whose the advertiser's address is.
    var device: KnownDevice?
    var target: DeviceAddress?
    /// Whether the target's address is this side's.
    var isForOwnAddress = false
    var primaryPHY = PHY.le1M
    /// Nil where no auxiliary packet was used.
    var secondaryPHY: PHY?
    var sid: UInt8?
    var txPower: Int8?
    var rssi: Int8
    var status = DataStatus.complete
    var data: [UInt8] = []

    init(rssi: Int8) { self.rssi = rssi }

    /// Event_Type of the extended report. Core Vol 4, Part E, 7.7.65.13.
    var extendedEventType: UInt16 {
        (isConnectable ? 0x01 : 0) | (isScannable ? 0x02 : 0) | (isDirected ? 0x04 : 0) | (isScanResponse ? 0x08 : 0)
            | (legacyType != nil ? 0x10 : 0) | UInt16(status.rawValue) << 5
    }
}
