import BBL2CAP
import BBPackets
import BBTiming

extension EnhancedRetransmission {
    /// Sends I-frames until the peer's window is full.
    mutating func pump(at now: Microseconds) -> [Action] {
        if mustTellReady, transmitter == .ready {
            mustTellReady = false
            return [poll(1, at: now)]
        }
        var actions: [Action] = []
        let window = terms.quirks.ignoresWindow ? Int(modulus) - 1 : Int(terms.sendWindow)
        while transmitter == .ready, !isRemoteBusy, unacknowledged.count < window, let segment = waiting.popFirst() {
            let txSeq = nextTxSeq
            unacknowledged.append(SentFrame(segment: segment))
            actions.append(sendInformation(segment, txSeq))
            if retransmissionDeadline == nil { retransmissionDeadline = now + terms.retransmissionTimeOut }
        }
        return actions
    }

    private mutating func sendInformation(_ segment: SDUSegment, _ txSeq: UInt16, isFinal: Bool = false) -> Action {
        noteAcknowledged()
        return .send(framing.encode(.information(segment.kind, txSeq: txSeq, reqSeq: expectedTxSeq, isFinal: isFinal), segment))
    }

    /// Processes the acknowledgement of all frames before ReqSeq.
    ///
    /// - Returns: false if ReqSeq is invalid. Core Vol 3, Part A, 8.6.5.
    mutating func acknowledged(before reqSeq: UInt16, at now: Microseconds) -> Bool {
        let count = distance(from: expectedAckSeq, to: reqSeq)
        guard count <= unacknowledged.count else { return false }
        unacknowledged.removeFirst(count)
        expectedAckSeq = reqSeq
        if unacknowledged.isEmpty {
            retransmissionDeadline = nil
        } else if count > 0, transmitter == .ready, !isRemoteBusy {
            retransmissionDeadline = now + terms.retransmissionTimeOut
        }
        return true
    }

    /// Processes the response to the poll; returns false if there was no poll.
    mutating func finalReceived(at now: Microseconds) -> Bool {
        guard case .awaitFinal = transmitter else { return false }
        transmitter = .ready
        monitorDeadline = nil
        if !unacknowledged.isEmpty, !isRemoteBusy { retransmissionDeadline = now + terms.retransmissionTimeOut }
        return true
    }

    /// Records that the peer is no longer busy.
    mutating func remoteIsReady(at now: Microseconds) {
        guard isRemoteBusy else { return }
        isRemoteBusy = false
        if transmitter == .ready, !unacknowledged.isEmpty { retransmissionDeadline = now + terms.retransmissionTimeOut }
    }

    mutating func remoteBecameBusy() {
        guard !terms.quirks.ignoresRemoteBusy else { return }
        isRemoteBusy = true
        retransmissionDeadline = nil
    }

    /// Retransmits all unacknowledged frames.
    mutating func retransmitAll(at now: Microseconds) -> [Action] {
        var actions: [Action] = []
        for index in unacknowledged.indices {
            guard let action = retransmit(index, isFinal: false) else { return actions + close(.timedOut) }
            actions.append(action)
        }
        if transmitter == .ready, !unacknowledged.isEmpty { retransmissionDeadline = now + terms.retransmissionTimeOut }
        return actions
    }

    /// Retransmits the frame that an SREJ requests.
    mutating func retransmit(requested reqSeq: UInt16, isFinal: Bool, at now: Microseconds) -> [Action] {
        let index = distance(from: expectedAckSeq, to: reqSeq)
        guard index < unacknowledged.count else { return close(.violated) }
        guard let action = retransmit(index, isFinal: isFinal) else { return close(.timedOut) }
        return [action]
    }

    /// Retransmits a frame; returns nil if it has reached MaxTransmit.
    private mutating func retransmit(_ index: Int, isFinal: Bool) -> Action? {
        guard terms.maxTransmit == 0 || unacknowledged[index].transmissions < Int(terms.maxTransmit) else { return nil }
        unacknowledged[index].transmissions += 1
        return sendInformation(unacknowledged[index].segment, advance(expectedAckSeq, by: index), isFinal: isFinal)
    }
}
