import BBCapture
import BBPackets

/// `show A --diff B`: compares the PDUs of two captures by interface, direction and name.
package struct CaptureDifference {
    private struct Entry {
        var packet: Int
        var text: String
    }

    /// Number of packets between which differences are searched; the time grows with its square.
    private static let most = 5_000
    /// Number of equal packets around a difference.
    private static let context = 3

    private let selection: PacketSelection
    private let names: Bool
    private let show: (String) -> Void

    /// - Parameter show: called with each line.
    package init(_ selection: PacketSelection, names: Bool, show: @escaping (String) -> Void) {
        (self.selection, self.names, self.show) = (selection, names, show)
    }

    /// Shows the differences.
    ///
    /// - Returns: true if there is none.
    package func tell(_ paths: (first: String, second: String)) throws -> Bool {
        let (first, second) = (try entries(paths.first), try entries(paths.second))
        guard !first.isEmpty || !second.isEmpty else {
            throw CommandFailure(.usage, "no packet of the two captures matches: nothing was compared")
        }
        let start = zip(first, second).prefix { $0.text == $1.text }.count
        let room = min(first.count, second.count) - start
        let end = zip(first.reversed(), second.reversed()).prefix(room).prefix { $0.text == $1.text }.count
        guard start + end < max(first.count, second.count) else {
            show("\(Plural.count(first.count, "packet")), the same PDUs in both")
            return true
        }
        let (inner, other) = (first[start..<first.count - end], second[start..<second.count - end])
        guard inner.count <= Self.most, other.count <= Self.most else {
            throw CommandFailure(
                .usage, "more than \(Self.most) packets between the first difference and the last: --from, --to and --layer select fewer")
        }
        show("--- \(PlainText.escaped(paths.first))\n+++ \(PlainText.escaped(paths.second))")
        for line in Self.lines(first, second, from: start, to: end) { show(line) }
        return false
    }

    private func entries(_ path: String) throws -> [Entry] {
        var decoder = PacketDecoder(names: names)
        var entries: [Entry] = []
        var start: CaptureTime?
        do {
            let reader = try CaptureReader(path: path)
            while let record = try reader.next() {
                let begin = start ?? record.time
                start = begin
                let elapsed = record.time.nanoseconds.subtractingReportingOverflow(begin.nanoseconds).partialValue
                let decoded = decoder.decode(record)
                guard selection.includes(reader.count, elapsed, record), selection.includes(decoded),
                    selection.includes(line: Array(decoded.description.utf8)[...])
                else { continue }
                let packet = PacketOutput.Packet(
                    number: reader.count, elapsed: elapsed, record: record, interfaces: reader.interfaces, marks: [])
                entries.append(Entry(packet: reader.count, text: PacketLine.name(of: packet, decoded)))
            }
        } catch { throw CommandFailure(.usage, "\(error)") }
        return entries
    }

    /// The changed entries as lines of a unified diff, between equal ones.
    private static func lines(_ first: [Entry], _ second: [Entry], from start: Int, to end: Int) -> [String] {
        let (inner, other) = (Array(first[start..<first.count - end]), Array(second[start..<second.count - end]))
        let difference = other.difference(from: inner) { $0.text == $1.text }
        var (removed, added): (Set<Int>, Set<Int>) = ([], [])
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(start + offset)
            case .insert(let offset, _, _): added.insert(start + offset)
            }
        }
        var lines: [String] = []
        var (i, j, waiting) = (max(0, start - context), max(0, start - context), [String]())
        func flush() {
            if waiting.count > 2 * context, !lines.isEmpty {
                lines += waiting.prefix(context) + ["..."] + waiting.suffix(context)
            } else {
                lines += lines.isEmpty ? waiting.suffix(context) : waiting[...]
            }
            waiting = []
        }
        while i < first.count || j < second.count {
            if removed.contains(i) {
                flush()
                lines.append("- \(first[i].text) (packet \(first[i].packet))")
                i += 1
            } else if added.contains(j) {
                flush()
                lines.append("+ \(second[j].text) (packet \(second[j].packet))")
                j += 1
            } else {
                if i >= first.count || j >= second.count { break }
                waiting.append("  " + first[i].text)
                (i, j) = (i + 1, j + 1)
            }
        }
        return lines + waiting.prefix(context)
    }
}
