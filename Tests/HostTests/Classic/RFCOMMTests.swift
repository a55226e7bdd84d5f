import BBBenchTesting
import BBPackets
import Testing

@testable import BBHost

/// Frames and sessions of RFCOMM: each end alone against frames put together here, and two ends with one another.
@Suite struct RFCOMMTests {
    // MARK: Frames

    @Test(arguments: [
        ("033f", "01", UInt8(0x1C)), ("0373", "01", 0xD7), ("0173", "01", 0xB6), ("03ef", "", 0x70), ("01ef", "", 0xAA),
    ])
    func checksAreThoseOfTheStandard(_ header: String, _ length: String, _ check: UInt8) {
        #expect(FrameCheckSequence.of(octets(header + length)) == check)
        #expect(Self.check(octets(header + length)) == check)
    }

    static let frames: [(RFCOMMFrame, String)] = [
        (RFCOMMFrame(.sabm, dlci: 0, commandResponse: true), "033f011c"),
        (RFCOMMFrame(.ua, dlci: 0, commandResponse: true), "037301d7"),
        (RFCOMMFrame(.disc, dlci: 2, commandResponse: false), frame(0x09, 0x53)),
        (RFCOMMFrame(.dm, dlci: 61, commandResponse: true), frame(0xF7, 0x1F)),
        (RFCOMMFrame(.uih, dlci: 0, commandResponse: true, pollFinal: false, information: [1, 2]), frame(0x03, 0xEF, "0102")),
        (RFCOMMFrame(.uih, dlci: 5, commandResponse: false, credits: 7), "15ff010715".prefix(8) + hex([check([0x15, 0xFF])])),
        (
            RFCOMMFrame(.uih, dlci: 5, commandResponse: false, pollFinal: false, information: [UInt8](repeating: 9, count: 128)),
            frame(0x15, 0xEF, String(repeating: "09", count: 128))
        ),
    ].map { ($0.0, String($0.1)) }

    @Test(arguments: frames)
    func framesAreReadAndWritten(_ frame: RFCOMMFrame, _ text: String) throws {
        #expect(hex(frame.octets) == hex(octets(text)))
        let read = try RFCOMMFrame(octets(text), hasCredits: true)
        #expect(read == frame)
    }

    @Test(arguments: [
        "", "03", "033f", "033f01", "033f01d7", "033f011c00", "023f011c", "0300011c", "03ef0370", "03ef00", "15ff0170", "ffffffffff",
    ])
    func whatIsNoFrameIsRefused(_ text: String) {
        #expect(throws: PDUError.self) { try RFCOMMFrame(octets(text), hasCredits: true) }
    }

    /// The FCS computed bit by bit: x^8 + x^2 + x + 1, reflected.
    static func check(_ octets: [UInt8]) -> UInt8 {
        var rest: UInt8 = 0xFF
        for octet in octets {
            for bit in 0..<8 {
                let isSet = (rest ^ octet >> UInt8(bit)) & 1 == 1
                rest = rest >> 1 ^ (isSet ? 0xE0 : 0)
            }
        }
        return ~rest
    }

    static func frame(_ address: UInt8, _ control: UInt8, _ information: String = "") -> String {
        let octets = octets(information)
        let length: [UInt8] =
            octets.count < 128 ? [UInt8(octets.count << 1 | 1)] : [UInt8(octets.count << 1 & 0xFE), UInt8(octets.count >> 7)]
        let header = [address, control] + length
        let covered = control & 0xEF == 0xEF ? Array(header.prefix(2)) : header
        return hex(header + octets + [check(covered)])
    }

    // MARK: An acceptor

    /// Frames of an initiator and the acceptor's responses. Server channels 1 and 2 are offered.
    static let exchanges: [(String, [String], [String])] = [
        ("the multiplexer", [sabm], [ua]),
        ("the multiplexer twice", [sabm, sabm], [ua, ua]),
        ("its end", [sabm, frame(0x03, 0x53)], [ua, ua]),
        ("its end before it began", [frame(0x03, 0x53)], [frame(0x03, 0x1F)]),
        ("a connection before the multiplexer", [frame(0x0B, 0x3F)], [frame(0x0B, 0x1F)]),
        ("a connection without PN", [sabm, frame(0x0B, 0x3F)], [ua, frame(0x0B, 0x73), status]),
        ("a connection twice", [sabm, frame(0x0B, 0x3F), frame(0x0B, 0x3F)], [ua, frame(0x0B, 0x73), status, frame(0x0B, 0x73)]),
        ("a channel that nobody serves", [sabm, frame(0x33, 0x3F)], [ua, frame(0x33, 0x1F)]),
        ("a channel with the initiator's direction bit", [sabm, frame(0x0F, 0x3F)], [ua, frame(0x0F, 0x1F)]),
        ("DLCI 1 and 62", [sabm, frame(0x07, 0x3F), frame(0xFB, 0x3F)], [ua, frame(0x07, 0x1F), frame(0xFB, 0x1F)]),
        ("PN", [sabm, uih("8311 02f00000e8030007")], [ua, own("8111 02e000009a020007")]),
        ("PN with small frames", [sabm, uih("8311 02f0000017000001")], [ua, own("8111 02e0000017000007")]),
        ("PN without credits", [sabm, uih("8311 0200000064000000")], [ua, own("8111 0200000064000000")]),
        ("PN for a channel that nobody serves", [sabm, uih("8311 0cf00000e8030007")], [ua, frame(0x33, 0x1F)]),
        ("PN with frames of 22 octets", [sabm, uih("8311 02f0000016000007")], [ua, frame(0x0B, 0x1F)]),
        ("PN of seven octets", [sabm, uih("830f 02f00000e80300")], [ua]),
        (
            "PN for an open connection", [sabm, frame(0x0B, 0x3F), uih("8311 02f00000e8030007")],
            [ua, frame(0x0B, 0x73), status, own("8111 020000007f000000")]
        ),
        ("test", [sabm, uih("2307 616263")], [ua, own("2107 616263")]),
        ("test with nothing", [sabm, uih("2301")], [ua, own("2101")]),
        ("flow control off and on", [sabm, uih("6301"), uih("a301")], [ua, own("6101"), own("a101")]),
        ("a port's settings", [sabm, uih("9303 0b")], [ua, own("9111 0b 03 03 00 11 13 7f3f")]),
        ("new settings", [sabm, uih("9311 0b 07 03 00 11 13 ff3f")], [ua, own("9111 0b 07 03 00 11 13 ff3f")]),
        ("a line's status", [sabm, uih("5305 0b 03")], [ua, own("5105 0b 03")]),
        ("an unknown command", [sabm, uih("c301")], [ua, own("1103 c3")]),
        ("an unknown response", [sabm, uih("c101")], [ua]),
        ("two commands in a frame", [sabm, uih("230361 230362")], [ua, own("210361"), own("210362")]),
        ("a command longer than its frame", [sabm, uih("23ff 61")], [ua]),
        ("a type without EA", [sabm, uih("8201")], [ua]),
        ("responses that nobody waits for", [sabm, uih("8111 02e000009a020007"), uih("e105 0b 8d"), uih("11 03 c3")], [ua]),
        ("data for no connection", [sabm, frame(0x0B, 0xEF, "41")], [ua, frame(0x0B, 0x1F)]),
        ("the end of no connection", [sabm, frame(0x0B, 0x53)], [ua, frame(0x0B, 0x1F)]),
        ("UA and DM out of the blue", [frame(0x0B, 0x73), sabm, frame(0x0B, 0x1F)], [ua]),
        ("a wrong check", ["033f01d7", sabm], [ua]),
        ("more than N1", [sabm, frame(0x0B, 0x3F), frame(0x0B, 0xEF, data(128))], [ua, frame(0x0B, 0x73), status, frame(0x09, 0x53)]),
        (
            "data without a credit",
            [sabm, uih("8311 02f0000064000000"), frame(0x0B, 0x3F)] + [String](repeating: frame(0x0B, 0xEF, "41"), count: 3),
            [ua, own("8111 02e0000064000002"), frame(0x0B, 0x73), status, credit(0x09, 1), credit(0x09, 1), credit(0x09, 1)]
        ),
    ]

    static let sabm = "033f011c"
    static let ua = "037301d7"
    /// The acceptor's modem status for DLCI 2.
    static let status = own("e305 0b 8d")
    static func uih(_ information: String) -> String { frame(0x03, 0xEF, information) }
    static func own(_ information: String) -> String { frame(0x01, 0xEF, information) }
    static func data(_ count: Int) -> String { String(repeating: "41", count: count) }
    static func credit(_ address: UInt8, _ credits: UInt8) -> String { hex([address, 0xFF, 0x01, credits, check([address, 0xFF])]) }

    @Test(arguments: exchanges.indices)
    func acceptorsAnswer(_ index: Int) {
        let (name, frames, wanted) = Self.exchanges[index]
        // The last row tests credits, with a window of two.
        let window = index == Self.exchanges.count - 1 ? 2 : 32
        var session = RFCOMMSession(.acceptor, RFCOMMSettings(services: [1, 2], mtu: 672, creditWindow: window))
        let actions = frames.flatMap { session.receive(octets($0), at: 0) }
        #expect(sent(actions) == wanted.map { hex(octets($0)) }, "\(name)")
    }

    /// Credits are enforced: a sender without credits is disconnected. RFCOMM 1.2, 6.5.
    @Test func overrunsEndTheConnection() {
        var session = RFCOMMSession(.acceptor, RFCOMMSettings(services: [1], creditWindow: 2))
        for text in [Self.sabm, Self.uih("8311 02f0000064000007"), Self.frame(0x0B, 0x3F)] { _ = session.receive(octets(text), at: 0) }
        _ = session.setReceiving(false, on: 2, at: 0)
        let actions = (0..<3).map { _ in session.receive(octets(Self.frame(0x0B, 0xEF, "41")), at: 0) }
        #expect(actions[0] == [.received(dlci: 2, [0x41])] && actions[1] == actions[0])
        #expect(sent(actions[2]) == [Self.frame(0x09, 0x53)])
        let closed = session.receive(octets(Self.frame(0x09, 0x73)), at: 0)
        #expect(closed.first == .closed(dlci: 2, .violation))
    }

    private func sent(_ actions: [RFCOMMAction]) -> [String] {
        actions.compactMap { if case .send(let octets) = $0 { hex(octets) } else { nil } }
    }

    // MARK: Both ends

    @Test(arguments: [(true, true), (true, false), (false, true), (false, false)], [50, 672])
    func dataFlowBothWays(_ credits: (Bool, Bool), _ mtu: Int) {
        var line = SerialLine(
            RFCOMMSettings(services: [9], mtu: mtu, usesCredits: credits.0, creditWindow: 3),
            RFCOMMSettings(services: [1, 30], mtu: 672, usesCredits: credits.1, creditWindow: 5))
        line.perform(0) { $0.open(channel: 1, at: 0) }
        line.perform(0) { $0.open(channel: 30, at: 0) }
        line.perform(1) { $0.open(channel: 9, at: 0) }
        #expect(line.ends.map(\.openLinks) == [[2, 19, 60], [2, 19, 60]])
        let text = (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for end in 0..<2 {
            for dlci: UInt8 in [2, 19, 60] { line.perform(end) { $0.send(text, on: dlci) ?? [] } }
        }
        for end in 0..<2 { #expect(line.received[end] == [2: text, 19: text, 60: text]) }
        #expect(line.ends.allSatisfy { $0.deadline == nil })
        line.perform(0) { $0.close(2, at: 0) }
        line.perform(1) { $0.close(60, at: 0) }
        #expect(line.ends.allSatisfy { !$0.isOver })
        line.perform(1) { $0.close(19, at: 0) }
        #expect(line.ends.allSatisfy { $0.isOver })
        #expect(line.reports[0].suffix(2) == [.closed(dlci: 19, .remote), .ended(.remote)])
        #expect(line.reports[1].suffix(2) == [.closed(dlci: 19, .local), .ended(.local)])
    }

    /// Data that cannot be sent waits in a bounded queue; the sender is notified of free space. RFCOMM 1.2, 6.
    @Test(arguments: [true, false])
    func aReceiverHoldsTheSender(_ usesCredits: Bool) {
        let settings = RFCOMMSettings(services: [1], mtu: 672, usesCredits: usesCredits, creditWindow: 4)
        var line = SerialLine(settings, settings)
        line.perform(0) { $0.open(channel: 1, at: 0) }
        line.perform(1) { $0.setReceiving(false, on: 2, at: 0) }
        for _ in 0..<65 { line.perform(0) { $0.send([UInt8](repeating: 1, count: 1_000), on: 2) ?? [] } }
        let refused = line.ends[0].send([UInt8](repeating: 1, count: 10_000), on: 2)
        #expect(refused == nil)
        let held = line.received[1][2]?.count ?? 0
        #expect(held <= 4 * 666)
        line.perform(1) { $0.setReceiving(true, on: 2, at: 0) }
        #expect(line.received[1][2]?.count == 65_000)
        #expect(line.reports[0].contains(.writable(dlci: 2)))
    }

    @Test func messagesOfTheMultiplexerAreReported() {
        var line = SerialLine(RFCOMMSettings(), RFCOMMSettings(services: [1]))
        line.perform(0) { $0.open(channel: 1, at: 0) }
        var settings = RFCOMMPortSettings.standard
        settings.baudRate = 7
        line.perform(0) { $0.ask(.remotePortNegotiation(dlci: 2, settings), at: 0) }
        line.perform(0) { $0.ask(.remotePortNegotiation(dlci: 2, nil), at: 0) }
        line.perform(0) { $0.ask(.remoteLineStatus(dlci: 2, 3), at: 0) }
        line.perform(0) { $0.ask(.modemStatus(dlci: 2, [.ready, .incomingCall], breakSignal: 0x13), at: 0) }
        line.perform(0) { $0.ask(.test([1, 2, 3]), at: 0) }
        #expect(
            line.reports[1].suffix(3) == [
                .portSettings(dlci: 2, settings), .lineStatus(dlci: 2, 3), .signals(dlci: 2, [.ready, .incomingCall]),
            ])
        #expect(
            line.reports[0].suffix(3) == [.portSettings(dlci: 2, settings), .portSettings(dlci: 2, settings), .testAnswered([1, 2, 3])])
    }

    // MARK: Time and refusals

    /// Progress of an initiator: the acceptor's frames one by one, and the result of the timeout.
    static let silences: [(String, [String], [RFCOMMAction])] = [
        ("no multiplexer", [], [.closed(dlci: 2, .timedOut), .ended(.timedOut)]),
        ("no answer to PN", [ua], [.closed(dlci: 2, .timedOut), .ended(.timedOut)]),
        ("no answer to SABM", [ua, own("8111 02e000009a020007")], [.send(octets(frame(0x0B, 0x53)))]),
        (
            "no answer to the modem status", [ua, own("8111 02e000009a020007"), frame(0x0B, 0x73)],
            [.closed(dlci: 2, .timedOut), .ended(.timedOut)]
        ),
    ]

    @Test(arguments: silences.indices)
    func silenceEnds(_ index: Int) {
        let (name, frames, wanted) = Self.silences[index]
        var session = RFCOMMSession(.initiator)
        _ = session.open(channel: 1, at: 100)
        for text in frames { _ = session.receive(octets(text), at: 100) }
        let due = 100 + session.settings.acknowledgementTimeOut
        #expect(session.deadline == due)
        let early = session.expire(at: due - 1)
        #expect(early.isEmpty)
        let actions = session.expire(at: due)
        #expect(actions == wanted, "\(name)")
        for _ in 0..<3 { if let next = session.deadline { _ = session.expire(at: next) } }
        #expect(session.isOver && session.deadline == nil)
    }

    static let endings: [(String, [String], RFCOMMEnd)] = [
        ("the multiplexer is refused", [frame(0x03, 0x1F)], .refused),
        ("PN is refused", [ua, frame(0x0B, 0x1F)], .refused),
        ("SABM is refused", [ua, own("8111 02e000009a020007"), frame(0x0B, 0x1F)], .refused),
        (
            "N1 is larger than asked for, which is taken for what was asked for",
            [ua, own("8111 02e00000ff7f0007"), frame(0x0B, 0x73), frame(0x09, 0x53)], .remote
        ),
        ("N1 is 0", [ua, own("8111 02e0000000000007")], .violation),
        ("the connection ends", [ua, own("8111 02e000009a020007"), frame(0x0B, 0x73), frame(0x09, 0x53)], .remote),
        ("everything ends", [ua, own("8111 02e000009a020007"), frame(0x0B, 0x73), frame(0x01, 0x53)], .remote),
    ]

    @Test(arguments: endings.indices)
    func connectionsEnd(_ index: Int) {
        let (name, frames, why) = Self.endings[index]
        var session = RFCOMMSession(.initiator)
        var actions = session.open(channel: 1, at: 0)
        for text in frames { actions += session.receive(octets(text), at: 0) }
        let ends: [RFCOMMEnd] = actions.compactMap {
            if case .closed(2, let end) = $0 { end } else if case .ended(let end) = $0 { end } else { nil }
        }
        #expect(ends.first == why, "\(name)")
        #expect(session.openLinks.isEmpty)
    }
}

/// Two sessions and the frames in transit between them.
private struct SerialLine {
    var ends: [RFCOMMSession]
    var received: [[UInt8: [UInt8]]] = [[:], [:]]
    var reports: [[RFCOMMAction]] = [[], []]

    init(_ initiator: RFCOMMSettings, _ acceptor: RFCOMMSettings) {
        ends = [RFCOMMSession(.initiator, initiator), RFCOMMSession(.acceptor, acceptor)]
    }

    mutating func perform(_ end: Int, _ event: (inout RFCOMMSession) -> [RFCOMMAction]) {
        var mail = event(&ends[end]).map { (end, $0) }
        while !mail.isEmpty {
            let (from, action) = mail.removeFirst()
            switch action {
            case .send(let octets):
                #expect(octets.count <= 672)
                mail += ends[1 - from].receive(octets, at: 0).map { (1 - from, $0) }
            case .received(let dlci, let octets): received[from][dlci, default: []] += octets
            default: reports[from].append(action)
            }
        }
    }
}
