import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

@Suite struct CreditBasedTests {
    // MARK: Commands

    static let settings = CreditBasedChannelSettings(mtu: 100, mps: 30, initialCredits: 3)

    /// Commands to one end, whose SPSM 0x80 accepts channels and 0x82 one, and its responses; source CID 0x0050 is already in use.
    static let rows: [(name: String, command: String, answer: String?)] = [
        ("a channel", "14 02 0a00 8000 4000 6400 1e00 0300", "15 02 0a00 4100 6400 1e00 0300 0000"),
        ("an unknown SPSM", "14 02 0a00 8100 4000 6400 1e00 0300", "15 02 0a00 0000 0000 0000 0000 0200"),
        ("an MTU of 22", "14 02 0a00 8000 4000 1600 1e00 0300", "15 02 0a00 0000 0000 0000 0000 0b00"),
        ("an MPS of 22", "14 02 0a00 8000 4000 6400 1600 0300", "15 02 0a00 0000 0000 0000 0000 0b00"),
        ("an MPS of 65534", "14 02 0a00 8000 4000 6400 feff 0300", "15 02 0a00 0000 0000 0000 0000 0b00"),
        ("no credits", "14 02 0a00 8000 4000 6400 1e00 0000", "15 02 0a00 4100 6400 1e00 0300 0000"),
        ("the source CID 0x003F", "14 02 0a00 8000 3f00 6400 1e00 0300", "15 02 0a00 0000 0000 0000 0000 0900"),
        ("the source CID 0x0080", "14 02 0a00 8000 8000 6400 1e00 0300", "15 02 0a00 0000 0000 0000 0000 0900"),
        ("a source CID in use", "14 02 0a00 8000 5000 6400 1e00 0300", "15 02 0a00 0000 0000 0000 0000 0a00"),
        ("nine octets", "14 02 0900 8000 4000 6400 1e00 03", "01 02 0200 0000"),
        ("eleven octets", "14 02 0b00 8000 4000 6400 1e00 0300 00", "01 02 0200 0000"),
        ("two channels at once", "17 02 0c00 8000 6400 4000 0300 4000 4100", "18 02 0c00 6400 1e00 0300 0000 4100 4200"),
        ("two channels, one in use", "17 02 0c00 8000 6400 4000 0300 5000 4100", "18 02 0c00 6400 1e00 0300 0a00 0000 4100"),
        ("three channels, room for one", "17 02 0e00 8200 6400 4000 0300 4000 4100 4200", "18 02 0e00 6400 1e00 0300 0400 4100 0000 0000"),
        ("the same channel twice", "17 02 0c00 8000 6400 4000 0300 4000 4000", "18 02 0c00 0000 0000 0000 0c00 0000 0000"),
        ("no channel", "17 02 0800 8000 6400 4000 0300", "18 02 0800 0000 0000 0000 0c00"),
        ("six channels", "17 02 1400 8000 6400 4000 0300 400041004200430044004500", "01 02 0400 0100 1700"),
        ("enhanced with an MPS of 63", "17 02 0a00 8000 6400 3f00 0300 4000", "18 02 0a00 0000 0000 0000 0c00 0000"),
        ("enhanced without credits", "17 02 0a00 8000 6400 4000 0000 4000", "18 02 0a00 0000 0000 0000 0c00 0000"),
        ("enhanced, unknown SPSM", "17 02 0a00 8100 6400 4000 0300 4000", "18 02 0a00 0000 0000 0000 0200 0000"),
        ("a list of one octet and a half", "17 02 0b00 8000 6400 4000 0300 4000 41", "01 02 0200 0000"),
        ("disconnection", "06 02 0400 4000 5000", "07 02 0400 4000 5000"),
        ("disconnection of the other end's channel only", "06 02 0400 4000 5100", nil),
        ("disconnection of no channel", "06 02 0400 4500 5000", "01 02 0600 0200 4500 5000"),
        ("a short disconnection", "06 02 0200 4000", "01 02 0200 0000"),
        ("credits", "16 02 0400 5000 0100", nil), ("no credits at all", "16 02 0400 5000 0000", nil),
        ("credits for no channel", "16 02 0400 4000 0100", nil),
        ("reconfiguration of a channel in LE mode", "19 02 0600 0002 4000 5000", "1a 02 0200 0300"),
        ("responses nobody waits for", "15 02 0a00 4100 6400 1e00 0300 0000", nil),
    ]

    @Test(arguments: rows) func command(name: String, command: String, answer: String?) {
        var signaling = LESignaling()
        func take(_ pdu: String) -> [LESignaling.Action] {
            var sent: [LESignaling.Action] = []
            for action in signaling.received(octets(pdu), asCentral: true, at: .zero) {
                guard case .channel(.requested(let identifier, let spsm, _)) = action else {
                    sent.append(action)
                    continue
                }
                let decision: CreditBasedSignaling.Decision =
                    switch spsm {
                    case 0x80: .accept(Self.settings)
                    case 0x82: .acceptFirst(1, Self.settings)
                    default: .refuse(.refusedSPSMNotSupported)
                    }
                sent += signaling.withChannels { $0.decide(identifier, decision) }
            }
            return sent.filter { if case .send = $0 { true } else { false } }
        }
        #expect(take("14 01 0a00 8000 5000 6400 6400 0300") == [.send(octets("15 01 0a00 4000 6400 1e00 0300 0000"))])
        #expect(take(command) == (answer.map { [.send(octets($0))] } ?? []))
    }

    /// Reconfiguration requests for a channel in enhanced mode with the CID 0x0050, MTU 100 and MPS 100, and one more with 0x0051.
    static let changes: [(name: String, command: String, result: UInt8)] = [
        ("a longer MTU", "19 02 0600 0002 6400 5000", 0), ("the same MTU and MPS", "19 02 0600 6400 6400 5000", 0),
        ("the largest", "19 02 0600 ffff fdff 5000", 0), ("a shorter MTU", "19 02 0600 6300 6400 5000", 1),
        ("a shorter MPS of one channel", "19 02 0600 0002 4000 5000", 0), ("a shorter MPS of two", "19 02 0800 0002 4000 5000 5100", 2),
        ("a longer MPS of two", "19 02 0800 0002 c800 5000 5100", 0), ("a channel that is not there", "19 02 0600 0002 6400 5200", 3),
        ("one of two that is not there", "19 02 0800 0002 6400 5000 5200", 3),
        ("the same channel twice", "19 02 0800 0002 6400 5000 5000", 3),
        ("an MTU of 63", "19 02 0600 3f00 6400 5000", 4), ("an MPS of 63", "19 02 0600 0002 3f00 5000", 4),
        ("an MPS of 65534", "19 02 0600 0002 feff 5000", 4), ("no channel", "19 02 0400 0002 6400", 4),
    ]

    @Test(arguments: changes) func reconfiguration(name: String, command: String, result: UInt8) {
        var signaling = LESignaling()
        let settings = CreditBasedChannelSettings(mtu: 100, mps: 64, initialCredits: 3)
        _ = signaling.received(octets("17 01 0c00 8000 6400 6400 0300 5000 5100"), asCentral: true, at: .zero)
        let opened = signaling.withChannels { $0.decide(1, .accept(settings)) }
        #expect(opened.first == .send(octets("18 01 0c00 6400 4000 0300 0000 4000 4100")))
        let actions = signaling.received(octets(command), asCentral: true, at: .zero)
        #expect(actions.first == .send(octets("1a 02 0200 ") + [result, 0]))
        #expect((actions.count > 1) == (result == 0))
    }

    /// Handling of responses to a local request.
    static let answers: [(name: String, enhanced: Int?, answer: String, events: [CreditBasedSignaling.Action])] =
        [
            (
                "refused", nil, "15 01 0a00 0000 0000 0000 0000 0500",
                [.closed(cid: 0x40, .creditBasedRefused(.refusedInsufficientAuthentication))]
            ),
            ("rejected", nil, "01 01 0200 0000", [.closed(cid: 0x40, .rejected(.commandNotUnderstood))]),
            ("an MTU of 22", nil, "15 01 0a00 4000 1600 1e00 0100 0000", [.closed(cid: 0x40, .creditBasedViolated(.illegalResponse))]),
            (
                "a destination of the signalling channel", nil, "15 01 0a00 0500 6400 1e00 0100 0000",
                [.closed(cid: 0x40, .creditBasedViolated(.illegalResponse))]
            ),
            ("another identifier", nil, "15 02 0a00 4000 6400 1e00 0100 0000", []),
            (
                "two of three", 3, "18 01 0e00 6400 4000 0300 0400 4a00 0000 4b00",
                [
                    .opened(
                        CreditBasedTerms(
                            localCID: 0x40, remoteCID: 0x4A, spsm: 0x80, sendMTU: 100, sendMPS: 64, sendCredits: 3, settings: enhanced)),
                    .closed(cid: 0x41, .creditBasedRefused(.refusedNoResources)),
                    .opened(
                        CreditBasedTerms(
                            localCID: 0x42, remoteCID: 0x4B, spsm: 0x80, sendMTU: 100, sendMPS: 64, sendCredits: 3, settings: enhanced)),
                ]
            ),
            (
                "twice the same destination", 2, "18 01 0c00 6400 4000 0300 0000 4a00 4a00",
                [
                    .opened(
                        CreditBasedTerms(
                            localCID: 0x40, remoteCID: 0x4A, spsm: 0x80, sendMTU: 100, sendMPS: 64, sendCredits: 3, settings: enhanced)),
                    .closed(cid: 0x41, .creditBasedViolated(.illegalResponse)), .closed(cid: 0x40, .creditBasedViolated(.illegalResponse)),
                ]
            ),
            ("pending", 1, "18 01 0a00 0000 0000 0000 0e00 0000", []),
        ]
        + [0x0002, 0x0005, 0x0006, 0x0007, 0x0008, 0x000B, 0x000C, 0x0042].map { result in
            // With a result that refuses all, a CID opens nothing. Core Vol 3, Part A, 4.26.
            let low = String(result, radix: 16)
            return (
                "all refused with 0x\(low), and a CID", 1, "18 01 0a00 6400 4000 0300 \(result < 16 ? "0" : "")\(low)00 4a00",
                [.closed(cid: 0x40, .creditBasedRefused(CreditBasedConnectionResult(rawValue: UInt16(result))))]
            )
        }
    static let enhanced = CreditBasedChannelSettings(mtu: 100, mps: 64, initialCredits: 3)

    @Test(arguments: answers) func answer(name: String, enhanced: Int?, answer: String, events: [CreditBasedSignaling.Action]) {
        var signaling = LESignaling()
        let kind = enhanced == nil ? CreditBasedKind.lowEnergy : .enhanced
        _ = signaling.withChannels { $0.connect(spsm: 0x80, Self.enhanced, kind: kind, count: enhanced ?? 1, at: .zero).actions }
        let actions = signaling.received(octets(answer), asCentral: true, at: .zero)
        #expect(actions == events.map { .channel($0) })
        let isPending = events.isEmpty
        #expect((signaling.channels.deadline != nil) == isPending)
        guard let deadline = signaling.channels.deadline else { return }
        #expect(deadline == .seconds(name == "pending" ? 120 : 30))
        #expect(signaling.withChannels { $0.expire(at: deadline) } == [.channel(.closed(cid: 0x40, .timedOut))])
    }

    @Test func thereAreSixtyFourChannels() {
        var signaling = CreditBasedSignaling()
        for _ in 0..<64 { #expect(signaling.connect(spsm: 0x80, Self.settings, at: .zero).cids.count == 1) }
        #expect(signaling.connect(spsm: 0x80, Self.settings, at: .zero).cids.isEmpty)
    }

    // MARK: Data

    /// K-frames at an end with MTU 10, MPS 8 and 4 credits, and what the last one causes: an SDU, a fault, credits for the peer.
    static let frames: [(name: String, frames: [String], last: Effect)] = [
        ("an SDU in one frame", ["0300 414243"], Effect(sdu: "414243")),
        ("an empty one", ["0000"], Effect(sdu: "")),
        ("in two frames", ["0700 414243", "44454647"], Effect(sdu: "41424344454647", credits: 2)),
        ("the length alone", ["0100", "41"], Effect(sdu: "41", credits: 2)),
        ("exactly MPS", ["0600 414243444546"], Effect(sdu: "414243444546")),
        ("MPS without the length", ["0800 4142434445464748"], Effect(sdu: "4142434445464748")),
        ("more than MPS", ["0900 414243444546474849"], Effect(fault: .frameTooLong(octets: 9, limit: 8))),
        ("more than MPS, later", ["0a00 41", "424344454647484950"], Effect(fault: .frameTooLong(octets: 9, limit: 8))),
        ("more than the MTU", ["0b00 41"], Effect(fault: .sduTooLong(octets: 11, limit: 10))),
        ("more than was said", ["0200 414243"], Effect(fault: .lengthExceeded)),
        ("more than was said, later", ["0700 414243", "4445464748"], Effect(fault: .lengthExceeded)),
        ("half a length", ["03"], Effect(fault: .noLength)), ("nothing", [""], Effect(fault: .noLength)),
    ]

    struct Effect: Sendable, Equatable {
        var sdu: String?
        var fault: ChannelFault?
        var credits: UInt16 = 0
    }

    @Test(arguments: frames) func frame(name: String, frames: [String], last: Effect) {
        var flow = CreditBasedFlow(Self.terms(CreditBasedChannelSettings(mtu: 10, mps: 8, initialCredits: 4)))
        var effect = Effect()
        for frame in frames { effect = flow.taken(octets(frame)) }
        #expect(effect == last)
    }

    static func terms(_ settings: CreditBasedChannelSettings, mtu: UInt16 = 100, mps: UInt16 = 23, credits: UInt16 = 0) -> CreditBasedTerms
    {
        CreditBasedTerms(
            localCID: 0x40, remoteCID: 0x41, spsm: 0x80, sendMTU: mtu, sendMPS: mps, sendCredits: credits, settings: settings)
    }

    @Test func aFrameWithoutACreditEndsTheChannel() {
        var settings = CreditBasedChannelSettings(mtu: 100, mps: 23, initialCredits: 2)
        settings.grantsCredits = false
        var flow = CreditBasedFlow(Self.terms(settings))
        for _ in 0..<2 { #expect(flow.taken([1, 0, 7]) == Effect(sdu: "07")) }
        #expect(flow.grant(1) == 1 && flow.taken([1, 0, 7]) == Effect(sdu: "07"))
        #expect(flow.taken([1, 0, 7]) == Effect(fault: .noCredit) && flow.grant(1) == 0)
    }

    /// The longest SDU of 10 octets has two frames of 8; its credits come back with its last frame, all at once.
    @Test func creditsForWholeSDUs() {
        var quirks = ChannelQuirks()
        quirks.creditsWholeSDUs = true
        let settings = quirks.applied(to: CreditBasedChannelSettings(mtu: 10, mps: 8, initialCredits: 1), .lowEnergy)
        var flow = CreditBasedFlow(Self.terms(settings))
        #expect(flow.granted == 2)
        #expect(flow.taken(octets("0a00 414243444546")) == Effect() && flow.replenish() == 0)
        #expect(flow.taken(octets("47484950")).credits == 2)
    }

    /// The response offers none, and the channel gives them when it is open; a request in enhanced mode has its own.
    @Test(arguments: [(CreditBasedKind.lowEnergy, UInt16(0), UInt16(10)), (.enhanced, 10, 0)])
    func firstCreditsComeLater(kind: CreditBasedKind, offered: UInt16, later: UInt16) {
        var quirks = ChannelQuirks()
        quirks.offersNoCredits = true
        let settings = quirks.applied(to: CreditBasedChannelSettings(), kind)
        var flow = CreditBasedFlow(Self.terms(settings))
        #expect(settings.offeredCredits == offered && flow.granted == Int(offered))
        #expect(flow.replenish() == later && flow.granted == 10)
    }

    @Test func creditsBeyond65535EndTheChannel() {
        var flow = CreditBasedFlow(Self.terms(Self.settings, credits: 65_530))
        #expect(flow.credited(5) == nil && flow.credits == 65_535)
        #expect(flow.credited(1) == .tooManyCredits(65_536))
        var other = CreditBasedFlow(Self.terms(CreditBasedChannelSettings(mtu: 23, mps: 23, initialCredits: 65_535)))
        #expect(other.grant(9) == 0)
    }

    @Test func everyFrameCostsACredit() {
        var flow = CreditBasedFlow(Self.terms(Self.settings, mps: 23, credits: 2))
        flow.send([UInt8](repeating: 1, count: 67))
        flow.send([2])
        #expect(flow.sentFrame()?.count == 23 && flow.sentFrame()?.count == 23 && flow.sentFrame() == nil)
        #expect(flow.queuedSDUs == 2 && flow.credited(9) == nil && flow.sentFrame()?.count == 23)
        #expect(flow.sentFrame() == [1, 0, 2] && flow.sentFrame() == nil && flow.credits == 7 && flow.queuedSDUs == 0)
    }

    /// Credits come in batches of half the window, as SDUs are read; an unread SDU keeps its credits.
    @Test func creditsFollowTheReader() {
        var flow = CreditBasedFlow(Self.terms(CreditBasedChannelSettings(mtu: 100, mps: 23, initialCredits: 8)))
        for _ in 0..<8 { #expect(flow.received(([1, 0, 7] as [UInt8]).span.bytes) == .whole && flow.replenish() == 0) }
        #expect(flow.granted == 0 && flow.unread == 8)
        for _ in 0..<3 {
            flow.read(1)
            #expect(flow.replenish() == 0)
        }
        flow.read(1)
        #expect(flow.replenish() == 4 && flow.granted == 4 && flow.unread == 4)
        flow.read(4)
        #expect(flow.replenish() == 4 && flow.granted == 8)
    }

    /// An SDU that needs more frames than there are credits comes through, even with one credit.
    @Test(arguments: [1, 2, 3]) func aLongSDUComesThroughWithFewCredits(credits: Int) {
        var flow = CreditBasedFlow(Self.terms(CreditBasedChannelSettings(mtu: 100, mps: 23, initialCredits: UInt16(credits))))
        var effect = flow.taken([90, 0])
        for _ in 0..<9 {
            #expect(effect.fault == nil && effect.sdu == nil && flow.granted > 0)
            effect = flow.taken([UInt8](repeating: 5, count: 10))
        }
        #expect(effect.sdu == String(repeating: "05", count: 90))
    }

    /// The longest SDU of full K-frames only: (MTU, MPS, octets).
    @Test(arguments: [(100, 23, 90), (245, 247, 245), (500, 247, 492), (65_535, 65_533, 65_531), (23, 23, 21), (23, 64, 23)])
    func sdusOfFullFrames(mtu: Int, mps: Int, octets: Int) {
        #expect(CreditBasedFlow(Self.terms(Self.settings, mtu: UInt16(mtu), mps: UInt16(mps))).fullSDU == octets)
    }
}

extension CreditBasedFlow {
    /// The effect of a frame, for a reader that takes everything at once.
    fileprivate mutating func taken(_ frame: [UInt8]) -> CreditBasedTests.Effect {
        var effect = CreditBasedTests.Effect()
        switch received(frame.span.bytes) {
        case .part: break
        case .whole: effect.sdu = Hex.octets([UInt8](frame.dropFirst(2))).replacing(" ", with: "").lowercased()
        case .completed: effect.sdu = Hex.octets(takeSDU()).replacing(" ", with: "").lowercased()
        case .fault(let fault): effect.fault = fault
        }
        if effect.sdu != nil { read(completedFrames) }
        effect.credits = replenish()
        return effect
    }

    /// The octets of the next K-frame.
    fileprivate mutating func sentFrame() -> [UInt8]? {
        nextFrame().map { frame in
            (frame.length.map { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] } ?? []) + frame.sdu[frame.range]
        }
    }
}
