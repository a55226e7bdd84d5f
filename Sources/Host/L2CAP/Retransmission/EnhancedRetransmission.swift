import DequeModule
import Packets
import Timing

/// The data of a channel in Enhanced Retransmission mode: windows, acknowledgements, and what was lost once more. Core Vol 3, Part A, 8.6.
struct EnhancedRetransmission {
    enum Action: Equatable {
        /// A PDU without its basic header.
        case send([UInt8])
        case deliver([UInt8])
        /// The peer breaks the rules, or nothing gets through: the channel is to be disconnected.
        case close(ChannelEnd)
    }

    /// How lost frames are asked for. A frame that is sent again for an SREJ may come twice, so that with a window of more than half the numbers
    /// it could be taken for one that is new: there REJ is used.
    enum Recovery {
        case reject
        case selectiveReject
    }

    struct SentFrame {
        var segment: SDUSegment
        var transmissions = 1
    }

    /// The transmitter's states XMIT and WAIT_F. Core Vol 3, Part A, 8.6.5.
    enum Transmitter: Equatable {
        case ready
        case awaitFinal(polls: Int)
        /// The channel is given up.
        case closed
    }

    /// The receiver's states RECV, REJ_SENT and SREJ_SENT.
    enum Receiver {
        case ready
        case awaitRejected
        case awaitSelected
    }

    /// How long an acknowledgement waits for an I-frame to go with.
    static let acknowledgementDelay = Microseconds.milliseconds(100)

    let terms: ChannelTerms
    let recovery: Recovery
    let framing: RetransmissionFraming
    let modulus: UInt16

    var transmitter = Transmitter.ready
    /// Segments that have not been sent.
    var waiting = Deque<SDUSegment>()
    /// From ExpectedAckSeq to NextTxSeq.
    var unacknowledged = Deque<SentFrame>()
    var expectedAckSeq: UInt16 = 0
    var isRemoteBusy = false
    /// REJ was acted upon while a final bit was awaited; its answer asks for the same frames.
    var hasActedOnReject = false
    /// The same of an SREJ, with its ReqSeq.
    var actedOnSelectiveReject: UInt16?

    var receiver = Receiver.ready
    var expectedTxSeq: UInt16 = 0
    /// What the peer has last been told of that.
    var acknowledgedTxSeq: UInt16 = 0
    /// Frames that came before those that are missing.
    var held: [UInt16: RetransmissionFrame] = [:]
    /// The frames that are missing and have been asked for.
    var missing: [UInt16] = []
    /// The number after the last frame that came.
    var firstUnseen: UInt16 = 0
    var isBusy = false
    /// That this side is busy no more must get through, so the peer is asked whether it has.
    var mustTellReady = false
    var reassembly: SDUReassembly

    var retransmissionDeadline: Microseconds?
    var monitorDeadline: Microseconds?
    var acknowledgementDeadline: Microseconds?

    init(_ terms: ChannelTerms, recovery: Recovery = .selectiveReject) {
        self.terms = terms
        framing = RetransmissionFraming(terms)
        modulus = terms.usesExtendedControl ? 0x4000 : 64
        self.recovery = terms.receiveWindow <= modulus / 2 ? recovery : .reject
        reassembly = SDUReassembly(mtu: Int(terms.receiveMTU))
    }

    var nextTxSeq: UInt16 { advance(expectedAckSeq, by: unacknowledged.count) }
    /// Frames that wait for the window or for an acknowledgement.
    var queuedFrames: Int { waiting.count + unacknowledged.count }

    /// When `expire` is to be called.
    var deadline: Microseconds? { [retransmissionDeadline, monitorDeadline, acknowledgementDeadline].compactMap(\.self).min() }

    func advance(_ sequence: UInt16, by count: Int) -> UInt16 { UInt16((Int(sequence) + count) % Int(modulus)) }

    /// How far a sequence number is behind another one.
    func distance(from start: UInt16, to end: UInt16) -> Int { (Int(end) + Int(modulus) - Int(start)) % Int(modulus) }

    // MARK: From above

    /// Sends an SDU, which is no longer than the peer's MTU.
    mutating func send(_ sdu: [UInt8], at now: Microseconds) -> [Action] {
        guard transmitter != .closed else { return [] }
        waiting.append(contentsOf: SDUReassembly.segments(of: sdu, mps: Int(terms.sendMPS)))
        return pump(at: now)
    }

    /// This side cannot take more than the peer may have sent already, or can again. Core Vol 3, Part A, 8.6.4.
    mutating func setBusy(_ isBusy: Bool, at now: Microseconds) -> [Action] {
        guard self.isBusy != isBusy, transmitter != .closed else { return [] }
        self.isBusy = isBusy
        mustTellReady = !isBusy
        return mustTellReady && transmitter == .ready ? pump(at: now) : [acknowledge()]
    }

    // MARK: Time

    mutating func expire(at now: Microseconds) -> [Action] {
        var actions: [Action] = []
        if let deadline = retransmissionDeadline, deadline <= now {
            retransmissionDeadline = nil
            actions.append(poll(1, at: now))
        }
        if let deadline = monitorDeadline, deadline <= now, case .awaitFinal(let polls) = transmitter {
            guard terms.maxTransmit == 0 || polls < Int(terms.maxTransmit) else { return actions + close(.timedOut) }
            actions.append(poll(polls + 1, at: now))
        }
        if let deadline = acknowledgementDeadline, deadline <= now { actions.append(acknowledge()) }
        return actions
    }

    /// Asks the peer for its state; until it answers nothing new is sent.
    mutating func poll(_ count: Int, at now: Microseconds) -> Action {
        transmitter = .awaitFinal(polls: count)
        retransmissionDeadline = nil
        monitorDeadline = now + terms.monitorTimeOut
        return sendSupervisory(readiness, isPoll: true)
    }

    // MARK: S-frames

    var readiness: SupervisoryFunction { isBusy ? .receiverNotReady : .receiverReady }

    mutating func acknowledge(isFinal: Bool = false) -> Action { sendSupervisory(readiness, isFinal: isFinal) }

    mutating func sendSupervisory(
        _ function: SupervisoryFunction, reqSeq: UInt16? = nil, isPoll: Bool = false, isFinal: Bool = false
    ) -> Action {
        // SREJ without P names a frame and acknowledges none.
        if function != .selectiveReject { noteAcknowledged() }
        return .send(framing.encode(.supervisory(function, reqSeq: reqSeq ?? expectedTxSeq, isPoll: isPoll, isFinal: isFinal)))
    }

    mutating func noteAcknowledged() {
        acknowledgedTxSeq = expectedTxSeq
        acknowledgementDeadline = nil
    }

    /// Nothing more happens on this channel.
    mutating func close(_ end: ChannelEnd) -> [Action] {
        guard transmitter != .closed else { return [] }
        transmitter = .closed
        (retransmissionDeadline, monitorDeadline, acknowledgementDeadline) = (nil, nil, nil)
        waiting.removeAll()
        unacknowledged.removeAll()
        held.removeAll()
        missing.removeAll()
        return [.close(end)]
    }
}
