import Packets

/// One advertisement as a scanner reports it; a chain of extended reports has become one.
public struct AdvertisingReport: Sendable, Hashable {
    /// Nil for an anonymous advertiser.
    public var address: DeviceAddress?
    public var addressType: AddressType
    public var isLegacy: Bool
    public var isConnectable: Bool
    public var isScannable: Bool
    public var isDirected: Bool
    public var isScanResponse: Bool
    public var primaryPHY = PHY.le1M
    /// Nil if nothing came on the secondary channels.
    public var secondaryPHY: PHY?
    /// 0xFF if there is none.
    public var sid: UInt8 = 0xFF
    /// dBm; 127 if unknown.
    public var txPower: Int8 = 127
    /// dBm; 127 if unknown.
    public var rssi: Int8
    /// The target of directed advertising.
    public var target: DeviceAddress?
    public var octets: [UInt8]
    /// The controller or the host could not keep all of the data.
    public var isTruncated = false

    /// The AD structures.
    public var data: AdvertisingData { AdvertisingData(octets: octets) }
}

extension AdvertisingReport {
    init?(_ report: HCIEvents.LEAdvertisingReport.Report) {
        guard report.eventType.rawValue <= 4, report.data.count <= 31 else { return nil }
        let type = report.eventType
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

    /// Nil if the fields contradict each other; the data may be a part.
    init?(_ report: HCIEvents.LEExtendedAdvertisingReport.Report) {
        let type = report.eventType
        isLegacy = type & 0x10 != 0
        guard report.data.count <= (isLegacy ? 31 : 229), let primary = PHY(rawValue: report.primaryPHY) else { return nil }
        addressType = report.addressType
        address =
            report.addressType == .anonymous
            ? nil : DeviceAddress(report.address, kind: report.addressType.kind)
        isConnectable = type & 1 != 0
        isScannable = type & 2 != 0
        isDirected = type & 4 != 0
        isScanResponse = type & 8 != 0
        primaryPHY = primary
        secondaryPHY = PHY(rawValue: report.secondaryPHY)
        sid = report.advertisingSID
        txPower = report.txPower
        rssi = report.rssi
        octets = report.data
        if isDirected { target = DeviceAddress(report.directAddress, kind: report.directAddressType.kind) }
    }
}

/// Joins the parts of extended advertising reports; parts of different sets may come mixed. Core Vol 4, Part E, 7.7.65.13.
struct ReportAssembler {
    private struct Key: Hashable {
        var address: DeviceAddress?
        var sid: UInt8
        var isScanResponse: Bool
    }

    /// Chains that may be open at once; the oldest makes room.
    static let chainLimit = 32
    /// Octets of one chain. Core Vol 6, Part B, 2.3.4.9.
    static let lengthLimit = 1650

    private var chains: [(key: Key, report: AdvertisingReport)] = []
    /// Chains that never ended.
    private(set) var abandoned = 0

    /// - Parameter status: Data_Status: 0 complete, 1 more to come, 2 truncated.
    /// - Returns: the report that is now complete.
    mutating func receive(_ report: AdvertisingReport, status: UInt8) -> AdvertisingReport? {
        if chains.isEmpty, status == 0 { return report }
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
        case 0: return whole
        case 1:
            if chains.count >= Self.chainLimit {
                chains.removeFirst()
                abandoned += 1
            }
            chains.append((key, whole))
            return nil
        default:
            whole.isTruncated = true
            return whole
        }
    }

    mutating func reset() { chains.removeAll() }
}
