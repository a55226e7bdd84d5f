import BBPackets
import BBTiming

/// One advertisement; a chain of extended reports is joined.
public struct AdvertisingReport: Sendable, Hashable {
    /// Address of the advertiser; nil for an anonymous one.
    public var address: DeviceAddress?
    public var addressType: AddressType
    /// Identity of the advertiser, if there is a bond or the controller has resolved its address.
    public var identity: PeerIdentity?
    public var isLegacy: Bool
    public var isConnectable: Bool
    public var isScannable: Bool
    public var isDirected: Bool
    public var isScanResponse: Bool
    public var primaryPHY = PHY.le1M
    /// PHY of the secondary channels; nil if nothing was received there.
    public var secondaryPHY: PHY?
    /// 0xFF if there is none.
    public var sid: UInt8 = 0xFF
    /// Interval of the set's periodic advertising train; 0 without one.
    public var periodicInterval = Microseconds.zero
    /// dBm; 127 if unknown.
    public var txPower: Int8 = 127
    /// dBm; 127 if unknown.
    public var rssi: Int8
    /// Target address of directed advertising.
    public var target: DeviceAddress?
    public var octets: [UInt8]
    /// The AD structures that the data has in encrypted form, if the key material of the advertiser is known.
    public var decrypted: AdvertisingData?
    /// The controller or host could not store all data.
    public var isTruncated = false

    /// The AD structures.
    public var data: AdvertisingData { AdvertisingData(octets: octets) }
}

extension AdvertisingReport {
    init?(_ report: HCIEvents.LEAdvertisingReport.Report) {
        let type = report.eventType
        guard type.rawValue <= 4, report.data.count <= 31 else { return nil }
        address = DeviceAddress(report.address, kind: report.addressType.kind)
        addressType = report.addressType
        isLegacy = true
        isConnectable = type == .advInd || type == .advDirectInd
        isScannable = type == .advInd || type == .advScanInd
        isDirected = type == .advDirectInd
        isScanResponse = type == .scanRsp
        rssi = report.rssi
        octets = report.data
    }

    /// Returns nil if the fields are contradictory; the data may be incomplete.
    init?(_ report: HCIEvents.LEExtendedAdvertisingReport.Report) {
        let type = ExtendedReportType(rawValue: report.eventType)
        isLegacy = type.contains(.legacy)
        guard report.data.count <= (isLegacy ? 31 : 229), let primary = PHY(rawValue: report.primaryPHY) else { return nil }
        addressType = report.addressType
        address =
            report.addressType == .anonymous
            ? nil : DeviceAddress(report.address, kind: report.addressType.kind)
        isConnectable = type.contains(.connectable)
        isScannable = type.contains(.scannable)
        isDirected = type.contains(.directed)
        isScanResponse = type.contains(.scanResponse)
        primaryPHY = primary
        secondaryPHY = PHY(rawValue: report.secondaryPHY)
        sid = report.advertisingSID
        periodicInterval = report.periodicAdvertisingIntervalMicroseconds
        txPower = report.txPower
        rssi = report.rssi
        octets = report.data
        if isDirected { target = DeviceAddress(report.directAddress, kind: report.directAddressType.kind) }
    }
}

/// Event_Type of LE Extended Advertising Report. Core Vol 4, Part E, 7.7.65.13.
struct ExtendedReportType: OptionSet {
    let rawValue: UInt16
    static let connectable = ExtendedReportType(rawValue: 1 << 0)
    static let scannable = ExtendedReportType(rawValue: 1 << 1)
    static let directed = ExtendedReportType(rawValue: 1 << 2)
    static let scanResponse = ExtendedReportType(rawValue: 1 << 3)
    static let legacy = ExtendedReportType(rawValue: 1 << 4)

    /// Data status: bits 5 and 6.
    enum DataStatus: UInt16 {
        case complete = 0
        case moreToCome = 1
        case truncated = 2
        case reserved = 3
    }

    var dataStatus: DataStatus { DataStatus(rawValue: rawValue >> 5 & 3) ?? .reserved }
}

/// Joins fragments of extended advertising reports; fragments of different sets may be interleaved. Core Vol 4, Part E, 7.7.65.13.
struct ReportAssembler {
    private struct Key: Hashable {
        var address: DeviceAddress?
        var sid: UInt8
        var isScanResponse: Bool
    }

    /// Maximum number of incomplete chains; the oldest is dropped.
    static let chainLimit = 32
    /// Maximum octets of a chain. Core Vol 6, Part B, 2.3.4.9.
    static let lengthLimit = 1650

    private var chains: [(key: Key, report: AdvertisingReport)] = []
    /// Number of incomplete chains dropped.
    private(set) var abandoned = 0

    /// Adds a fragment of extended advertising data.
    ///
    /// - Parameter status: data status of the fragment.
    /// - Returns: the report that is now complete.
    mutating func receive(_ report: AdvertisingReport, status: ExtendedReportType.DataStatus) -> AdvertisingReport? {
        if chains.isEmpty, status == .complete { return report }
        let key = Key(address: report.address, sid: report.sid, isScanResponse: report.isScanResponse)
        var whole = report
        if let index = chains.firstIndex(where: { $0.key == key }) {
            var octets = chains[index].report.octets
            whole.isTruncated = chains[index].report.isTruncated
            let room = max(0, Self.lengthLimit - octets.count)
            if report.octets.count > room { whole.isTruncated = true }
            octets += report.octets.prefix(room)
            whole.octets = octets
            chains.remove(at: index)
        }
        switch status {
        case .complete: return whole
        case .moreToCome:
            if chains.count >= Self.chainLimit {
                chains.removeFirst()
                abandoned += 1
            }
            chains.append((key, whole))
            return nil
        case .truncated, .reserved:
            whole.isTruncated = true
            return whole
        }
    }

    mutating func reset() { chains.removeAll() }
}
