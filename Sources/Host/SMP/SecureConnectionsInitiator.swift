import BBPackets

/// The central's role in LE Secure Connections pairing. Core Vol 3, Part H, 2.3.5.6.
struct SecureConnectionsInitiator: AuthenticationPhase {
    private enum State {
        case awaitPublicKey
        case awaitPasskey(SecureConnectionsValues)
        case awaitConfirm(SecureConnectionsValues, round: Int)
        /// Awaiting the responder's random value. Without a confirm value, its commitment was received out of band.
        case awaitRandom(SecureConnectionsValues, confirm: UInt128?, round: Int)
        case awaitComparison(SecureConnectionsValues)
        case awaitCheck(SecureConnectionsValues)
        case ended
    }

    private let key: SecureConnectionsKey
    private var state = State.awaitPublicKey
    private var terms: PairingTerms { key.terms }

    init(_ terms: PairingTerms) { key = SecureConnectionsKey(terms) }

    func start() -> [AuthenticationAction] { [.send(key.pdu)] }

    mutating func answered(_ answer: PairingAnswer) -> [AuthenticationAction] {
        switch (state, answer) {
        case (.awaitPasskey(let values), .passkey(let passkey)):
            guard let passkey, passkey < 1_000_000 else { return fail(.passkeyEntryFailed) }
            return enter(passkey, values)
        case (.awaitComparison(let values), .agrees(let agrees)):
            return agrees ? check(values) : fail(.numericComparisonFailed)
        default: return []
        }
    }

    mutating func received(_ message: SMP.Message) -> [AuthenticationAction] {
        switch (state, message) {
        case (.awaitPublicKey, .pairingPublicKey(let key)): return received(key)
        case (.awaitConfirm(let values, let round), .pairingConfirm(let confirm)):
            state = .awaitRandom(values, confirm: confirm.number, round: round)
            return [.send(SMP.PairingRandom(values.ownNonce).bytes)]
        case (.awaitRandom(let values, let confirm, let round), .pairingRandom(let random)):
            return received(random.number, values, confirm: confirm, round: round)
        case (.awaitCheck(let values), .pairingDHKeyCheck(let check)):
            guard values.isChecked(check.number) else { return fail(.dhKeyCheckFailed) }
            state = .ended
            return [.authenticated(values.longTermKey)]
        default: return fail(.unspecifiedReason)
        }
    }

    private mutating func received(_ publicKey: SMP.PairingPublicKey) -> [AuthenticationAction] {
        let values: SecureConnectionsValues
        do { values = try key.values(with: publicKey) } catch { return fail(error.reason) }
        switch terms.association {
        case .justWorks, .numericComparison:
            state = .awaitConfirm(values, round: 0)
            return []
        case .outOfBand:
            state = .awaitRandom(values, confirm: nil, round: 0)
            return [.send(SMP.PairingRandom(values.ownNonce).bytes)]
        case .passkeyEntry:
            if terms.showsPasskey { return [.ask(.showPasskey(values.shownPasskey))] + enter(values.shownPasskey, values) }
            state = .awaitPasskey(values)
            return [.ask(.enterPasskey)]
        }
    }

    private mutating func enter(_ passkey: UInt32, _ values: SecureConnectionsValues) -> [AuthenticationAction] {
        var values = values
        values.use(passkey: passkey)
        return commit(values, round: 0)
    }

    private mutating func commit(_ values: SecureConnectionsValues, round: Int) -> [AuthenticationAction] {
        state = .awaitConfirm(values, round: round)
        return [.send(SMP.PairingConfirm(values.commitment(round: round)).bytes)]
    }

    private mutating func received(
        _ nonce: UInt128, _ values: SecureConnectionsValues, confirm: UInt128?, round: Int
    ) -> [AuthenticationAction] {
        var values = values
        values.peerNonce = nonce
        if let confirm, !values.isConfirmed(confirm, round: round) { return fail(.confirmValueFailed) }
        if round + 1 < values.rounds {
            values.drawNonce()
            return commit(values, round: round + 1)
        }
        guard terms.association == .numericComparison else { return check(values) }
        state = .awaitComparison(values)
        return [.ask(.compare(values.comparedNumber))]
    }

    private mutating func check(_ values: SecureConnectionsValues) -> [AuthenticationAction] {
        state = .awaitCheck(values)
        return [.send(SMP.PairingDHKeyCheck(values.ownCheck).bytes)]
    }

    private mutating func fail(_ reason: PairingFailedReason) -> [AuthenticationAction] {
        state = .ended
        return [.fail(reason)]
    }
}
