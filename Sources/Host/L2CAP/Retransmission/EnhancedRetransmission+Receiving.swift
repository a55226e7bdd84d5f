import BBL2CAP
import BBPackets
import BBTiming

extension EnhancedRetransmission {
    /// Processes a PDU without its basic header. Corrupted frames are ignored: they are requested again.
    mutating func received(_ pdu: [UInt8], at now: Microseconds) -> [Action] {
        guard transmitter != .closed, let frame = framing.decode(pdu) else { return [] }
        switch frame.control {
        case .information(let kind, let txSeq, let reqSeq, let isFinal):
            guard frame.octets.count <= Int(terms.receiveMPS), acknowledged(before: reqSeq, at: now) else { return close(.violated) }
            var actions = received(frame, kind, txSeq)
            if isFinal { actions += resume(at: now) }
            return actions + pump(at: now) + acknowledgeIfDue(at: now)
        case .supervisory(let function, let reqSeq, let isPoll, let isFinal):
            // P and F are never both set. Core Vol 3, Part A, 3.3.2.
            guard !(isPoll && isFinal) else { return close(.violated) }
            return received(function, reqSeq, isPoll: isPoll, isFinal: isFinal, at: now)
        }
    }

    // MARK: S-frames

    private mutating func received(
        _ function: SupervisoryFunction, _ reqSeq: UInt16, isPoll: Bool, isFinal: Bool, at now: Microseconds
    ) -> [Action] {
        if function == .selectiveReject { return selectivelyRejected(reqSeq, isPoll: isPoll, isFinal: isFinal, at: now) }
        guard acknowledged(before: reqSeq, at: now) else { return close(.violated) }
        if function == .receiverNotReady { remoteBecameBusy() } else { remoteIsReady(at: now) }
        var actions = isPoll ? answerPoll() : []
        switch function {
        case .receiverReady: if isFinal { actions += resume(at: now) }
        case .receiverNotReady: if isFinal { _ = finalReceived(at: now) }
        case .reject where isFinal: actions += resume(at: now)
        case .reject:
            if transmitter != .ready { hasActedOnReject = true }
            actions += retransmitAll(at: now)
        case .selectiveReject: break
        }
        return actions + pump(at: now)
    }

    /// Continues after the response to a poll: retransmits unless a REJ has already caused that.
    private mutating func resume(at now: Microseconds) -> [Action] {
        guard finalReceived(at: now) else { return [] }
        guard !hasActedOnReject else {
            hasActedOnReject = false
            return []
        }
        return retransmitAll(at: now)
    }

    private mutating func selectivelyRejected(_ reqSeq: UInt16, isPoll: Bool, isFinal: Bool, at now: Microseconds) -> [Action] {
        guard distance(from: expectedAckSeq, to: reqSeq) < unacknowledged.count else { return close(.violated) }
        // An SREJ acknowledges earlier frames only with P set. Core Vol 3, Part A, 8.6.1.4.
        if isPoll, !acknowledged(before: reqSeq, at: now) { return close(.violated) }
        remoteIsReady(at: now)
        if isFinal {
            _ = finalReceived(at: now)
            defer { actedOnSelectiveReject = nil }
            if actedOnSelectiveReject == reqSeq { return pump(at: now) }
        } else if transmitter != .ready {
            actedOnSelectiveReject = reqSeq
        }
        return retransmit(requested: reqSeq, isFinal: isPoll, at: now) + pump(at: now)
    }

    /// Requests the missing frames, or acknowledges if none are missing.
    private mutating func answerPoll() -> [Action] {
        guard let last = missing.last else { return [acknowledge(isFinal: true)] }
        return missing.map { sendSupervisory(.selectiveReject, reqSeq: $0, isFinal: $0 == last) }
    }

    // MARK: I-frames

    private mutating func received(_ frame: RetransmissionFrame, _ kind: SegmentKind, _ txSeq: UInt16) -> [Action] {
        let window = Int(terms.receiveWindow)
        let offset = distance(from: acknowledgedTxSeq, to: txSeq)
        let expected = distance(from: acknowledgedTxSeq, to: expectedTxSeq)
        // The frame is outside the window. If the window is at most half the modulus it can be an old frame. Core Vol 3, Part A, 8.6.5.
        guard offset < window else { return window <= Int(modulus) / 2 ? repeated(frame) : close(.violated) }
        guard offset >= expected else { return repeated(frame) }
        missing.removeAll { $0 == txSeq }
        if offset == expected { return take(frame, kind) }
        return skipped(to: txSeq, frame)
    }

    /// Ignores a frame that was already received. Core Vol 3, Part A, 8.6.5.6.
    private func repeated(_ frame: RetransmissionFrame) -> [Action] {
        terms.quirks.deliversRepetitions ? [.deliver(Array(frame.octets))] : []
    }

    private mutating func take(_ frame: RetransmissionFrame, _ kind: SegmentKind) -> [Action] {
        var actions = deliver(frame, kind)
        while let next = held.removeValue(forKey: expectedTxSeq), case .information(let kind, _, _, _) = next.control {
            actions += deliver(next, kind)
        }
        if missing.isEmpty { receiver = .ready }
        return actions
    }

    private mutating func deliver(_ frame: RetransmissionFrame, _ kind: SegmentKind) -> [Action] {
        expectedTxSeq = advance(expectedTxSeq, by: 1)
        switch reassembly.take(kind, frame) {
        case .wait: return []
        case .sdu(let sdu): return [.deliver(sdu)]
        case .fault: return close(.violated)
        }
    }

    /// Requests the frames that are missing before this one.
    private mutating func skipped(to txSeq: UInt16, _ frame: RetransmissionFrame) -> [Action] {
        guard recovery == .selectiveReject else {
            guard receiver == .ready else { return [] }
            receiver = .awaitRejected
            return [sendSupervisory(.reject)]
        }
        if receiver == .ready { firstUnseen = expectedTxSeq }
        receiver = .awaitSelected
        held[txSeq] = frame
        let count = distance(from: expectedTxSeq, to: txSeq) - distance(from: expectedTxSeq, to: firstUnseen)
        guard count >= 0 else { return [] }
        let gap = (0..<count).map { advance(firstUnseen, by: $0) }
        firstUnseen = advance(txSeq, by: 1)
        missing += gap
        return gap.map { sendSupervisory(.selectiveReject, reqSeq: $0) }
    }

    /// Acknowledges before the peer's window is full; until then an I-frame may carry the acknowledgement.
    private mutating func acknowledgeIfDue(at now: Microseconds) -> [Action] {
        let count = distance(from: acknowledgedTxSeq, to: expectedTxSeq)
        guard count > 0, transmitter != .closed else { return [] }
        guard count * 4 < Int(terms.receiveWindow) * 3 else { return [acknowledge()] }
        if acknowledgementDeadline == nil { acknowledgementDeadline = now + Self.acknowledgementDelay }
        return []
    }
}
