import BBBTP
import BBCapture
import BBCases
import BBPackets
import BBTraffic

/// The first and the last packets of a case, up to a limit. Packets without meaning in a diagram are omitted: credits, empty packets of a
/// link, and repetitions of the previous packet.
struct PacketTrail: Sendable {
    private enum Content: Sendable {
        case hci(HCIPacket, CaptureDirection)
        case air(Observation)
        case upperTester(BTPFrame, isResponse: Bool)
    }

    private struct Entry: Sendable {
        var side: Side
        var content: Content
        /// The number in the capture; 0 on the air.
        var number: Int
        var time: Microseconds
        /// Consecutive packets of the same kind form one entry; nil for packets that are never combined.
        var kind: String?
        var times = 1
    }

    private var first: [Entry] = []
    /// A ring buffer that starts at `oldest`.
    private var last: [Entry] = []
    private var oldest = 0
    private var dropped = 0

    private static let mostFirst = 96
    private static let mostLast = 384

    // MARK: Recording

    /// - Parameter event: the name of an event.
    mutating func add(
        _ packet: HCIPacket, _ direction: CaptureDirection, _ side: Side, event: String? = nil, number: Int, at time: Microseconds
    ) {
        guard packet.eventCode != HCIEvents.NumberOfCompletedPackets.code else { return }
        let kind: String? =
            switch packet.kind {
            case .event where packet.leSubevent != nil: event
            case .sco: "voice \(direction)"
            case .command, .event, .acl, .iso: nil
            }
        add(Entry(side: side, content: .hci(packet, direction), number: number, time: time, kind: kind))
    }

    mutating func add(_ observation: Observation) {
        switch observation.content {
        case .air(let frame): if Self.isEmpty(frame) { return }
        case .baseband(let packet) where observation.name == BasebandPacket.name:
            if packet.seen.message != nil || packet.seen.data.isEmpty { return }
        case .baseband: break
        case .event, .upper, .voice, .upperTester: return
        }
        let kind = observation.name == LinkLayerData.name ? nil : observation.name
        add(Entry(side: observation.side, content: .air(observation), number: 0, time: observation.time, kind: kind))
    }

    /// Adds a message between the bench and the upper tester of a host.
    mutating func add(_ frame: BTPFrame, isResponse: Bool, at time: Microseconds) {
        add(Entry(side: .subject, content: .upperTester(frame, isResponse: isResponse), number: 0, time: time, kind: nil))
    }

    /// True for a PDU without payload on a link. Core Vol 6, Part B, 2.4.
    private static func isEmpty(_ frame: AirFrame) -> Bool {
        frame.pdu.map { $0.kind == .data && $0.length == 0 } ?? true
    }

    private mutating func add(_ entry: Entry) {
        if first.count < Self.mostFirst {
            if let kind = entry.kind, let index = first.indices.last, first[index].kind == kind, first[index].side == entry.side {
                first[index].times += 1
            } else {
                first.append(entry)
            }
        } else if last.count < Self.mostLast {
            last.append(entry)
        } else {
            last[oldest] = entry
            oldest = (oldest + 1) % Self.mostLast
            dropped += 1
        }
    }

    // MARK: Rows

    /// The decoded packets with folded repetitions.
    var trace: CaseTrace {
        var trace = CaseTrace()
        var decoder = PacketDecoder()
        func rows(_ entries: [Entry]) -> [PacketTrace] {
            RepeatedRows.folded(entries.sorted { $0.time < $1.time }.map { Self.row($0, &decoder) })
        }
        var all: [PacketTrace]
        if dropped == 0 {
            all = rows(first + last)
        } else {
            let beginning = rows(first)
            trace.gap = min(beginning.count, CaseTrace.mostOfBeginning)
            trace.omitted = dropped + beginning.count - trace.gap
            all = Array(beginning.prefix(trace.gap)) + rows(Array(last[oldest...] + last[..<oldest]))
        }
        let excess = all.count - CaseTrace.mostPackets
        if excess > 0 {
            trace.gap = min(all.count, CaseTrace.mostOfBeginning)
            trace.omitted += excess
            all.removeSubrange(trace.gap..<trace.gap + excess)
        }
        trace.packets = all
        return trace
    }

    private static func row(_ entry: Entry, _ decoder: inout PacketDecoder) -> PacketTrace {
        let decoded: DecodedPacket
        let way: PacketTrace.Way
        switch entry.content {
        case .hci(let packet, let direction):
            decoded = decoder.decode(packet, direction, interface: entry.side == .tester ? 0 : 1)
            way = direction == .hostToController ? .down : .up
        case .air(let observation):
            if case .air(let frame) = observation.content { decoded = decoder.decode(frame) } else { decoded = observation.decoded }
            way = .air
        case .upperTester(let frame, let isResponse):
            decoded = DecodedPacket(layers: [DecodedLayer(btp: frame, isResponse: isResponse)])
            way = isResponse || frame.isEvent ? .up : .down
        }
        let pdu = decoded.pdu
        let name = pdu.map { $0.summary ?? $0.name } ?? "packet"
        return PacketTrace(
            packet: entry.number, side: entry.side.rawValue, way: way, atMilliseconds: entry.time.milliseconds,
            name: PlainText.escaped(name), fields: fields(pdu), times: entry.times)
    }

    private static let mostFields = 40
    private static let longestField = 240

    private static func fields(_ pdu: DecodedLayer?) -> [String] {
        guard let pdu else { return [] }
        let returns = pdu.returns
        let own = returns.isEmpty ? pdu.fields : pdu.fields.filter { $0.name != "Return_Parameters" }
        var texts = (own + returns).prefix(mostFields).map { "\($0.name)=\($0.text)" }
        if !pdu.trailing.isEmpty, pdu.summary == nil { texts.append("+\(Hex.octets(pdu.trailingOctets))") }
        if let problem = pdu.problem { texts.append("(\(problem))") }
        return texts.map { PlainText.escaped($0.count > longestField ? $0.prefix(longestField) + "…" : $0) }
    }
}

/// Rows that repeat in the same order, such as advertising with its reports, or polling.
enum RepeatedRows {
    private static let longestPeriod = 6

    static func folded(_ rows: [PacketTrace]) -> [PacketTrace] {
        var folded: [PacketTrace] = []
        for row in rows {
            folded.append(row)
            for period in 1...longestPeriod where ends(folded, withTwice: period) {
                let start = folded.count - 2 * period
                for index in start..<start + period { folded[index].times += folded[index + period].times }
                folded.removeLast(period)
                break
            }
        }
        return folded
    }

    /// Returns true if the rows end with a repeated sequence of this length without commands, which are never folded.
    private static func ends(_ rows: [PacketTrace], withTwice period: Int) -> Bool {
        guard rows.count >= 2 * period else { return false }
        for index in rows.count - 2 * period..<rows.count - period where !repeats(rows, index, index + period) { return false }
        return true
    }

    private static func repeats(_ rows: [PacketTrace], _ one: Int, _ other: Int) -> Bool {
        let way = rows[one].way
        guard way != .down, way == rows[other].way, rows[one].side == rows[other].side, rows[one].name == rows[other].name else {
            return false
        }
        return way == .air || rows[one].fields.count == rows[other].fields.count
    }
}
