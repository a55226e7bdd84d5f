import BBL2CAP
import BBPackets
import BBTiming
import DequeModule

/// The data of a channel in Enhanced Retransmission mode: windows, acknowledgements and retransmissions. Core Vol 3, Part A, 8.6.
struct EnhancedRetransmission {
    enum Action: Equatable {
        /// A PDU without its basic header.
        case send([UInt8])
        case deliver([UInt8])
        /// Disconnects the channel, because the peer has violated the rules or does not respond.
        case close(ChannelEnd)
    }

    /// The method of requesting lost frames. A frame requested with SREJ may arrive twice; with a window of more than half the modulus it
    /// could be mistaken for a new frame, so REJ is used there.
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
        /// The channel has been closed.
        case closed
    }

    /// The receiver's states RECV, REJ_SENT and SREJ_SENT.
    enum Receiver {
        case ready
        case awaitRejected
        case awaitSelected
    }

    /// The time for which an acknowledgement waits for an I-frame to carry it.
    static let acknowledgementDelay = Microseconds.milliseconds(100)

    let terms: ChannelTerms
    let recovery: Recovery
    let framing: RetransmissionFraming
    let modulus: UInt16

    var transmitter = Transmitter.ready
    /// The segments that have not been sent.
    var waiting = Deque<SDUSegment>()
    /// The frames from ExpectedAckSeq to NextTxSeq.
    var unacknowledged = Deque<SentFrame>()
    var expectedAckSeq: UInt16 = 0
    var isRemoteBusy = false
    /// True if a REJ was processed while waiting for a final bit; the response requests the same frames.
    var hasActedOnReject = false
    /// The ReqSeq of an SREJ processed while waiting for a final bit.
    var actedOnSelectiveReject: UInt16?

    var receiver = Receiver.ready
    var expectedTxSeq: UInt16 = 0
    /// The ReqSeq last sent to the peer.
    var acknowledgedTxSeq: UInt16 = 0
    /// The frames received out of order, after missing ones.
    var held: [UInt16: RetransmissionFrame] = [:]
    /// The missing frames that have been requested.
    var missing: [UInt16] = []
    /// The sequence number after the last received frame.
    var firstUnseen: UInt16 = 0
    var isBusy = false
    /// True if the peer must learn that this side is no longer busy, which a poll confirms.
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
    /// The number of frames that wait for the window or for an acknowledgement.
    var queuedFrames: Int { waiting.count + unacknowledged.count }

    /// The time at which to call `expire`.
    var deadline: Microseconds? { [retransmissionDeadline, monitorDeadline, acknowledgementDeadline].compactMap(\.self).min() }

    func advance(_ sequence: UInt16, by count: Int) -> UInt16 { UInt16((Int(sequence) + count) % Int(modulus)) }

    /// Returns the distance between two sequence numbers, modulo the sequence number space.
    func distance(from start: UInt16, to end: UInt16) -> Int { (Int(end) + Int(modulus) - Int(start)) % Int(modulus) }

    // MARK: Calls of the host

    /// Sends an SDU of at most the peer's MTU.
    mutating func send(_ sdu: [UInt8], at now: Microseconds) -> [Action] {
        guard transmitter != .closed else { return [] }
        waiting.append(contentsOf: SDUReassembly.segments(of: sdu, mps: Int(terms.sendMPS)))
        return pump(at: now)
    }

    /// Sets or clears the busy condition of this side. Core Vol 3, Part A, 8.6.4.
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

    /// Polls the peer; new frames wait for the response.
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
        // An SREJ without P acknowledges nothing.
        if function != .selectiveReject { noteAcknowledged() }
        return .send(framing.encode(.supervisory(function, reqSeq: reqSeq ?? expectedTxSeq, isPoll: isPoll, isFinal: isFinal)))
    }

    mutating func noteAcknowledged() {
        acknowledgedTxSeq = expectedTxSeq
        acknowledgementDeadline = nil
    }

    /// Closes the channel and discards its state.
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
