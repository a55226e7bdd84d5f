import Packets

/// The identities and keys of peers with private addresses. Core Vol 4, Part E, 7.8.38 to 7.8.41.
struct ResolvingList {
    struct Entry: Equatable {
        var identity: DeviceAddress
        var peerIRK: [UInt8]
        var localIRK: [UInt8]
    }

    enum Addition {
        case added
        /// The identity, or a key that must be unique, is there already.
        case duplicate
        case full
    }

    let capacity: Int
    private(set) var entries: [Entry] = []

    init(capacity: Int) {
        self.capacity = capacity
    }

    mutating func add(_ entry: Entry) -> Addition {
        let isKnown = entries.contains { other in
            other.identity == entry.identity || (other.peerIRK == entry.peerIRK && entry.peerIRK.contains { $0 != 0 })
        }
        if isKnown { return .duplicate }
        guard entries.count < capacity else { return .full }
        entries.append(entry)
        return .added
    }

    /// - Returns: false when the identity is not there.
    mutating func remove(_ identity: DeviceAddress) -> Bool {
        guard let index = entries.firstIndex(where: { $0.identity == identity }) else { return false }
        entries.remove(at: index)
        return true
    }

    mutating func removeAll() { entries.removeAll() }
}
