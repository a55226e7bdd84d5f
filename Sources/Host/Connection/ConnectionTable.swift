import HCI
import Packets

/// The connections that are up, by their place in the scheduler, so that a packet finds its own without a search.
struct ConnectionTable {
    private var rows: [Connection?] = []

    var all: [Connection] { rows.compactMap { $0 } }

    subscript(slot: Int) -> Connection? {
        get { rows.indices.contains(slot) ? rows[slot] : nil }
        set {
            while rows.count <= slot { rows.append(nil) }
            rows[slot] = newValue
        }
    }

    mutating func removeAll() { rows.removeAll() }
}
