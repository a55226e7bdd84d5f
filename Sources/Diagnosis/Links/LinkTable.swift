import BBCapture
import BBCases
import BBPackets
import BBTraffic

/// All links of a capture, and the way of their events to the rules.
struct LinkTable {
    /// A link and its description. A class, because copies for every packet took a third of the time.
    final class Entry {
        let link: Link
        var report: LinkReport
        var channels = ChannelWatch()
        var serial = SerialWatch()
        var values = ValueWatch()
        var declared = DeclaredValues()
        var answers = AnswerWatch()
        var pairing = PairingWatch()
        var streams = StreamWatch()
        var control = ControlWatch()
        var human = HumanInterfaceWatch()
        var mtus = MTUWatch()
        var fragments = FragmentWatch()
        var comparisons = LinkComparisons()
        /// The last refusal, until another PDU follows.
        var refusal: (refusal: Refusal, sender: PacketSender?, at: Moment)?
        let interface: Int
        /// The device, or 0 for a private address that no key resolves: it may have been another one before.
        let owner: Int?

        init(_ link: Link, _ report: LinkReport, _ interface: Int) {
            (self.link, self.report, self.interface) = (link, report, interface)
            owner = report.isPrivate ? 0 : report.device
        }
    }

    var engine: RuleEngine
    private(set) var redaction: Redaction
    private(set) var open: [Int: Entry] = [:]
    var identities = Identities()
    var offers = OfferBook()
    /// The state of each controller and its host, by interface.
    var dials: [Int: Dials] = [:]
    var keys: [Int: KeyBook] = [:]
    var duties: [Int: HostDuties] = [:]
    var scans: [Int: ScanWatch] = [:]
    var commands: [Int: CommandWatch] = [:]
    var controllerRules: [Int: ControllerRules] = [:]
    var controllers: [Int: ControllerWatch] = [:]
    /// True if a host controls the flow of data to it.
    var hasHostBuffers = false
    /// The kind of the stream that the event ends which is examined.
    var streamKind: String?
    var subscriptions = SubscriptionBook()
    var comparisons: [Int: AdapterComparisons] = [:]
    private var closed: [LinkReport] = []
    private var numbers = 0
    /// True for a capture of a run.
    var isOfBench = false
    /// True if the capture contains HCI packets.
    var hasController = false
    /// The interface of the packet that is examined.
    var interface = 0
    /// True if the capturing tool has cut the packet that is examined.
    var isCut = false
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
    ///
    /// - Parameter event: the event of a controller, which may end a stream.
    mutating func receive(_ pdu: DecodedLayer, _ followed: Followed, endOf event: HCIPacket? = nil) {
        streamKind = event.flatMap { controllers[interface]?.streams.kind(of: $0)?.rawValue }
        defer {
            if streamKind != nil, let event { controllers[interface]?.streams.forget(event) }
            streamKind = nil
        }
        let device = pdu.layer == .hciEvents ? pdu.remoteDevice.map { redaction.number(of: $0) } : nil
        apply(followed.before)
        if let entry = followed.link.flatMap({ open[$0.number] }), entry.refusal != nil { noteProgress(pdu, entry) }
        compare(pdu, link: followed.link?.number)
        let link = followed.link?.number
        pass(pdu, from: followed.sender, link.flatMap { open[$0] }, link: link, device: followed.opens || link == nil ? device : nil)
        apply(followed.after)
    }

    /// Passes a link manager PDU of a baseband packet, whose link is not followed, to the rules.
    mutating func receive(_ pdu: DecodedLayer) { pass(pdu, from: nil, nil, link: nil) }

    /// Passes the PDUs in a packet of a link to the rules.
    mutating func receive(_ decoded: DecodedPacket, _ followed: Followed) {
        apply(followed.before)
        if let ended = followed.ended { concludeAfterEnd(ended, followed.sender) }
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
        if pdu.llid == 0, frame.flags.contains(.crcValid) { conclude(.reservedLLID, link: link) }
        if octets > 0, frame.flags.contains(.micChecked), !frame.flags.contains(.micValid) { conclude(.micInvalid, link: link) }
        if octets > 0, !followed.isRepeated, let entry = link.flatMap({ open[$0] }) { pass(decoded, from: followed.sender, entry) }
        apply(followed.after)
    }

    private mutating func pass(_ decoded: DecodedPacket, from sender: PacketSender?, _ entry: Entry) {
        let link = entry.report.number
        entry.report.lastPacket = now
        if let refusal = entry.refusal, let sender, goesOn(sender, after: refusal.sender, entry.link) { entry.refusal = nil }
        for index in decoded.layers.indices {
            let layer = decoded.layers[index]
            // Without directions the fragments of both ends are mixed.
            if layer.layer == .l2capFragment, sender != nil || entry.report.isOnAir {
                conclude(.l2capFault, [("Reason", .text(layer.name))], link: link)
            }
            if layer.declaration != nil { pass(layer, from: sender, entry, link: link) }
            if layer.declaration != nil, let request = ParameterRequest(layer), sender != .central {
                conclude(.parameterRequest, request.fields, link: link)
            }
            entry.report.note(layer, on: decoded.channel, from: sender, at: now)
            watch(layer, on: decoded.channel, from: sender, entry)
            if let sender { compare(layer, from: sender, entry) }
            if layer.problem != nil || layer.layer == .avdtp || layer.layer == .sdp { watchProfile(layer, from: sender, entry) }
            // Without directions nobody knows whose data they are.
            guard sender != nil || entry.report.isOnAir else { continue }
            guard let data = ApplicationData(layer, isLast: index == decoded.layers.count - 1) else { continue }
            entry.report.add(data, from: sender, isStarved: entry.link.buffers.isStarved, at: now.time)
        }
    }

    private mutating func pass(_ pdu: DecodedLayer, from sender: PacketSender?, _ entry: Entry?, link: Int?, device: Int? = nil) {
        let isKnown = engine.concerns(pdu.name) && send(pdu, from: sender, entry, link: link, device: device)
        guard !isKnown || entry != nil, let refusal = Refusal(pdu) else { return }
        if Self.endable.contains(refusal.layer) { entry?.refusal = (refusal, sender, now) }
        guard !isKnown, entry?.comparisons.untrue != now.packet else { return }
        conclude(refusal, from: sender, link: link, device: device)
    }

    private mutating func send(_ pdu: DecodedLayer, from sender: PacketSender?, _ entry: Entry?, link: Int?, device: Int?) -> Bool {
        send(
            DiagnosisEvent(
                name: pdu.name, link: link, device: device ?? entry?.report.device, interface: interface, sender: sender,
                packet: now.packet, time: now.time, pdu: pdu), entry)
    }

    // MARK: Conclusions

    mutating func conclude(
        _ conclusion: Conclusion, _ fields: [(String, CaseValue)] = [], packet: Int? = nil, link: Int? = nil, device: Int? = nil
    ) {
        guard engine.concerns(conclusion.rawValue) else { return }
        let entry = link.flatMap { open[$0] }
        send(
            DiagnosisEvent(
                name: conclusion.rawValue, link: link, device: device ?? entry?.report.device, interface: entry?.interface ?? interface,
                packet: packet ?? now.packet, time: now.time, record: CaseRecord(fields)), entry)
    }

    /// The number of a device.
    mutating func number(of device: DeviceAddress) -> Int { redaction.number(of: device) }

    @discardableResult
    private mutating func send(_ event: DiagnosisEvent, _ entry: Entry?) -> Bool {
        let redaction = redaction
        var event = event
        if let entry { (event.owner, event.role) = (entry.owner, entry.report.localRole) }
        let kind = streamKind ?? event.kind
        return engine.receive(
            event, link: { entry?.report.record ?? CaseRecord([("Kind", .text(kind))]) }, text: { redaction.message($0, $1) })
    }

    /// Concludes that a command had no answer.
    mutating func concludeUnanswered(_ command: LinkRequest) {
        let fields: [(String, CaseValue)] = [("Command", .text(command.name)), ("Waited", .milliseconds(now.time - command.sent.time))]
        conclude(.commandUnanswered, fields, packet: command.sent.packet)
    }

    /// Concludes that the procedure of a command never ended.
    mutating func concludeIncomplete(_ command: LinkRequest) {
        let fields: [(String, CaseValue)] = [("Request", .text(command.name)), ("Waited", .milliseconds(now.time - command.sent.time))]
        conclude(.procedureUnanswered, fields, packet: command.sent.packet)
    }

    mutating func checkOverdue() {
        for number in open.keys.sorted() {
            apply(open[number]?.link.overdue(at: now.time, isEnd: false) ?? [])
            observe(open[number]?.pairing.missing(at: now, isEnd: false), link: number)
        }
    }

    /// Concludes at the end of the capture what an HCI shows as unanswered; a sniffer may have lost the link.
    mutating func finish() {
        for number in open.keys.sorted() where open[number]?.link.isOnAir == false {
            apply(open[number]?.link.overdue(at: now.time, isEnd: true) ?? [])
        }
        for number in open.keys.sorted() {
            guard let entry = open[number], !entry.link.isOnAir, !entry.link.isMerged else { continue }
            observe(entry.waiting(at: now), link: number)
        }
        for interface in dials.keys.sorted() { observe(dials[interface]?.finish(identities, at: now) ?? nil) }
        finishComparisons()
        engine.finish()
    }

    // MARK: Events of links

    mutating func apply(_ events: [LinkEvent]) {
        // What ended a link says why its requests remain open.
        let ending = events.last.flatMap { if case .ended(let ending) = $0.kind { ending } else { nil } }
        for event in events { apply(event, ending) }
    }

    private mutating func apply(_ event: LinkEvent, _ ending: LinkEvent.Ending?) {
        if event.kind == .opened { return start(event.link) }
        let number = event.link.number
        guard let entry = open[number] else { return }
        switch event.kind {
        case .opened: break
        case .parameters:
            entry.report.note(event, at: now)
            watch(parametersOf: event.link)
        case .phys, .length, .mtu: entry.report.note(event, at: now)
        case .encryption(let isOn, let status):
            entry.report.note(event, at: now)
            guard isOn, status == .success, !event.link.isOnAir else { return }
            entry.pairing.noteEncryption(at: now)
            entry.comparisons.repetitions.noteEncryption(at: now)
        case .unasked(let opcode):
            guard event.link.isComplete, let response = PDUCatalog.declaration(layer: .att, code: opcode) else { return }
            conclude(.attUnrequested, [("Response", .text(response.name))], link: number)
        case .repeated(let answer, let request): concludeAnswer(.answerRepeated, answer, to: request, event.link)
        case .misfit(let answer, let request): concludeAnswer(.answerMisfit, answer, to: request, event.link)
        case .leftOpen(let request):
            compare(leftOpen: request, event.link)
            concludeLeftOpen(request, event.link, ending)
        case .overlapping(let first, let second):
            guard event.link.isComplete, !event.link.isMerged else { return }
            conclude(
                .requestsOverlap, [("Request", .text(second.name)), ("Open", .text(first.name))], packet: second.sent.packet, link: number)
        case .endMissed:
            guard event.link.isComplete else { return }
            conclude(.endMissed, link: number)
        case .stalled:
            let buffers = event.link.buffers
            conclude(
                .creditsStalled,
                [
                    ("Outstanding", .number(buffers.outstanding)), ("Waited", .milliseconds(now.time - buffers.progress)),
                    ("Full", .number(buffers.isFull ? 1 : 0)),
                ], link: number)
        case .gap: conclude(.captureGap, link: number)
        case .ended(.early):
            conclude(.dataBeforeStart, [("Waited", .milliseconds(now.time - event.link.opened.time))], packet: event.link.opened.packet)
            engine.close(link: number)
            open[number] = nil
        case .ended(let ending):
            entry.report.end = ending.text.map { .init(packet: now.packet, text: $0) } ?? entry.report.end
            concludeEnd(of: event.link, ending)
            observe(entry.waiting(at: now), link: number)
            observe(entry.pairing.missing(at: now, isEnd: true), link: number)
            concludeRefusal(at: ending, entry)
            compare(endOf: entry)
            observeSubscriptions(entry)
            close(number)
        }
    }

    private mutating func start(_ link: Link) {
        if open.count >= Self.mostOpen, let oldest = open.keys.min() { close(oldest) }
        numbers += 1
        link.number = numbers
        var report = LinkReport(link, device: link.peer.map { redaction.number(of: identities.identity(of: $0) ?? $0) })
        report.isPrivate = link.peer.map { $0.isResolvable && identities.identity(of: $0) == nil } ?? false
        open[numbers] = Entry(link, report, interface)
        if link.isComplete { conclude(.linkOpened, [("Kind", .text(link.kind.words))], link: numbers) }
    }

    private mutating func close(_ number: Int) {
        engine.close(link: number)
        guard let entry = open.removeValue(forKey: number) else { return }
        if closed.count < Self.mostReports { closed.append(entry.report) }
    }

    /// Concludes from the end of a link that it was lost or never started.
    private mutating func concludeEnd(of link: Link, _ ending: LinkEvent.Ending) {
        let signs = link.signs
        switch ending {
        case .disconnected(.connectionTimeout):
            let sign = signs.last(before: now.time)
            concludeLost(link, silence: now.time - sign, hasAdvertised: signs.hasReturned(since: sign), packet: now.packet)
        case .silent:
            if signs.fromPeripheral == 0, signs.fromUnknown == 0, link.isComplete, !hasController {
                // A capture of a run leaves empty packets out.
                conclude(
                    .linkNeverStarted,
                    [("Waited", .milliseconds(now.time - link.opened.time)), ("From_Central", .number(signs.fromCentral))],
                    packet: link.opened.packet, link: link.number)
            } else if let last = signs.lastCentral, link.timeout > 0, last - signs.lastPeripheral > link.timeout {
                concludeLost(
                    link, silence: last - signs.lastPeripheral, hasAdvertised: signs.hasReturned(since: .min), packet: signs.last.packet)
            }
        case .disconnected, .terminated, .replaced, .early, .reset: break
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

extension LinkSigns {
    /// True if the peer has advertised after its last sign. A device that advertises while it is connected says nothing by that.
    fileprivate func hasReturned(since sign: Int64) -> Bool { !advertisesAlways && advertised.map { $0 > sign } ?? false }
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
