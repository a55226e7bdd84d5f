import HCI
import Packets

/// Open connections by their slot in the scheduler, so that a packet finds its connection without a search.
struct ConnectionTable<Link: AnyObject> {
    private var rows: [Link?] = []

    var all: [Link] { rows.compactMap { $0 } }

    subscript(slot: Int) -> Link? {
        get { rows.indices.contains(slot) ? rows[slot] : nil }
        set {
            while rows.count <= slot { rows.append(nil) }
            rows[slot] = newValue
        }
    }

    mutating func removeAll() { rows.removeAll() }
}
