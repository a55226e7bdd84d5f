import BBPackets

/// Reads text with whole packets: logs of BTstack, Bumble and Zephyr, raw dumps of hcidump, hexadecimal dumps that text2pcap takes, and
/// the Bluetooth log in a bug report of Android.
struct LogDecoder: RecordDecoder {
    private let input: RecordInput
    private var bugReport: BTSnooz?
    private var waiting: CaptureRecord?
    private var dump = HexDump()
    private var hint: CaptureHint = .text
    private var time: Int64 = 0

    /// Longest text that is searched for its first packet.
    private static let longestPreamble = 1 << 30

    /// - Throws: `withoutPackets` if the text has none.
    init(_ input: RecordInput) throws(CaptureError) {
        self.input = input
        input.interfaces = [CaptureInterface(name: "hci", linkType: .h4)]
        waiting = try read()
        if waiting == nil { throw .withoutPackets(path: input.source.path, what: hint) }
    }

    /// True if a file begins with text.
    static func recognises(_ prefix: ArraySlice<UInt8>) -> Bool {
        guard !prefix.isEmpty else { return false }
        return prefix.allSatisfy { $0 >= 0x20 && $0 != 0x7F || (9...13).contains($0) || $0 == 0x1B }
    }

    mutating func next() throws(CaptureError) -> CaptureRecord? {
        if let record = waiting {
            waiting = nil
            return record
        }
        return try read()
    }

    private mutating func read() throws(CaptureError) -> CaptureRecord? {
        while true {
            if let record = bugReport?.next() { return record }
            bugReport = nil
            guard input.packets > 0 || input.source.offset < Self.longestPreamble, let line = try input.line() else {
                guard let last = dump.finish() else { return nil }
                return record(last)
            }
            if line.starts(with: BTSnooz.begin) {
                bugReport = try readBugReport()
                continue
            }
            if let found = packet(in: LogText.plain(line)[...]) { return found }
        }
    }

    private mutating func readBugReport() throws(CaptureError) -> BTSnooz? {
        var text: [UInt8] = []
        while let line = try input.line(), !line.starts(with: BTSnooz.end) {
            guard text.count < BTSnooz.longestText else { throw input.malformed("a Bluetooth log of more than \(text.count >> 20) MB") }
            text += line
        }
        return BTSnooz(base64: text)
    }

    /// The packet that a line contains or completes.
    private mutating func packet(in line: ArraySlice<UInt8>) -> CaptureRecord? {
        note(line)
        if hint == .btmon || hint == .hcidump { return nil }
        let completed = dump.add(line)
        if let completed { return record(completed) }
        if dump.isOpen { return nil }
        guard let found = LogLine.packet(in: line) else { return nil }
        if let stamp = LogTime.parse(line) { time = stamp }
        return record(found)
    }

    private mutating func record(_ found: LogPacket) -> CaptureRecord {
        if let stamp = found.time { time = stamp }
        var record = CaptureRecord(time: CaptureTime(nanoseconds: time), content: found.content)
        if case .hci(let packet, _) = found.content, let whole = HCIPacket.wholeLength(packet.kind, packet.bytes[...]),
            whole > packet.bytes.count
        {
            record.cutFrom = whole + 1
        }
        return record
    }

    /// Notes what a text without packets is.
    private mutating func note(_ line: ArraySlice<UInt8>) {
        guard hint != .btmon, hint != .hcidump, let first = line.first else { return }
        if LogText.holds(line, "Bluetooth monitor ver") {
            hint = .btmon
        } else if first == UInt8(ascii: "<") || first == UInt8(ascii: ">"), let tool = Self.tool(line) {
            hint = tool
        } else if hint == .text, LogText.holds(line, "HOST -> CONTROLLER") || LogText.holds(line, "[HOST->CONTROLLER]") {
            hint = .bumble
        } else if hint == .text, line.starts(with: "== dumpstate".utf8) || LogText.holds(line, "DUMP OF SERVICE") {
            hint = .bugReport
        }
    }

    /// The tool that prints decoded packets so: btmon ends the line with a number, an adapter or a time.
    private static func tool(_ line: ArraySlice<UInt8>) -> CaptureHint? {
        if LogText.holds(line, " ACL Data TX: ") || LogText.holds(line, " ACL Data RX: ") { return .btmon }
        if LogText.holds(line, " ACL data: ") { return .hcidump }
        guard LogText.holds(line, " HCI Command: ") || LogText.holds(line, " HCI Event: ") else { return nil }
        return LogText.holds(line, "  #") || LogText.holds(line, " #") || LogText.holds(line, "[hci") ? .btmon : .hcidump
    }
}

/// A packet found in a text.
struct LogPacket {
    var content: CaptureRecord.Content
    var time: Int64?

    init(_ packet: HCIPacket, _ direction: CaptureDirection?, time: Int64? = nil) {
        content = .hci(packet, packet.impliedDirection ?? direction)
        self.time = time
    }
}
