import Capture
import Packets

/// The packets of a selection. A new selection is applied to the newest packets first, block by block; packets that come meanwhile are
/// judged as they come.
final class LiveView {
    private let selection: PacketSelection
    /// Indices of the packets before the selection was made, newest first.
    private var older: [Int] = []
    private var newer: [Int] = []
    /// The block to judge next; negative at the end.
    private var block: Int
    private let start: Int
    var lastUse = 0

    /// Blocks to judge by their text in one turn of the loop. A block that is decoded is a turn of its own.
    private static let turn = 16

    init(_ selection: PacketSelection, _ store: LiveStore) {
        self.selection = selection
        start = store.count
        block = start == 0 ? -1 : (start - 1) / LiveStore.blockSize
    }

    var isDone: Bool { block < 0 }
    /// Part of the older packets that is judged, 0 to 1.
    var progress: Double {
        start == 0 ? 1 : 1 - Double((block + 1) * LiveStore.blockSize) / Double(max(start, (block + 1) * LiveStore.blockSize))
    }
    var count: Int { older.count + newer.count }

    /// Index of the packet in a row.
    subscript(row: Int) -> Int { row < older.count ? older[older.count - 1 - row] : newer[row - older.count] }

    /// Judges a packet that has just come.
    func add(_ index: Int, _ decoded: DecodedPacket, _ store: LiveStore) {
        if selection.includes(decoded), selection.includes(line: store.line(index)), isInPlace(index, store) { newer.append(index) }
    }

    /// Judges the next blocks.
    func scan(_ store: LiveStore) {
        var effort = 0
        while block >= 0, effort < Self.turn {
            let range = (block * LiveStore.blockSize)..<min((block + 1) * LiveStore.blockSize, start)
            if !selection.mayInclude(store.names(ofBlock: block)) {
                block -= 1
                continue
            }
            var found: [Int] = []
            if selection.needsFields {
                effort += Self.turn
                store.decode(block: block) { index, decoded in
                    guard index < range.upperBound, isInPlace(index, store), selection.includes(decoded),
                        selection.includes(line: store.line(index))
                    else { return }
                    found.append(index)
                }
            } else {
                effort += 1
                found = range.filter { isInPlace($0, store) && selection.includes(line: store.line($0)) }
            }
            older += found.reversed()
            block -= 1
        }
    }

    private func isInPlace(_ index: Int, _ store: LiveStore) -> Bool {
        selection.includes(index + 1, store.elapsed(index), store.records[index])
    }

    /// The row of a packet, or of the next one after it.
    func row(of index: Int) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < index { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func contains(_ index: Int) -> Bool {
        let row = row(of: index)
        return row < count && self[row] == index
    }
}
