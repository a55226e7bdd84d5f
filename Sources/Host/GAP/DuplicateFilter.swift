import BBPackets

/// Filters repeated reports: same advertiser and same data. Cleared when full.
struct DuplicateFilter {
    private struct Key: Hashable {
        var address: DeviceAddress?
        var isScanResponse: Bool
        var sid: UInt8
        var octets: [UInt8]
    }

    static let most = 1_024
    private var seen: Set<Key> = []

    mutating func isNew(_ report: AdvertisingReport) -> Bool {
        if seen.count >= Self.most { seen = [] }
        return seen.insert(
            Key(address: report.address, isScanResponse: report.isScanResponse, sid: report.sid, octets: report.octets)
        ).inserted
    }
}
