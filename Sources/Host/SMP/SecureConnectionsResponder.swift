import BBPackets

/// The peripheral's role in LE Secure Connections pairing. Core Vol 3, Part H, 2.3.5.6.
struct SecureConnectionsResponder: AuthenticationPhase {
    private enum State {
        case awaitPublicKey
        /// The initiator's confirm value may arrive before the user has replied; it is kept.
        case awaitPasskey(SecureConnectionsValues, confirm: UInt128?)
        case awaitConfirm(SecureConnectionsValues, round: Int)
        /// Awaiting the initiator's random value. Without a confirm value, it makes no commitment, or has sent it out of band.
        case awaitRandom(SecureConnectionsValues, confirm: UInt128?, round: Int)
        /// The initiator's check value may arrive before the user has replied; it is kept.
        case awaitComparison(SecureConnectionsValues, check: UInt128?)
        case awaitCheck(SecureConnectionsValues)
        case ended
    }

    private let key: SecureConnectionsKey
    private var state = State.awaitPublicKey
    private var terms: PairingTerms { key.terms }

    init(_ terms: PairingTerms) { key = SecureConnectionsKey(terms) }

    func start() -> [AuthenticationAction] { [] }

    mutating func answered(_ answer: PairingAnswer) -> [AuthenticationAction] {
        switch (state, answer) {
        case (.awaitPasskey(var values, let confirm), .passkey(let passkey)):
            guard let passkey, passkey < 1_000_000 else { return fail(.passkeyEntryFailed) }
            values.use(passkey: passkey)
            if let confirm { return commit(values, confirm, round: 0) }
            state = .awaitConfirm(values, round: 0)
            return []
        case (.awaitComparison(let values, let check), .agrees(let agrees)):
            guard agrees else { return fail(.numericComparisonFailed) }
            if let check { return finish(values, check) }
            state = .awaitCheck(values)
            return []
        default: return []
        }
    }

    mutating func received(_ message: SMP.Message) -> [AuthenticationAction] {
        switch (state, message) {
        case (.awaitPublicKey, .pairingPublicKey(let key)): return received(key)
        case (.awaitPasskey(let values, nil), .pairingConfirm(let confirm)):
            state = .awaitPasskey(values, confirm: confirm.number)
            return []
        case (.awaitConfirm(let values, let round), .pairingConfirm(let confirm)): return commit(values, confirm.number, round: round)
        case (.awaitRandom(let values, let confirm, let round), .pairingRandom(let random)):
            return received(random.number, values, confirm: confirm, round: round)
        case (.awaitComparison(let values, nil), .pairingDHKeyCheck(let check)):
            state = .awaitComparison(values, check: check.number)
            return []
        case (.awaitCheck(let values), .pairingDHKeyCheck(let check)): return finish(values, check.number)
        default: return fail(.unspecifiedReason)
        }
    }

    private mutating func received(_ publicKey: SMP.PairingPublicKey) -> [AuthenticationAction] {
        var values: SecureConnectionsValues
        do { values = try key.values(with: publicKey) } catch { return fail(error.reason) }
        switch terms.association {
        case .justWorks, .numericComparison:
            state = .awaitRandom(values, confirm: nil, round: 0)
            return [.send(values.publicKeyPDU), .send(SMP.PairingConfirm(values.commitment(round: 0)).bytes)]
        case .outOfBand:
            state = .awaitRandom(values, confirm: nil, round: 0)
            return [.send(values.publicKeyPDU)]
        case .passkeyEntry:
            guard terms.showsPasskey else {
                state = .awaitPasskey(values, confirm: nil)
                return [.send(values.publicKeyPDU), .ask(.enterPasskey)]
            }
            values.use(passkey: values.shownPasskey)
            state = .awaitConfirm(values, round: 0)
            return [.send(values.publicKeyPDU), .ask(.showPasskey(values.shownPasskey))]
        }
    }

    private mutating func commit(_ values: SecureConnectionsValues, _ confirm: UInt128, round: Int) -> [AuthenticationAction] {
        state = .awaitRandom(values, confirm: confirm, round: round)
        return [.send(SMP.PairingConfirm(values.commitment(round: round)).bytes)]
    }

    private mutating func received(
        _ nonce: UInt128, _ values: SecureConnectionsValues, confirm: UInt128?, round: Int
    ) -> [AuthenticationAction] {
        var values = values
        values.peerNonce = nonce
        if let confirm, !values.isConfirmed(confirm, round: round) { return fail(.confirmValueFailed) }
        let answer = AuthenticationAction.send(SMP.PairingRandom(values.ownNonce).bytes)
        if round + 1 < values.rounds {
            values.drawNonce()
            state = .awaitConfirm(values, round: round + 1)
            return [answer]
        }
        guard terms.association == .numericComparison else {
            state = .awaitCheck(values)
            return [answer]
        }
        state = .awaitComparison(values, check: nil)
        return [answer, .ask(.compare(values.comparedNumber))]
    }

    private mutating func finish(_ values: SecureConnectionsValues, _ check: UInt128) -> [AuthenticationAction] {
        guard values.isChecked(check) else { return fail(.dhKeyCheckFailed) }
        state = .ended
        return [.send(SMP.PairingDHKeyCheck(values.ownCheck).bytes), .authenticated(values.longTermKey)]
    }

    private mutating func fail(_ reason: PairingFailedReason) -> [AuthenticationAction] {
        state = .ended
        return [.fail(reason)]
    }
}
