import BBPackets
import DequeModule

/// Advertisements already reported. Core Vol 6, Part B, 4.3.3. Legacy PDUs are identified by the advertiser's address, extended ones also
/// by SID and DID.
struct DuplicateFilter {
    /// Properties that identify duplicate reports.
    struct Key: Hashable {
        var advertiser: DeviceAddress?
        var dataInfo: AdvertisingDataInfo?
        var isScanResponse: Bool
        var isDirected: Bool
    }

    private let capacity: Int
    private var seen: Set<Key> = []
    /// Keys in order of arrival.
    private var order = Deque<Key>()

    init(capacity: Int = 512) {
        self.capacity = capacity
    }

    func contains(_ key: Key) -> Bool { seen.contains(key) }

    /// Returns true for a new key. If the filter is full, the oldest key is removed.
    mutating func insert(_ key: Key) -> Bool {
        guard seen.insert(key).inserted else { return false }
        if order.count == capacity, let oldest = order.popFirst() { seen.remove(oldest) }
        order.append(key)
        return true
    }

    /// Removes the key of an advertisement that was only reported in part.
    mutating func remove(_ key: Key) {
        guard seen.remove(key) != nil, let index = order.firstIndex(of: key) else { return }
        order.remove(at: index)
    }

    mutating func removeAll() {
        seen.removeAll(keepingCapacity: true)
        order.removeAll(keepingCapacity: true)
    }
}
