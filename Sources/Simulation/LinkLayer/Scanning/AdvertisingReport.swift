import BBPackets
import BBTiming

/// A received advertisement, before it is encoded as a legacy or extended advertising report.
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
    /// PDU type for a legacy report; nil for extended advertising.
    var legacyType: AdvertisingPDUType?
    /// Address of the advertiser; nil for an anonymous one.
    var advertiser: DeviceAddress?
    /// Identity of the advertiser.
    var device: KnownDevice?
    var target: DeviceAddress?
    /// True if the target address belongs to this device.
    var isForOwnAddress = false
    var primaryPHY = PHY.le1M
    /// PHY of the auxiliary packets; nil if none was used.
    var secondaryPHY: PHY?
    var sid: UInt8?
    var txPower: Int8?
    /// Interval of the advertiser's train; 0 without one.
    var periodicInterval: Microseconds = .zero
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
