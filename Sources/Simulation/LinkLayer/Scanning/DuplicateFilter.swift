import DequeModule
import Packets

/// Remembers what has been reported. Core Vol 6, Part B, 4.3.3: an advertiser's address for legacy PDUs, with set and data identifiers for extended ones.
struct DuplicateFilter {
    /// What counts as one and the same report.
    struct Key: Hashable {
        var advertiser: DeviceAddress?
        var dataInfo: AdvertisingDataInfo?
        var isScanResponse: Bool
        var isDirected: Bool
    }

    private let capacity: Int
    private var seen: Set<Key> = []
    /// In order of arrival.
    private var order = Deque<Key>()

    init(capacity: Int = 512) {
        self.capacity = capacity
    }

    func contains(_ key: Key) -> Bool { seen.contains(key) }

    /// True for what was not known; when the memory is full, the oldest entry is forgotten.
    mutating func insert(_ key: Key) -> Bool {
        guard seen.insert(key).inserted else { return false }
        if order.count == capacity, let oldest = order.popFirst() { seen.remove(oldest) }
        order.append(key)
        return true
    }

    /// Forgets what was reported in part only.
    mutating func remove(_ key: Key) {
        guard seen.remove(key) != nil, let index = order.firstIndex(of: key) else { return }
        order.remove(at: index)
    }

    mutating func removeAll() {
        seen.removeAll(keepingCapacity: true)
        order.removeAll(keepingCapacity: true)
    }
}
