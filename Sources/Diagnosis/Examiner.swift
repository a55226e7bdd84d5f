import BBCapture
import BBCases
import BBConformance
import BBPackets

/// Examines a capture packet by packet with bounded memory: describes its links and applies the rules.
public struct Examiner {
    private var decoder = PacketDecoder()
    private var start: CaptureTime?
    private var count = 0
    private var duration: Int64 = 0
    var book: LinkBook
    private var controllers: [Int: ControllerView] = [:]
    private var airs: [Int: AirView] = [:]
    private var lastCheck: Int64 = 0

    /// Interval of the checks for overdue requests and silent links, in microseconds.
    private static let checkInterval: Int64 = 100_000

    /// - Parameter showsSecrets: show addresses, names and long values in messages.
    public init(rules: [DiagnosisRule], showsSecrets: Bool = false) {
        book = LinkBook(engine: RuleEngine(rules), disguise: Disguise(showsSecrets: showsSecrets))
    }

    /// Examines the next packet.
    public mutating func examine(_ record: CaptureRecord) {
        count += 1
        let begin = start ?? record.time
        start = begin
        let time = record.time.nanoseconds.subtractingReportingOverflow(begin.nanoseconds).partialValue / 1_000
        duration = max(duration, time)
        book.begin(packet: count, time: time)
        if let whole = record.cutFrom {
            let octets = record.content.octetCount
            book.conclude(.packetCut, [("Octets", .number(octets)), ("Original", .number(whole))], packet: count)
        }
        switch record.content {
        case .hci(let packet, let direction):
            let decoded = decoder.decode(record)
            controllers[record.interface, default: ControllerView()].receive(packet, direction ?? .hostToController, decoded, &book)
        case .air(let frame):
            let decoded = decoder.decode(record)
            airs[record.interface, default: AirView()].receive(frame, decoded, &book)
        case .baseband, .note, .other: break
        }
        if time - lastCheck >= Self.checkInterval || time < lastCheck {
            lastCheck = time
            check()
        }
    }

    private mutating func check() {
        book.checkOverdue()
        for key in controllers.keys { controllers[key]?.check(&book) }
        for key in airs.keys { airs[key]?.check(&book, isEnd: false) }
    }

    /// The findings so far. Those that a later packet may withdraw are not among them.
    public var findings: [Finding] { book.engine.findings }

    /// Ends the examination.
    ///
    /// - Parameter failure: the error that ended reading early.
    public mutating func finish(_ failure: CaptureError? = nil) -> Diagnosis {
        if let failure { book.conclude(.captureDamaged, [("Reason", .text(failure.reason))], packet: count) }
        check()
        for key in airs.keys { airs[key]?.check(&book, isEnd: true) }
        book.finish()
        return Diagnosis(
            packets: count, duration: duration, links: book.allReports, devices: book.disguise.descriptions,
            findings: Diagnosis.ordered(book.engine.findings))
    }
}

extension CaptureError {
    /// The error without the path.
    fileprivate var reason: String {
        switch self {
        case .truncated: "it ends within a packet"
        case .malformed(_, _, let reason): reason
        default: "reading failed"
        }
    }
}

extension CaptureRecord.Content {
    fileprivate var octetCount: Int {
        switch self {
        case .hci(let packet, _): packet.bytes.count
        case .air(let frame): frame.bytes.count
        case .baseband(let frame): frame.payload.count
        case .note(let text): text.utf8.count
        case .other(_, let octets): octets.count
        }
    }
}
