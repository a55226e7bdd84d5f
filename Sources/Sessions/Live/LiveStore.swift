import BBCapture
import BBDiagnosis
import BBPackets

/// The packets of a running capture, for the page: each with its text, and copies of the decoder's state from which any packet can be
/// decoded again.
package final class LiveStore {
    let interfaces: [CaptureInterface]
    private(set) var records: [CaptureRecord] = []
    private(set) var notes: CaptureNotes
    /// Changes with every change of a note.
    private(set) var noteVersion = 0
    private(set) var rates = LiveRates()
    /// Severities of the findings by packet number.
    private(set) var marks: [Int: DiagnosisRule.Severity] = [:]
    private(set) var findings: [Finding] = []
    /// Number of packets that came after the store was full.
    private(set) var omitted = 0

    private var decoder: PacketDecoder
    private var examiner: Examiner
    /// States of the decoder before each block of packets, and the names of the PDUs in it.
    private var blocks: [(decoder: PacketDecoder, names: Set<String>)] = []
    private var text = TextBuffer()
    private var ends: [Int] = []
    private var kinds: [PacketKind] = []
    private var findingsCount = 0

    static let blockSize = 1_024
    /// About 1 GB.
    private static let most = 4_000_000

    package init(_ interfaces: [CaptureInterface], names: Bool, rules: [DiagnosisRule], notes: CaptureNotes) {
        (self.interfaces, self.notes) = (interfaces, notes)
        decoder = PacketDecoder(names: names)
        examiner = Examiner(rules: rules, showsSecrets: true)
    }

    var count: Int { records.count }
    var blockCount: Int { blocks.count }

    /// Nanoseconds from the first packet to this one.
    func elapsed(_ index: Int) -> Int64 {
        records[index].time.nanoseconds.subtractingReportingOverflow(records[0].time.nanoseconds).partialValue
    }

    func kind(_ index: Int) -> PacketKind { kinds[index] }
    func line(_ index: Int) -> ArraySlice<UInt8> { text.utf8[(index > 0 ? ends[index - 1] : 0)..<ends[index]] }

    /// Adds a packet and returns it decoded; nil if there is no room.
    func add(_ record: CaptureRecord) -> DecodedPacket? {
        guard records.count < Self.most else {
            omitted += 1
            return nil
        }
        if records.count % Self.blockSize == 0 { blocks.append((decoder, [])) }
        records.append(record)
        let decoded = decoder.decode(record)
        for layer in decoded.layers where layer.declaration != nil { blocks[blocks.count - 1].names.insert(layer.name) }
        decoded.write(to: &text)
        ends.append(text.utf8.count)
        kinds.append(PacketKind(decoded))
        rates.add(record, at: elapsed(records.count - 1))
        examiner.examine(record, decoded)
        return decoded
    }

    /// Names of the PDUs in a block.
    func names(ofBlock block: Int) -> Set<String> { blocks[block].names }

    /// The decoder's state before a block.
    func decoder(beforeBlock block: Int) -> PacketDecoder { blocks[block].decoder }

    func decode(_ wanted: Int) -> DecodedPacket {
        var decoder = blocks[wanted / Self.blockSize].decoder
        for index in (wanted / Self.blockSize * Self.blockSize)..<wanted { _ = decoder.decode(records[index]) }
        return decoder.decode(records[wanted])
    }

    // MARK: Marks and notes

    /// Takes the findings of the rules so far.
    func updateMarks() {
        let all = examiner.findings
        let count = all.reduce(0) { $0 + $1.count }
        guard count != findingsCount else { return }
        (findingsCount, findings) = (count, all)
        marks = [:]
        for finding in all {
            for packet in finding.packets {
                marks[packet] = min(marks[packet] ?? finding.rule.severity, finding.rule.severity)
            }
        }
    }

    func set(_ number: Int, comment: String?, isFlagged: Bool?) throws {
        notes.set(number, at: records[number - 1].time, comment: comment, isFlagged: isFlagged)
        noteVersion += 1
        try notes.save()
    }

    /// A packet's record with its notes.
    func noted(_ index: Int) -> CaptureRecord {
        var record = records[index]
        notes.apply(to: &record, index + 1)
        return record
    }
}
