import BBCapture
import BBCases
import BBPackets
import BBTraffic

/// Examines a capture packet by packet with bounded memory: describes its links and applies the rules.
public struct Examiner {
    private var decoder = PacketDecoder()
    private var start: CaptureTime?
    private var count = 0
    private var duration: Int64 = 0
    private var table: LinkTable
    private var controllers: [Int: HCIFollower] = [:]
    private var airs: [Int: AirFollower] = [:]
    private var lastCheck: Int64 = 0
    private var coverage = Coverage()
    /// The number of cases of a run that have begun, and those that passed.
    private var sections = 0
    private var passed: Set<Int> = []

    /// Interval of the checks for overdue requests and silent links, in microseconds.
    private static let checkInterval: Int64 = 100_000

    /// - Parameter showsSecrets: show addresses, names and long values in messages.
    public init(rules: [DiagnosisRule], showsSecrets: Bool = false) {
        table = LinkTable(engine: RuleEngine(rules), redaction: Redaction(showsSecrets: showsSecrets))
    }

    /// True for a capture of a run of the bench: then its controllers are judged by the rules that apply to all.
    public var isOfBench: Bool {
        get { table.isOfBench }
        set { table.isOfBench = newValue }
    }

    /// Examines the next packet.
    public mutating func examine(_ record: CaptureRecord) { examine(record, decoder.decode(record)) }

    /// Examines the next packet of a capture that is decoded already.
    public mutating func examine(_ record: CaptureRecord, _ decoded: DecodedPacket) {
        count += 1
        let begin = start ?? record.time
        start = begin
        let time = record.time.nanoseconds.subtractingReportingOverflow(begin.nanoseconds).partialValue / 1_000
        duration = max(duration, time)
        table.now = Moment(packet: count, time: time)
        table.interface = record.interface
        table.isCut = record.cutFrom != nil
        coverage.add(record, decoded)
        if let comment = record.comment { note(comment, isEnd: false) }
        if let whole = record.cutFrom {
            let octets = record.content.octetCount
            table.conclude(.packetCut, [("Octets", .number(octets)), ("Original", .number(whole))])
        }
        switch record.content {
        case .hci(let packet, let direction):
            // Nobody is accused for data of which nobody knows who sent it.
            if direction != nil || packet.kind != .acl {
                examine(packet, direction ?? .hostToController, decoded, interface: record.interface)
            }
        case .air(let frame): examine(frame, decoded, interface: record.interface)
        case .baseband: if let pdu = decoded.pdu, pdu.layer == .lmp { table.receive(pdu) }
        case .note, .other: break
        }
        if time - lastCheck >= Self.checkInterval || time < lastCheck {
            lastCheck = time
            check()
        }
        if let comment = record.comment { note(comment, isEnd: true) }
    }

    /// Notes where the cases of a run begin and end. A mark stands at the first packet of a case and at its last one.
    private mutating func note(_ comment: String, isEnd: Bool) {
        for line in comment.split(separator: "\n") {
            switch CaseMark(line) {
            case .begins? where !isEnd:
                // What the case before left open belongs to that.
                check(isEnd: true)
                table.finish()
                table.engine.beginSection()
                sections = table.engine.section
            case .ends(_, let verdict)? where isEnd:
                if Self.sound.contains(verdict) { passed.insert(sections) }
            default: break
            }
        }
    }

    /// Verdicts of cases in which the subject did what it should, or was not judged.
    private static let sound: Set<String> = ["PASS", "N/A"]

    private mutating func examine(_ packet: HCIPacket, _ direction: CaptureDirection?, _ decoded: DecodedPacket, interface: Int) {
        table.hasController = true
        switch packet.kind {
        case .command:
            let followed = controllers[interface, default: HCIFollower()].sent(packet, at: table.now)
            table.watch(command: packet, interface: interface, link: followed.link?.number)
            if let pdu = decoded.pdu { table.receive(pdu, followed) }
        case .event:
            table.watch(event: packet, interface: interface)
            let followed = controllers[interface, default: HCIFollower()].received(packet, at: table.now)
            if let pdu = decoded.pdu { table.receive(pdu, followed, endOf: packet) }
        case .acl:
            let followed = controllers[interface, default: HCIFollower()].data(
                packet, isOut: direction.map { $0 == .hostToController }, decoded.layers, on: decoded.channel, at: table.now)
            if let direction { table.watch(fragment: packet, isOut: direction == .hostToController, followed) }
            if direction == .controllerToHost { table.watch(dataIn: packet) }
            if direction == .hostToController { table.compare(sent: packet, followed.link) }
            table.receive(decoded, followed)
        case .iso: table.watch(iso: packet)
        case .sco: if let direction { table.watch(voice: packet, isOut: direction == .hostToController) }
        }
    }

    private mutating func examine(_ frame: AirFrame, _ decoded: DecodedPacket, interface: Int) {
        guard !frame.isBroken, let pdu = frame.pdu else { return }
        switch pdu.kind {
        case .advertising, .auxiliary:
            guard let layer = decoded.pdu, layer.layer == .advertising else { return }
            table.receive(layer, airs[interface, default: AirFollower()].advertising(pdu, in: frame, at: table.now))
        case .data:
            let followed = airs[interface, default: AirFollower()].data(
                pdu, in: frame, decoded.layers, on: decoded.channel, isEncrypted: decoded.isEncrypted, at: table.now)
            table.receive(decoded, pdu, frame, followed)
        case .isochronous: break
        }
    }

    private mutating func check(isEnd: Bool = false) {
        table.checkOverdue()
        table.checkDuties()
        for key in controllers.keys {
            for request in controllers[key]?.unanswered(at: table.now.time) ?? [] { table.concludeUnanswered(request) }
            for request in controllers[key]?.incomplete(at: table.now.time) ?? [] { table.concludeIncomplete(request) }
            table.apply(controllers[key]?.stalled(at: table.now.time) ?? [])
        }
        for key in airs.keys { table.apply(airs[key]?.silent(at: table.now.time, isEnd: isEnd) ?? []) }
    }

    /// The findings so far. Those that a later packet may withdraw are not among them.
    public var findings: [Finding] { table.engine.findings }

    /// Ends the examination.
    ///
    /// - Parameter failure: the error that ended reading early.
    public mutating func finish(_ failure: CaptureError? = nil) -> Diagnosis {
        if let failure { table.conclude(.captureDamaged, [("Reason", .text(failure.reason))]) }
        check(isEnd: true)
        table.finish()
        return Diagnosis(
            packets: count, duration: duration, links: table.allReports, devices: table.redaction.descriptions,
            findings: Diagnosis.ordered(table.engine.findings), coverage: coverage,
            cases: sections > 0 ? (sections, passed) : nil)
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
