import BBCases
import BBConformance
import BBPackets

/// All links of a capture, and the way of their events to the rules.
struct LinkBook {
    var engine: RuleEngine
    var disguise: Disguise
    private(set) var open: [Int: LinkState] = [:]
    private var closed: [LinkReport] = []
    private var numbers = 0
    /// True if the capture contains HCI packets.
    var hasController = false
    private(set) var packet = 0
    private(set) var time: Int64 = 0

    private static let mostOpen = 1_024
    private static let mostReports = 10_000

    init(engine: RuleEngine, disguise: Disguise) {
        self.engine = engine
        self.disguise = disguise
    }

    var allReports: [LinkReport] { (closed + open.values.map(\.report)).sorted { $0.number < $1.number } }

    mutating func begin(packet: Int, time: Int64) {
        self.packet = packet
        self.time = time
    }

    subscript(link: Int) -> LinkState? { open[link] }

    // MARK: Links

    /// Starts a link and returns its number.
    mutating func openLink(_ kind: LinkReport.Kind, peer: DeviceAddress?, isComplete: Bool, isOnAir: Bool = false) -> Int {
        if open.count >= Self.mostOpen, let oldest = open.keys.min() { close(oldest) }
        numbers += 1
        var report = LinkReport(number: numbers, opened: (packet, time), lastPacket: (packet, time))
        report.kind = kind
        (report.isComplete, report.isOnAir) = (isComplete, isOnAir)
        report.device = peer.map { disguise.number(of: $0) }
        open[numbers] = LinkState(report, peer: peer)
        if isComplete { conclude(.linkOpened, [("Kind", .text(kind.rawValue))], packet: packet, link: numbers) }
        return numbers
    }

    /// Ends a link: requests that were never answered, then the end itself.
    mutating func close(_ link: Int) {
        settle(link, isEnd: true)
        engine.close(link: link)
        guard let state = open.removeValue(forKey: link) else { return }
        if closed.count < Self.mostReports { closed.append(state.report) }
    }

    /// Concludes what was not answered on a link.
    mutating func settle(_ link: Int, isEnd: Bool) {
        guard let overdue = open[link]?.overdue(at: time, packet: packet, isEnd: isEnd) else { return }
        for (conclusion, fields, packet) in overdue.list { conclude(conclusion, fields, packet: packet, link: link) }
    }

    /// Concludes at the end of the capture what an HCI shows as unanswered; a sniffer may have lost the link.
    mutating func finish() {
        for link in open.keys.sorted() where open[link]?.report.isOnAir == false { settle(link, isEnd: true) }
        engine.finish()
    }

    mutating func checkOverdue() {
        for link in open.keys.sorted() { settle(link, isEnd: false) }
    }

    // MARK: Events

    mutating func conclude(_ conclusion: Conclusion, _ fields: [(String, CaseValue)] = [], packet: Int, link: Int? = nil) {
        guard engine.concerns(conclusion.rawValue) else { return }
        send(
            DiagnosisEvent(
                name: conclusion.rawValue, link: link, device: link.flatMap { open[$0]?.report.device }, packet: packet, time: time,
                record: CaseRecord(fields)))
    }

    /// Passes a PDU to the rules.
    mutating func receive(_ pdu: DecodedLayer, from sender: DiagnosisEvent.Sender?, link: Int?, device: Int? = nil) {
        guard engine.concerns(pdu.name) else { return }
        var record = pdu.caseRecord
        for field in pdu.returns where record[field.name] == nil { record[field.name] = field.int.map { .number($0) } }
        record[DiagnosisEvent.octets.name] = .number(pdu.fieldOctets)
        send(
            DiagnosisEvent(
                name: pdu.name, link: link, device: device ?? link.flatMap { open[$0]?.report.device }, sender: sender, packet: packet,
                time: time, record: record, pdu: pdu))
    }

    private mutating func send(_ event: DiagnosisEvent) {
        let (state, disguise) = (event.link.flatMap { open[$0] }, disguise)
        engine.receive(event, link: { state?.report.record ?? CaseRecord() }, text: { disguise.message($0, $1) })
    }

    /// Passes the PDUs of a link's packet to the rules and follows them.
    mutating func receive(_ layers: [DecodedLayer], from sender: DiagnosisEvent.Sender?, link: Int) {
        guard let state = open[link] else { return }
        state.report.lastPacket = (packet, time)
        let isFixed = layers.contains { $0.layer == .l2cap && $0.name == Self.attChannel }
        for layer in layers {
            if layer.layer == .l2capFragment { conclude(.l2capFault, [("Reason", .text(layer.name))], packet: packet, link: link) }
            guard layer.declaration != nil else {
                addData(layer, sender, state)
                continue
            }
            receive(layer, from: sender, link: link)
            let conclusions = state.follow(layer, from: sender, packet: packet, time: time, isFixed: isFixed)
            for (conclusion, fields, packet) in conclusions.list { conclude(conclusion, fields, packet: packet, link: link) }
            addData(layer, sender, state)
        }
    }

    private static let attChannel = "L2CAP channel 0x0004"

    /// Counts the values of notifications, indications, reads and writes, and the data of channels.
    private func addData(_ pdu: DecodedLayer, _ sender: DiagnosisEvent.Sender?, _ state: LinkState) {
        guard let (kind, header) = Self.data[pdu.name] ?? Self.channelData(pdu) else { return }
        if state.report.isMerged, sender?.rawValue != state.report.localRole { return }
        // A client is the central in nearly all captures of both ends.
        let isForth = state.report.isMerged ? [.command, .request, .channel].contains(kind) : sender == .central || sender == .local
        let isAcknowledged = [.read, .request].contains(kind) || pdu.name == "ATT_HANDLE_VALUE_IND"
        state.report.add(
            max(0, pdu.range.count - header), kind, isForth: isForth, at: time, isAcknowledged: isAcknowledged,
            isStarved: isForth == (state.report.localRole == "central") && state.isStarved)
    }

    private static func channelData(_ layer: DecodedLayer) -> (DataKind, Int)? {
        layer.layer == .l2cap && layer.declaration == nil && !layer.name.hasPrefix("L2CAP channel") ? (.channel, 0) : nil
    }

    /// PDUs with application data, and the octets before the value.
    private static let data: [String: (DataKind, Int)] = [
        "ATT_HANDLE_VALUE_NTF": (.notification, 3), "ATT_HANDLE_VALUE_IND": (.notification, 3), "ATT_WRITE_CMD": (.command, 3),
        "ATT_WRITE_REQ": (.request, 3), "ATT_READ_RSP": (.read, 1), "ATT_READ_BLOB_RSP": (.read, 1),
    ]
}

extension DecodedLayer {
    /// The number of octets after the header, according to the header.
    var fieldOctets: Int {
        if let lengthInHeader { return lengthInHeader }
        let start = fields.map(\.range.lowerBound).min() ?? trailing.lowerBound
        return max(0, range.upperBound - start)
    }
}
