import BBPackets

/// The filter accept list. Core Vol 4, Part E, 7.8.14 to 7.8.17.
struct FilterAcceptList {
    let capacity: Int
    private var entries: [DeviceAddress] = []
    /// True if anonymous advertisements pass.
    private(set) var holdsAnonymous = false

    init(capacity: Int) {
        self.capacity = capacity
    }

    var isEmpty: Bool { entries.isEmpty && !holdsAnonymous }

    func contains(_ address: DeviceAddress?) -> Bool {
        guard let address else { return holdsAnonymous }
        return entries.contains(address)
    }

    mutating func clear() {
        entries.removeAll()
        holdsAnonymous = false
    }

    /// Adds a device; adding it again has no effect. Nil stands for anonymous advertisers. Returns false if the list is full.
    mutating func add(_ address: DeviceAddress?) -> Bool {
        guard !contains(address) else { return true }
        guard entries.count + (holdsAnonymous ? 1 : 0) < capacity else { return false }
        if let address { entries.append(address) } else { holdsAnonymous = true }
        return true
    }

    /// Removes a device; has no effect if it is not in the list.
    mutating func remove(_ address: DeviceAddress?) {
        if let address { entries.removeAll { $0 == address } } else { holdsAnonymous = false }
    }
}
