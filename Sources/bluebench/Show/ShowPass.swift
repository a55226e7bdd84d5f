import BBCapture
import BBPackets
import BBSessions

/// One pass of `bluebench show` over a capture. Options are read before it, because each access of an option looks its value up.
final class ShowPass {
    private(set) var contents = Contents()
    /// Number of packets for which the exported format has no place; nil if there are none.
    var omitted: Int? { output.omitted }

    private var output: PacketOutput
    private var decoder: PacketDecoder
    private let selection: PacketSelection
    private let marks: PacketMarks?
    private let onlyMarked: Bool
    private var notes: CaptureNotes?
    private let changes: NoteOptions
    /// The packets whose notes change and that were not read yet.
    private var missing: Set<Int>
    private let changed: Set<Int>?
    private let onlyFlagged: Bool
    private let copy: CaptureCopy?
    private var keys: AirDecryption?
    private let limit: Int
    private var shown = 0
    private var start: CaptureTime?

    init(
        output: PacketOutput, decoder: PacketDecoder, selection: PacketSelection, marks: PacketMarks?, onlyMarked: Bool,
        notes: CaptureNotes?, changes: NoteOptions, copy: CaptureCopy?, keys: AirDecryption?, limit: Int
    ) {
        (self.output, self.decoder, self.selection, self.marks, self.onlyMarked) = (output, decoder, selection, marks, onlyMarked)
        (self.notes, self.changes, self.copy, self.keys, self.limit) = (notes, changes, copy, keys, limit)
        (changed, onlyFlagged) = (changes.packets, changes.flagged)
        missing = changed ?? []
    }

    /// Writes the lines so far, and waits for more of the file.
    func waitsForMore(_ follower: CaptureFollower) -> Bool {
        output.flush()
        return follower.waitsForMore()
    }

    /// Shows the selected packets. A copy is always completed; lines without a reader are not printed.
    func show(_ reader: CaptureReader) throws {
        while shown < limit, copy != nil || !output.isReaderGone, var record = try reader.next() {
            contents.note(record.content)
            if case .air(let frame) = record.content, let opened = keys?.open(frame) { record.content = .air(opened) }
            note(&record, reader.count)
            try copy?.write(record, reader.interfaces)
            guard try show(record, reader) else { break }
        }
        try finish()
    }

    /// Returns false after the last packet of the selection.
    private func show(_ record: CaptureRecord, _ reader: CaptureReader) throws -> Bool {
        let begin = start ?? record.time
        start = begin
        let elapsed = record.time.nanoseconds.subtractingReportingOverflow(begin.nanoseconds).partialValue
        let isLate = selection.isAfterEnd(reader.count, elapsed)
        if isLate { return copy != nil }
        let marks = marks?[reader.count] ?? []
        // Packets that are not shown are decoded for the state of their connections.
        guard selection.includes(reader.count, elapsed, record), !onlyMarked || !marks.isEmpty, !onlyFlagged || record.isFlagged,
            changed?.contains(reader.count) != false
        else {
            _ = decoder.decode(record)
            return true
        }
        let packet = PacketOutput.Packet(
            number: reader.count, elapsed: elapsed, record: record, interfaces: reader.interfaces, marks: marks)
        if try output.show(packet, &decoder, selection) { shown += 1 }
        return true
    }

    private func note(_ record: inout CaptureRecord, _ number: Int) {
        if !missing.isEmpty, missing.remove(number) != nil, var notes {
            changes.change(&notes, number, at: record.time)
            self.notes = notes
        }
        notes?.apply(to: &record, number)
    }

    /// A sentence if the selection matched no packet of those that were read; nil otherwise.
    func lackOfMatches(among count: Int) -> String? {
        let selects = selection.isPartial || onlyMarked || onlyFlagged
        return selects && shown == 0 && limit > 0 && count > 0 ? "no packet of \(count) matches" : nil
    }

    func finish() throws {
        try copy?.finish()
        try output.finish()
    }

    /// Writes changed notes.
    ///
    /// - Throws: a usage error if a packet does not exist; then nothing is written.
    func saveNotes() throws {
        guard let notes else { return }
        if notes.strangers > 0 {
            Console.complain("\(notes.path) belongs to another capture: \(Console.count(notes.strangers, "packet")) had another time")
        }
        guard changed != nil else { return }
        if let packet = missing.min() { throw CommandFailure(.usage, "there is no packet \(packet); no note was changed") }
        try notes.save()
    }
}

/// A check that a capture contains the requested packets.
struct Contents {
    private var isOurs = false
    /// The reason why the first packet was not read.
    private var impediment: String?

    mutating func note(_ content: CaptureRecord.Content) {
        if case .other(let type, let octets) = content {
            impediment = impediment ?? type.impediment(to: octets)
        } else {
            isOurs = true
        }
    }

    /// A description of missing packets; nil if there are none.
    var lack: String? {
        isOurs ? nil : impediment.map { "has no packets that can be read: \($0)" } ?? "is a capture without packets"
    }
}
