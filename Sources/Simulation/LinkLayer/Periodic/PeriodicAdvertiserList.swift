import BBPackets

/// The periodic advertiser list. Core Vol 4, Part E, 7.8.70 to 7.8.73.
struct PeriodicAdvertiserList {
    struct Entry: Hashable {
        var advertiser: DeviceAddress
        var sid: UInt8
    }

    let capacity: Int
    private var entries: [Entry] = []

    init(capacity: Int) { self.capacity = capacity }

    var isFull: Bool { entries.count >= capacity }

    func contains(_ entry: Entry) -> Bool { entries.contains(entry) }

    mutating func add(_ entry: Entry) { entries.append(entry) }

    /// Returns false if the entry is not in the list.
    mutating func remove(_ entry: Entry) -> Bool {
        guard let index = entries.firstIndex(of: entry) else { return false }
        entries.remove(at: index)
        return true
    }

    mutating func clear() { entries.removeAll() }
}
