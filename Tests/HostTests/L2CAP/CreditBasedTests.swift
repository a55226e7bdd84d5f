import BenchTesting
import Packets
import Testing
import Timing

@testable import Host

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
        ("a longer MTU", "19 02 0600 0002 4000 5000", "1a 02 0200 0000"),
        ("a shorter MTU", "19 02 0600 6300 4000 5000", "1a 02 0200 0100"),
        ("a shorter MPS of one channel", "19 02 0600 0002 4000 5000", "1a 02 0200 0000"),
        ("an MPS that no channel has", "19 02 0600 0002 3f00 5000", "1a 02 0200 0400"),
        ("a channel that is not there", "19 02 0600 0002 4000 5100", "1a 02 0200 0300"),
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

    /// Handling of responses to a local request.
    static let answers: [(name: String, enhanced: Int?, answer: String, events: [CreditBasedSignaling.Action])] = [
        (
            "refused", nil, "15 01 0a00 0000 0000 0000 0000 0500",
            [.closed(cid: 0x40, .creditBasedRefused(.refusedInsufficientAuthentication))]
        ),
        ("rejected", nil, "01 01 0200 0000", [.closed(cid: 0x40, .rejected(.commandNotUnderstood))]),
        ("an MTU of 22", nil, "15 01 0a00 4000 1600 1e00 0100 0000", [.closed(cid: 0x40, .violated)]),
        ("a destination of the signalling channel", nil, "15 01 0a00 0500 6400 1e00 0100 0000", [.closed(cid: 0x40, .violated)]),
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
                .closed(cid: 0x41, .violated), .closed(cid: 0x40, .violated),
            ]
        ),
        ("pending", 1, "18 01 0a00 0000 0000 0000 0e00 0000", []),
    ]
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

    /// K-frames at an end with MTU 10, MPS 8 and 4 credits, and the actions after the last one.
    static let frames: [(name: String, frames: [String], last: [CreditBasedFlow.Action])] = [
        ("an SDU in one frame", ["0300 414243"], [.deliver(octets("414243"))]),
        ("an empty one", ["0000"], [.deliver([])]),
        ("in two frames", ["0700 414243", "44454647"], [.deliver(octets("41424344454647")), .grant(2)]),
        ("the length alone", ["0100", "41"], [.deliver(octets("41")), .grant(2)]),
        ("MPS without the length", ["0800 4142434445464748"], [.deliver(octets("4142434445464748"))]),
        ("more than MPS", ["0900 414243444546474849"], [.close]),
        ("more than MPS, later", ["0a00 41", "424344454647484950"], [.close]),
        ("more than the MTU", ["0b00 41"], [.close]),
        ("more than was said", ["0200 414243"], [.close]),
        ("more than was said, later", ["0700 414243", "4445464748"], [.close]),
        ("half a length", ["03"], [.close]), ("nothing", [""], [.close]),
    ]

    @Test(arguments: frames) func frame(name: String, frames: [String], last: [CreditBasedFlow.Action]) {
        var flow = CreditBasedFlow(Self.terms(CreditBasedChannelSettings(mtu: 10, mps: 8, initialCredits: 4)))
        var actions: [CreditBasedFlow.Action] = []
        for frame in frames { actions = flow.received(octets(frame).span.bytes) }
        #expect(actions == last)
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
        for _ in 0..<2 { #expect(flow.received([1, 0, 7]) == [.deliver([7])]) }
        #expect(flow.grant(1) == [.grant(1)] && flow.received([1, 0, 7]) == [.deliver([7])])
        #expect(flow.received([1, 0, 7]) == [.close] && flow.grant(1) == [])
    }

    @Test func creditsBeyond65535EndTheChannel() {
        var flow = CreditBasedFlow(Self.terms(Self.settings, credits: 65_530))
        #expect(flow.credited(5) == [] && flow.credits == 65_535)
        #expect(flow.credited(1) == [.close])
        var other = CreditBasedFlow(Self.terms(CreditBasedChannelSettings(mtu: 23, mps: 23, initialCredits: 65_535)))
        #expect(other.grant(9) == [])
    }

    @Test func everyFrameCostsACredit() {
        var flow = CreditBasedFlow(Self.terms(Self.settings, mps: 23, credits: 2))
        flow.send([UInt8](repeating: 1, count: 67))
        flow.send([2])
        #expect(flow.nextFrame()?.count == 23 && flow.nextFrame()?.count == 23 && flow.nextFrame() == nil)
        #expect(flow.queuedSDUs == 2 && flow.credited(9) == [] && flow.nextFrame()?.count == 23)
        #expect(flow.nextFrame() == [1, 0, 2] && flow.nextFrame() == nil && flow.credits == 7 && flow.queuedSDUs == 0)
    }
}

extension CreditBasedFlow {
    fileprivate mutating func received(_ frame: [UInt8]) -> [Action] { received(frame.span.bytes) }
}
