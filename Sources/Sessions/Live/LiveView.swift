import BBCapture
import BBPackets

/// The packets of a selection. A new selection is judged from the newest block of packets back, a few packets in a turn of the loop; packets
/// that come meanwhile are judged as they come.
final class LiveView {
    private let selection: PacketSelection
    /// Indices of the packets before the selection was made, newest first.
    private var older: [Int] = []
    private var newer: [Int] = []
    /// The block to judge next; negative at the end.
    private var block: Int
    private let start: Int
    var lastUse = 0

    /// A block of which some packets are judged.
    private struct Part {
        /// Nil if the text of packets decides.
        var decoder: PacketDecoder?
        var next: Int
        var end: Int
        var found: [Int] = []
    }

    private var current: Part?
    /// Packets to judge in one turn of the loop, which is about a millisecond, and before the first answer.
    private static let turn = 128
    private static let first = 1_024

    init(_ selection: PacketSelection, _ store: LiveStore) {
        self.selection = selection
        start = store.count
        block = start == 0 ? -1 : (start - 1) / LiveStore.blockSize
    }

    var isDone: Bool { block < 0 && current == nil }
    /// Part of the older packets that is judged, 0 to 1.
    var progress: Double { isDone ? 1 : min(0.99, 1 - Double((block + 1) * LiveStore.blockSize) / Double(max(1, start))) }
    var count: Int { older.count + newer.count }

    /// Index of the packet in a row.
    subscript(row: Int) -> Int { row < older.count ? older[older.count - 1 - row] : newer[row - older.count] }

    /// Judges a packet that has just come.
    func add(_ index: Int, _ decoded: DecodedPacket, _ store: LiveStore) {
        if selection.includes(decoded), selection.includes(line: store.line(index)), isInPlace(index, store) { newer.append(index) }
    }

    /// Judges the next packets, and more of them before the first answer.
    func scan(_ store: LiveStore, isFirst: Bool = false) {
        var left = isFirst ? Self.first : Self.turn
        while left > 0, var part = current ?? nextPart(store) {
            current = nil
            let stop = min(part.end, part.next + left)
            left -= stop - part.next
            while part.next < stop {
                if includes(part.next, part.decoder?.decode(store.records[part.next]), store) { part.found.append(part.next) }
                part.next += 1
            }
            if part.next < part.end { current = part } else { older += part.found.reversed() }
        }
    }

    private func includes(_ index: Int, _ decoded: DecodedPacket?, _ store: LiveStore) -> Bool {
        isInPlace(index, store) && decoded.map { selection.includes($0) } ?? true && selection.includes(line: store.line(index))
    }

    /// The next block in which the selection can hold for a packet.
    private func nextPart(_ store: LiveStore) -> Part? {
        while block >= 0 {
            let number = block
            block -= 1
            guard selection.mayInclude(store.names(ofBlock: number)) else { continue }
            return Part(
                decoder: selection.needsFields ? store.decoder(beforeBlock: number) : nil, next: number * LiveStore.blockSize,
                end: min((number + 1) * LiveStore.blockSize, start))
        }
        return nil
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
