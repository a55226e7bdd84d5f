import BBBluetoothCrypto
import BBPackets

/// The peer's out-of-band data as supplied by the host. Core Vol 4, Part E, 7.1.34 and 7.1.53.
struct RemoteOutOfBandData: Equatable {
    /// Commitment and random number for P-192, then for P-256; nil if missing.
    var p192: [[UInt8]]?
    var p256: [[UInt8]]?
}

/// Authentication stage 1 with commitments exchanged out of band. Core Vol 2, Part C, 4.2.7.3.3.
struct OutOfBandExchange: LMPProcedure {
    private enum State {
        case awaitingHost
        case awaitingNumber
        /// Awaiting the peer's LMP_accepted for the local nonce.
        case awaitingAcceptance
    }

    private var session: PairingSession
    private var state = State.awaitingHost
    /// True if the out-of-band commitment matches the peer's public key.
    private var isRight = true
    /// The initiator's nonce, if it arrived before the local host has replied.
    private var early: [UInt8]?
    let kind = LinkManagement.Kind.pairing

    init(_ session: PairingSession) { self.session = session }

    var isAwaitingPeer: Bool { if case .awaitingHost = state { false } else { true } }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, _):
            session.drawNonce()
            if session.peer.hasOutOfBandData { session.ownRandom = session.outOfBandRandom }
            return session.own.hasOutOfBandData ? [.report(.outOfBandDataRequested)] : go()
        case (.refused(let refusal), _): return session.fail(refusal)
        case (.hostReplied(.outOfBandData(let data)), .awaitingHost):
            examine(session.computation.minorType == 2 ? data?.p256 : data?.p192, link)
            return go()
        case (.message(let message), _): return session.isFailure(message) ? session.fail() : take(message)
        default: return nil
        }
    }

    private mutating func examine(_ data: [[UInt8]]?, _ link: ACLLinkState) {
        guard let data, data.count == 2 else {
            isRight = false
            return
        }
        session.peerRandom = UInt128(littleEndianOctets: data[1])
        let isKept = session.computation.outOfBandCommitment(isOwn: false, random: session.peerRandom).littleEndianOctets == data[0]
        isRight = isKept || link.settings.quirks.contains(.takesAnyCommitment)
    }

    private var number: LMPAction {
        .send(LMP.SimplePairingNumber(nonceValue: session.ownNonce.littleEndianOctets), session.transaction)
    }

    private mutating func go() -> [LMPAction] {
        guard !session.isInitiator else {
            guard isRight else { return [.send(LMP.OOBFailed(), session.transaction)] + session.fail() }
            state = .awaitingAcceptance
            return [number]
        }
        state = .awaitingNumber
        return early.map { take(number: UInt128(littleEndianOctets: $0)) } ?? []
    }

    private mutating func take(_ message: LMPMessage) -> [LMPAction]? {
        switch (message.pdu, state) {
        case (.simplePairingNumber(let pdu), .awaitingHost) where !session.isInitiator && early == nil:
            early = pdu.nonceValue
            return []
        case (.simplePairingNumber(let pdu), .awaitingNumber): return take(number: UInt128(littleEndianOctets: pdu.nonceValue))
        case (_, .awaitingAcceptance) where message.accepts(LMP.SimplePairingNumber.self):
            guard session.isInitiator else { return [.continueWith(DHKeyCheck(session, pending: nil))] }
            state = .awaitingNumber
            return []
        default: return nil
        }
    }

    private mutating func take(number nonce: UInt128) -> [LMPAction] {
        guard isRight else { return [.reject(LMP.SimplePairingNumber.self, .authenticationFailure, session.transaction)] + session.fail() }
        session.peerNonce = nonce
        let accept = LMPAction.accept(LMP.SimplePairingNumber.self, session.transaction)
        guard session.isInitiator else {
            state = .awaitingAcceptance
            return [accept, number]
        }
        return [accept, .continueWith(DHKeyCheck(session, pending: nil))]
    }
}
