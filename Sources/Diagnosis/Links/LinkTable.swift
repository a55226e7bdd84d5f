import BBCapture
import BBCases
import BBPackets
import BBTraffic

/// All links of a capture, and the way of their events to the rules.
struct LinkTable {
    /// A link and its description. A class, because copies for every packet took a third of the time.
    private final class Entry {
        let link: Link
        var report: LinkReport

        init(_ link: Link, _ report: LinkReport) { (self.link, self.report) = (link, report) }
    }

    private(set) var engine: RuleEngine
    private(set) var redaction: Redaction
    private var open: [Int: Entry] = [:]
    private var closed: [LinkReport] = []
    private var numbers = 0
    /// True if the capture contains HCI packets.
    var hasController = false
    /// The packet that is examined.
    var now = Moment(packet: 0, time: 0)

    private static let mostOpen = 1_024
    private static let mostReports = 10_000

    init(engine: RuleEngine, redaction: Redaction) {
        self.engine = engine
        self.redaction = redaction
    }

    var allReports: [LinkReport] { (closed + open.values.map(\.report)).sorted { $0.number < $1.number } }

    // MARK: Packets

    /// Passes a command, an event or an advertising PDU to the rules, between the changes before it and those that it makes.
    mutating func receive(_ pdu: DecodedLayer, _ followed: Followed) {
        let device = pdu.layer == .hciEvents ? pdu.remoteDevice.map { redaction.number(of: $0) } : nil
        apply(followed.before)
        pass(pdu, from: followed.sender, link: followed.link?.number, device: followed.opens ? device : nil)
        apply(followed.after)
    }

    /// Passes the PDUs in a packet of a link to the rules.
    mutating func receive(_ decoded: DecodedPacket, _ followed: Followed) {
        apply(followed.before)
        guard let link = followed.link, let entry = open[link.number] else { return }
        if !followed.isRepeated { pass(decoded, from: followed.sender, entry) }
        apply(followed.after)
    }

    /// Passes the PDUs in a frame of a link to the rules.
    mutating func receive(_ decoded: DecodedPacket, _ pdu: AirFrame.PDU, _ frame: AirFrame, _ followed: Followed) {
        apply(followed.before)
        let link = followed.link?.number
        let octets = pdu.payload.count
        if pdu.length != octets, !pdu.hasToneExtension, frame.flags.contains(.crcValid), !frame.flags.contains(.decrypted) {
            conclude(.lengthMismatch, [("Length", .number(pdu.length)), ("Octets", .number(octets))], link: link)
        }
        if octets > 0, frame.flags.contains(.micChecked), !frame.flags.contains(.micValid) { conclude(.micInvalid, link: link) }
        if octets > 0, !followed.isRepeated, let entry = link.flatMap({ open[$0] }) { pass(decoded, from: followed.sender, entry) }
        apply(followed.after)
    }

    private mutating func pass(_ decoded: DecodedPacket, from sender: PacketSender?, _ entry: Entry) {
        let link = entry.report.number
        entry.report.lastPacket = now
        for (index, layer) in decoded.layers.enumerated() {
            if layer.layer == .l2capFragment { conclude(.l2capFault, [("Reason", .text(layer.name))], link: link) }
            if layer.declaration != nil { pass(layer, from: sender, link: link) }
            if layer.declaration != nil, let request = ParameterRequest(layer), sender != .central {
                conclude(.parameterRequest, request.fields, link: link)
            }
            entry.report.note(layer, on: decoded.channel, from: sender, at: now)
            guard let data = ApplicationData(layer, isLast: index == decoded.layers.count - 1) else { continue }
            entry.report.add(data, from: sender, isStarved: entry.link.buffers.isStarved, at: now.time)
        }
    }

    private mutating func pass(_ pdu: DecodedLayer, from sender: PacketSender?, link: Int?, device: Int? = nil) {
        guard engine.concerns(pdu.name) else { return }
        var record = pdu.caseRecord
        for field in pdu.returns where record[field.name] == nil { record[field.name] = field.int.map { .number($0) } }
        record[DiagnosisEvent.octets.name] = .number(pdu.fieldOctets)
        send(
            DiagnosisEvent(
                name: pdu.name, link: link, device: device ?? self.device(of: link), sender: sender, packet: now.packet, time: now.time,
                record: record, pdu: pdu))
    }

    // MARK: Conclusions

    mutating func conclude(_ conclusion: Conclusion, _ fields: [(String, CaseValue)] = [], packet: Int? = nil, link: Int? = nil) {
        guard engine.concerns(conclusion.rawValue) else { return }
        send(
            DiagnosisEvent(
                name: conclusion.rawValue, link: link, device: device(of: link), packet: packet ?? now.packet, time: now.time,
                record: CaseRecord(fields)))
    }

    private func device(of link: Int?) -> Int? { link.flatMap { open[$0]?.report.device } }

    private mutating func send(_ event: DiagnosisEvent) {
        let (entry, redaction) = (event.link.flatMap { open[$0] }, redaction)
        engine.receive(event, link: { entry?.report.record ?? CaseRecord() }, text: { redaction.message($0, $1) })
    }

    /// Concludes that a command had no answer.
    mutating func concludeUnanswered(_ command: LinkRequest) {
        let fields: [(String, CaseValue)] = [("Command", .text(command.name)), ("Waited", .milliseconds(now.time - command.sent.time))]
        conclude(.commandUnanswered, fields, packet: command.sent.packet)
    }

    mutating func checkOverdue() {
        for number in open.keys.sorted() { apply(open[number]?.link.overdue(at: now.time, isEnd: false) ?? []) }
    }

    /// Concludes at the end of the capture what an HCI shows as unanswered; a sniffer may have lost the link.
    mutating func finish() {
        for number in open.keys.sorted() where open[number]?.link.isOnAir == false {
            apply(open[number]?.link.overdue(at: now.time, isEnd: true) ?? [])
        }
        engine.finish()
    }

    // MARK: Events of links

    mutating func apply(_ events: [LinkEvent]) {
        for event in events { apply(event) }
    }

    private mutating func apply(_ event: LinkEvent) {
        if event.kind == .opened { return start(event.link) }
        let number = event.link.number
        guard let entry = open[number] else { return }
        switch event.kind {
        case .opened: break
        case .parameters, .phys, .length, .mtu, .encryption: entry.report.note(event, at: now)
        case .unasked(let opcode):
            guard event.link.isComplete, let response = PDUCatalog.declaration(layer: .att, code: opcode) else { return }
            conclude(.attUnrequested, [("Response", .text(response.name))], link: number)
        case .leftOpen(let request): concludeLeftOpen(request, link: number)
        case .stalled:
            let buffers = event.link.buffers
            conclude(
                .creditsStalled,
                [("Outstanding", .number(buffers.outstanding)), ("Waited", .milliseconds(now.time - buffers.progress))], link: number)
        case .gap: conclude(.captureGap, link: number)
        case .ended(let ending):
            entry.report.end = ending.text.map { .init(packet: now.packet, text: $0) } ?? entry.report.end
            concludeEnd(of: event.link, ending)
            close(number)
        }
    }

    private mutating func start(_ link: Link) {
        if open.count >= Self.mostOpen, let oldest = open.keys.min() { close(oldest) }
        numbers += 1
        link.number = numbers
        open[numbers] = Entry(link, LinkReport(link, device: link.peer.map { redaction.number(of: $0) }))
        if link.isComplete { conclude(.linkOpened, [("Kind", .text(link.kind.words))], link: numbers) }
    }

    private mutating func close(_ number: Int) {
        engine.close(link: number)
        guard let entry = open.removeValue(forKey: number) else { return }
        if closed.count < Self.mostReports { closed.append(entry.report) }
    }

    private mutating func concludeLeftOpen(_ request: LinkRequest, link: Int) {
        let (packet, waited) = (request.sent.packet, ("Waited", CaseValue.milliseconds(now.time - request.sent.time)))
        switch request.kind {
        case .attribute: conclude(.attUnanswered, [("Request", .text(request.name)), waited], packet: packet, link: link)
        case .control: conclude(.llUnanswered, [("Request", .text(request.name)), waited], packet: packet, link: link)
        case .procedure: conclude(.procedureUnanswered, [("Request", .text(request.name)), waited], packet: packet, link: link)
        case .pairing: conclude(.pairingAbandoned, [("Last", .text(request.name)), waited], packet: packet, link: link)
        case .command: break
        }
    }

    /// Concludes from the end of a link that it was lost or never started.
    private mutating func concludeEnd(of link: Link, _ ending: LinkEvent.Ending) {
        let signs = link.signs
        switch ending {
        case .disconnected(.connectionTimeout):
            let sign = signs.last(before: now.time)
            concludeLost(link, silence: now.time - sign, hasAdvertised: signs.advertised.map { $0 > sign } ?? false, packet: now.packet)
        case .silent:
            if signs.fromPeripheral == 0, signs.fromUnknown == 0, link.isComplete, !hasController {
                // A capture of a run leaves empty packets out.
                conclude(
                    .linkNeverStarted,
                    [("Waited", .milliseconds(now.time - link.opened.time)), ("From_Central", .number(signs.fromCentral))],
                    packet: link.opened.packet, link: link.number)
            } else if let last = signs.lastCentral, link.timeout > 0, last - signs.lastPeripheral > link.timeout {
                concludeLost(
                    link, silence: last - signs.lastPeripheral, hasAdvertised: signs.advertised != nil, packet: signs.last.packet)
            }
        case .disconnected, .terminated, .replaced, .reset: break
        }
    }

    private mutating func concludeLost(_ link: Link, silence: Int64, hasAdvertised: Bool, packet: Int) {
        let limit = link.timeout > 0 ? "\(link.timeout / 1_000) ms" : "not in the capture"
        conclude(
            .linkLost,
            [
                ("Silence", .milliseconds(silence)), ("Timeout", .milliseconds(link.timeout)), ("Limit", .text(limit)),
                ("Advertised", .number(hasAdvertised ? 1 : 0)),
            ], packet: packet, link: link.number)
    }
}

extension CaseValue {
    /// A time in microseconds as milliseconds.
    static func milliseconds(_ time: Int64) -> CaseValue { .number(Int(max(0, time) / 1_000)) }
}

extension DecodedLayer {
    /// The number of octets after the header, according to the header.
    var fieldOctets: Int {
        if let lengthInHeader { return lengthInHeader }
        let start = fields.map(\.range.lowerBound).min() ?? trailing.lowerBound
        return max(0, range.upperBound - start)
    }

    /// The address of the remote device in an event about a connection.
    fileprivate var remoteDevice: DeviceAddress? {
        guard let field = fields.named("Peer_Address") ?? fields.named("BD_ADDR"), let value = field.integer, value != 0 else { return nil }
        return DeviceAddress(value: UInt64(truncatingIfNeeded: value), kind: field.addressKind ?? .public)
    }
}
