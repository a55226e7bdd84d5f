import BBBenchTesting
import BBL2CAP
import BBPackets
import BBTiming
import Testing

@testable import BBHost

@Suite struct RetransmissionTests {
    // MARK: Two ends

    struct Journey: Sendable, CustomTestStringConvertible {
        var name: String
        var window: UInt16 = 32
        var link = RetransmissionPair.Link()
        var changes: @Sendable (inout ChannelTerms) -> Void = { _ in }
        var testDescription: String { name }
    }

    static let journeys: [Journey] = [
        Journey(name: "nothing is lost"),
        Journey(name: "a window of 1", window: 1),
        Journey(name: "a window of 63", window: 63),
        Journey(name: "no check sequence") { $0.usesFrameCheckSequence = false },
        Journey(name: "one in ten is lost", link: .init(loss: 0.1)),
        Journey(name: "a third is lost, window of 63", window: 63, link: .init(loss: 0.33)),
        Journey(name: "a third is lost, window of 1", window: 1, link: .init(loss: 0.33)),
        Journey(name: "a third is lost, extended window", window: 500, link: .init(loss: 0.33)) { $0.usesExtendedControl = true },
        Journey(name: "one in ten is damaged", link: .init(damage: 0.1)),
        Journey(name: "one in five comes twice", link: .init(repetition: 0.2)),
        Journey(name: "everything at once", link: .init(loss: 0.2, damage: 0.1, repetition: 0.1)),
        Journey(name: "a slow link", window: 8, link: .init(loss: 0.05, delay: .milliseconds(900))),
    ]

    @Test(arguments: journeys, [EnhancedRetransmission.Recovery.reject, .selectiveReject])
    func everythingArrives(_ journey: Journey, recovery: EnhancedRetransmission.Recovery) {
        for seed in UInt64(1)...8 {
            let terms = RetransmissionPair.terms(window: journey.window, journey.changes)
            var pair = RetransmissionPair(terms, recovery: recovery, link: journey.link, seed: seed)
            var random = RandomSource(seed: seed, label: "SDUs")
            var sent: [[[UInt8]]] = [[], []]
            for number in 0..<120 {
                let end = Int(random.next() % 2)
                let sdu = random.octets(Int(random.next() % (number % 10 == 0 ? 500 : 40)))
                sent[end].append(sdu)
                pair.send(sdu, from: end)
                if random.chance(0.5) { _ = pair.proceed() }
                if random.chance(0.05) { pair.setBusy(random.chance(0.5), end) }
            }
            for end in 0..<2 { pair.setBusy(false, end) }
            pair.settle()
            #expect(pair.ending == [nil, nil], "seed \(seed)")
            #expect(pair.received[0] == sent[1] && pair.received[1] == sent[0], "seed \(seed)")
            #expect(pair.ends.allSatisfy { $0.deadline == nil && $0.queuedFrames == 0 && $0.held.isEmpty }, "seed \(seed)")
        }
    }

    /// A link keeps frames in order. If it does not, a channel may end, but no wrong data is delivered.
    @Test(arguments: UInt64(1)...20) func swappedFramesAreNeverDeliveredInAnotherOrder(seed: UInt64) {
        let link = RetransmissionPair.Link(loss: 0.05, repetition: 0.05, swapping: 0.2)
        var pair = RetransmissionPair(RetransmissionPair.terms(window: 16), recovery: .selectiveReject, link: link, seed: seed)
        let sent = (0..<200).map { [UInt8($0), 1, 2, 3] }
        for sdu in sent { pair.send(sdu, from: 0) }
        pair.settle()
        #expect(pair.received[1] == Array(sent.prefix(pair.received[1].count)))
        #expect(pair.received[1].count == 200 || pair.ending.contains { $0 != nil })
    }

    @Test func aDeadLinkIsGivenUpAfterMaxTransmitPolls() {
        var pair = RetransmissionPair(RetransmissionPair.terms(window: 4, maxTransmit: 3), recovery: .reject, link: .init(loss: 1))
        pair.send([1], from: 0)
        pair.settle()
        #expect(pair.ending == [.timedOut, nil])
        // The retransmission timeout, and three monitor timeouts.
        #expect(pair.now == .seconds(2 + 3 * 12))
        #expect(pair.frames.filter { $0 == .supervisory(.receiverReady, reqSeq: 0, isPoll: true) }.count == 3)
    }

    // MARK: Message by message

    /// Received frames, one after another, at an end that has sent three frames and may await an acknowledgement; sent frames; and actions.
    struct Exchange: Sendable, CustomTestStringConvertible {
        var name: String
        var recovery = EnhancedRetransmission.Recovery.reject
        var window: UInt16 = 10
        var sent = 0
        var isPolling = false
        var arriving: [FrameControl]
        var leaving: [FrameControl]
        var delivered = 0
        var end: ChannelEnd?
        var testDescription: String { name }
    }

    private static func frame(_ txSeq: UInt16, _ reqSeq: UInt16 = 0, isFinal: Bool = false) -> FrameControl {
        .information(.unsegmented, txSeq: txSeq, reqSeq: reqSeq, isFinal: isFinal)
    }

    static let exchanges: [Exchange] = [
        Exchange(
            name: "a poll is answered", arriving: [.supervisory(.receiverReady, reqSeq: 0, isPoll: true)],
            leaving: [.supervisory(.receiverReady, reqSeq: 0, isFinal: true)]),
        Exchange(
            name: "a poll of a busy peer is answered", arriving: [.supervisory(.receiverNotReady, reqSeq: 0, isPoll: true)],
            leaving: [.supervisory(.receiverReady, reqSeq: 0, isFinal: true)]),
        Exchange(
            name: "a gap is rejected once", arriving: [frame(0), frame(2), frame(3)],
            leaving: [.supervisory(.reject, reqSeq: 1)], delivered: 1),
        Exchange(
            name: "and filled", arriving: [frame(0), frame(2), frame(1), frame(2)], leaving: [.supervisory(.reject, reqSeq: 1)],
            delivered: 3),
        Exchange(
            name: "each missing frame is asked for", recovery: .selectiveReject, arriving: [frame(0), frame(3), frame(5)],
            leaving: [1, 2, 4].map { .supervisory(.selectiveReject, reqSeq: $0) }, delivered: 1),
        Exchange(
            name: "in any order", recovery: .selectiveReject, arriving: [frame(3), frame(2), frame(1), frame(0)],
            leaving: [0, 1, 2].map { .supervisory(.selectiveReject, reqSeq: $0) }, delivered: 4),
        Exchange(
            name: "a poll is answered with what is missing", recovery: .selectiveReject,
            arriving: [frame(1), .supervisory(.receiverReady, reqSeq: 0, isPoll: true)],
            leaving: [.supervisory(.selectiveReject, reqSeq: 0), .supervisory(.selectiveReject, reqSeq: 0, isFinal: true)]),
        Exchange(
            name: "the window is nearly used up", window: 4, arriving: [frame(0), frame(1), frame(2)],
            leaving: [.supervisory(.receiverReady, reqSeq: 3)], delivered: 3),
        Exchange(name: "a frame comes twice", arriving: [frame(0), frame(0)], leaving: [], delivered: 1),
        Exchange(name: "a frame beyond the window", window: 4, arriving: [frame(4)], leaving: []),
        Exchange(name: "a frame beyond a large window", window: 63, arriving: [frame(63)], leaving: [], end: .violated),
        Exchange(name: "all are rejected", sent: 3, arriving: [.supervisory(.reject, reqSeq: 1)], leaving: [frame(1), frame(2)]),
        Exchange(name: "one is", sent: 3, arriving: [.supervisory(.selectiveReject, reqSeq: 1)], leaving: [frame(1)]),
        Exchange(
            name: "one is, with a poll", sent: 3, arriving: [.supervisory(.selectiveReject, reqSeq: 1, isPoll: true)],
            leaving: [frame(1, isFinal: true)]),
        Exchange(
            name: "one that was not sent", sent: 3, arriving: [.supervisory(.selectiveReject, reqSeq: 3)], leaving: [], end: .violated),
        Exchange(
            name: "more are acknowledged than sent", sent: 3, arriving: [.supervisory(.receiverReady, reqSeq: 4)], leaving: [],
            end: .violated),
        Exchange(name: "an I-frame acknowledges more", sent: 3, arriving: [frame(0, 4)], leaving: [], end: .violated),
        Exchange(
            name: "P and F at once", arriving: [.supervisory(.receiverReady, reqSeq: 0, isPoll: true, isFinal: true)], leaving: [],
            end: .violated),
        Exchange(name: "F that nobody waits for", sent: 3, arriving: [.supervisory(.receiverReady, reqSeq: 0, isFinal: true)], leaving: []),
        Exchange(
            name: "F asks for the rest", sent: 3, isPolling: true, arriving: [.supervisory(.receiverReady, reqSeq: 1, isFinal: true)],
            leaving: [frame(1), frame(2)]),
        Exchange(
            name: "F in an I-frame does, too", sent: 3, isPolling: true, arriving: [frame(0, 1, isFinal: true)],
            leaving: [frame(1, 1), frame(2, 1)], delivered: 1),
        Exchange(
            name: "not after a REJ", sent: 3, isPolling: true,
            arriving: [.supervisory(.reject, reqSeq: 1), .supervisory(.receiverReady, reqSeq: 1, isFinal: true)],
            leaving: [frame(1), frame(2)]),
        Exchange(
            name: "an SREJ and its answer are one", sent: 3, isPolling: true,
            arriving: [.supervisory(.selectiveReject, reqSeq: 1), .supervisory(.selectiveReject, reqSeq: 1, isFinal: true)],
            leaving: [frame(1)]),
        Exchange(
            name: "a busy peer gets nothing again", sent: 3, isPolling: true,
            arriving: [.supervisory(.receiverNotReady, reqSeq: 1, isFinal: true)], leaving: []),
        Exchange(name: "a segment without a start", arriving: [.information(.end, txSeq: 0, reqSeq: 0)], leaving: [], end: .violated),
    ]

    @Test(arguments: exchanges) func exchange(_ row: Exchange) {
        let terms = RetransmissionPair.terms(window: row.window)
        var core = EnhancedRetransmission(terms, recovery: row.recovery)
        let far = RetransmissionFraming(RetransmissionPair.terms(window: 1) { ($0.localCID, $0.remoteCID) = (0x41, 0x40) })
        for number in 0..<row.sent { _ = core.send([UInt8(number)], at: .zero) }
        if row.isPolling { _ = core.expire(at: .seconds(2)) }
        var actions: [EnhancedRetransmission.Action] = []
        for control in row.arriving {
            var segment: SDUSegment?
            if case .information = control { segment = SDUSegment(octets: [9]) }
            actions += core.received(far.encode(control, segment), at: .seconds(2))
        }
        let leaving = actions.compactMap { action -> FrameControl? in
            guard case .send(let pdu) = action else { return nil }
            return far.decode(pdu)?.control
        }
        #expect(leaving == row.leaving)
        #expect(actions.filter { if case .deliver = $0 { true } else { false } }.count == row.delivered)
        #expect(actions.contains(.close(row.end ?? .byPeer)) == (row.end != nil))
    }

    /// I-frames with SDUs that exceed the limits of the channel.
    static let faults: [(name: String, frames: [(SegmentKind, length: UInt16?, octets: Int)])] = [
        ("a payload beyond MPS", [(.unsegmented, nil, 21)]), ("an SDU beyond the MTU", [(.start, 501, 20)]),
        ("a start with everything", [(.start, 20, 20)]), ("less than was said", [(.start, 30, 20), (.end, nil, 9)]),
        ("more than was said", [(.start, 30, 20), (.end, nil, 11)]),
        ("a middle with the rest", [(.start, 30, 20), (.continuation, nil, 10)]),
        ("a start in the middle", [(.start, 30, 20), (.start, 30, 20)]),
        ("a whole one in the middle", [(.start, 30, 20), (.unsegmented, nil, 2)]),
    ]

    @Test(arguments: faults) func anSDUThatIsNone(name: String, frames: [(SegmentKind, length: UInt16?, octets: Int)]) {
        let terms = RetransmissionPair.terms(window: 10) { $0.usesFrameCheckSequence = false }
        var core = EnhancedRetransmission(terms)
        let framing = RetransmissionFraming(terms)
        var actions: [EnhancedRetransmission.Action] = []
        for (index, (kind, length, count)) in frames.enumerated() {
            let segment = SDUSegment(sduLength: length, octets: [UInt8](repeating: 1, count: count)[...])
            actions = core.received(framing.encode(.information(kind, txSeq: UInt16(index), reqSeq: 0), segment), at: .zero)
        }
        #expect(actions.last == .close(.violated))
        #expect(core.deadline == nil && core.send([1], at: .zero) == [])
    }

    // MARK: Streaming mode

    @Test func aLostFrameCostsItsSDUOnly() {
        let terms = RetransmissionPair.terms(window: 0)
        var other = terms
        (other.localCID, other.remoteCID) = (terms.remoteCID, terms.localCID)
        var (sender, receiver) = (StreamingMode(terms), StreamingMode(other))
        var random = RandomSource(seed: 5)
        var (sent, arrived): ([[UInt8]], [[UInt8]]) = ([], [])
        for number in 0..<200 {
            let sdu = [UInt8](repeating: UInt8(number), count: 1 + number % 70)
            var isWhole = true
            for case .send(let pdu) in sender.send(sdu) {
                guard !random.chance(0.1) else {
                    isWhole = false
                    continue
                }
                for case .deliver(let sdu) in receiver.received(pdu) { arrived.append(sdu) }
            }
            if isWhole { sent.append(sdu) }
        }
        #expect(arrived == sent && receiver.lostFrames > 20 && sent.count < 180)
    }

    @Test func noFrameTraps() {
        var random = RandomSource(seed: 9)
        for seed in UInt64(0)..<200 {
            let terms = RetransmissionPair.terms(window: 1 + UInt16(seed % 63), maxTransmit: 3) { $0.usesFrameCheckSequence = false }
            var pair = RetransmissionPair(terms, recovery: seed % 2 == 0 ? .reject : .selectiveReject, seed: seed)
            for _ in 0..<100 {
                let end = Int(random.next() % 2)
                pair.send(random.octets(Int(random.next() % 60)), from: end)
                pair.perform(pair.ends[end].received(random.octets(Int(random.next() % 8)), at: pair.now), end)
                _ = pair.proceed()
            }
            pair.settle(steps: 5_000)
        }
    }
}
