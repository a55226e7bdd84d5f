import Packets

/// Keeps reports back that say what was said before: the same advertiser with the same data. It forgets when it is full.
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
