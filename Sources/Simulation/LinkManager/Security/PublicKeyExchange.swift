import BBPackets

/// Public key exchange in encapsulated payloads, the initiator's key first. Core Vol 2, Part C, 4.2.7.2 and 4.1.12.
struct PublicKeyExchange: LMPProcedure {
    private enum State {
        /// Number of payloads of the local key accepted so far; nil before the header was accepted.
        case sending(Int?)
        case awaitingHeader
        case receiving
    }

    /// Octets of the key per PDU.
    private static let payload = 16
    private static let majorType: UInt8 = 1

    private var session: PairingSession
    private var state: State
    private var received: [UInt8] = []
    let kind = LinkManagement.Kind.pairing
    let isAwaitingPeer = true

    init(_ session: PairingSession) {
        self.session = session
        state = session.isInitiator ? .sending(nil) : .awaitingHeader
    }

    private var own: [UInt8] { session.computation.publicKey }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, _): return session.isInitiator ? [header] : []
        case (.refused(let refusal), _): return session.fail(refusal)
        case (.message(let message), .sending(let count)):
            guard message.accepted == (count == nil ? LMP.EncapsulatedHeader.opcode : LMP.EncapsulatedPayload.opcode) else { return nil }
            return sendNext(after: count)
        case (.message(let message), .awaitingHeader):
            guard case .encapsulatedHeader(let pdu) = message.pdu else { return nil }
            guard pdu.encapsulatedMajorType == Self.majorType, pdu.encapsulatedMinorType == session.computation.minorType,
                Int(pdu.encapsulatedPayloadLength) == own.count
            else { return [.reject(LMP.EncapsulatedHeader.self, .unsupportedLMPParameterValue, session.transaction)] + session.fail() }
            state = .receiving
            return [.accept(LMP.EncapsulatedHeader.self, session.transaction)]
        case (.message(let message), .receiving):
            guard case .encapsulatedPayload(let pdu) = message.pdu else { return nil }
            return take(pdu.encapsulatedData, link)
        default: return nil
        }
    }

    private var header: LMPAction {
        .send(
            LMP.EncapsulatedHeader(
                encapsulatedMajorType: Self.majorType, encapsulatedMinorType: session.computation.minorType,
                encapsulatedPayloadLength: UInt8(truncatingIfNeeded: own.count)), session.transaction)
    }

    private mutating func sendNext(after count: Int?) -> [LMPAction] {
        let next = count.map { $0 + 1 } ?? 0
        state = .sending(next)
        let data = own.dropFirst(next * Self.payload).prefix(Self.payload)
        if !data.isEmpty { return [.send(LMP.EncapsulatedPayload(encapsulatedData: Array(data)), session.transaction)] }
        guard session.isInitiator else { return [.continueWith(session.firstStage)] }
        state = .awaitingHeader
        return []
    }

    private mutating func take(_ data: [UInt8], _ link: ACLLinkState) -> [LMPAction] {
        received += data
        let accept = LMPAction.accept(LMP.EncapsulatedPayload.self, session.transaction)
        guard received.count >= own.count else { return [accept] }
        let key = Array(received.prefix(own.count))
        let isUnchecked = link.settings.quirks.contains(key == own ? .takesOwnKey : .takesInvalidKeys)
        guard session.computation.take(key, isUnchecked: isUnchecked) else {
            return [.reject(LMP.EncapsulatedPayload.self, .invalidLMPParameters, session.transaction)] + session.fail()
        }
        guard !session.isInitiator else { return [accept, .continueWith(session.firstStage)] }
        state = .sending(nil)
        return [accept, header]
    }
}
