import BBBluetoothCrypto
import BBPackets

/// Values of LE legacy pairing in either role. Core Vol 3, Part H, 2.3.5.5.
private struct LegacyValues {
    let terms: PairingTerms
    let random: UInt128
    /// The passkey to display, if this device displays it.
    let passkey: UInt32

    init(_ terms: PairingTerms) {
        self.terms = terms
        var nonces = terms.setup.secrets.stream("nonces")
        random = terms.setup.nonce(&nonces)
        passkey = terms.drawPasskey()
    }

    func confirm(temporaryKey: UInt128, random: UInt128) -> UInt128 {
        SecurityToolbox.c1(
            k: temporaryKey, r: random, request: terms.request.requestPDU, response: terms.response.responsePDU,
            initiator: terms.initiator, responder: terms.responder)
    }

    /// STK from both random numbers, the responder's first.
    func shortTermKey(_ key: UInt128, responder: UInt128, initiator: UInt128) -> UInt128 {
        terms.setup.quirks.usesRandomAsKey ? initiator : SecurityToolbox.s1(k: key, r1: responder, r2: initiator)
    }

    func isConfirmed(_ confirm: UInt128, temporaryKey: UInt128, random: UInt128) -> Bool {
        terms.setup.quirks.acceptsAnyConfirm || confirm == self.confirm(temporaryKey: temporaryKey, random: random)
    }

    /// True if the peer returned this device's own value, which does not prove knowledge of TK.
    func isReflected(_ confirm: UInt128, temporaryKey: UInt128) -> Bool {
        let quirks = terms.setup.quirks
        return !quirks.acceptsAnyConfirm && !quirks.acceptsOwnConfirm && confirm == self.confirm(temporaryKey: temporaryKey, random: random)
    }

    /// TK if known without asking the user; nil if the user enters it.
    var knownTemporaryKey: UInt128? {
        switch terms.association {
        case .justWorks, .numericComparison: 0
        case .passkeyEntry: terms.showsPasskey ? UInt128(passkey) : nil
        case .outOfBand: UInt128(littleEndianOctets: terms.settings.outOfBandData?.temporaryKey ?? [])
        }
    }

    var question: [AuthenticationAction] {
        guard case .passkeyEntry = terms.association else { return [] }
        return [.ask(terms.showsPasskey ? .showPasskey(passkey) : .enterPasskey)]
    }
}

/// The central's role in LE legacy pairing.
struct LegacyInitiator: AuthenticationPhase {
    private enum State {
        case awaitTemporaryKey
        case awaitConfirm(temporaryKey: UInt128)
        case awaitRandom(temporaryKey: UInt128, confirm: UInt128)
        case ended
    }

    private let values: LegacyValues
    private var state = State.awaitTemporaryKey

    init(_ terms: PairingTerms) { values = LegacyValues(terms) }

    mutating func start() -> [AuthenticationAction] {
        guard let key = values.knownTemporaryKey else { return values.question }
        return values.question + commit(with: key)
    }

    mutating func answered(_ answer: PairingAnswer) -> [AuthenticationAction] {
        guard case .awaitTemporaryKey = state, case .passkey(let passkey) = answer else { return [] }
        guard let passkey, passkey < 1_000_000 else { return fail(.passkeyEntryFailed) }
        return commit(with: UInt128(passkey))
    }

    mutating func received(_ message: SMP.Message) -> [AuthenticationAction] {
        switch (state, message) {
        case (.awaitConfirm(let key), .pairingConfirm(let confirm)):
            guard !values.isReflected(confirm.number, temporaryKey: key) else { return fail(.confirmValueFailed) }
            state = .awaitRandom(temporaryKey: key, confirm: confirm.number)
            return [.send(SMP.PairingRandom(values.random).bytes)]
        case (.awaitRandom(let key, let confirm), .pairingRandom(let random)):
            guard values.isConfirmed(confirm, temporaryKey: key, random: random.number) else { return fail(.confirmValueFailed) }
            state = .ended
            return [.authenticated(values.shortTermKey(key, responder: random.number, initiator: values.random))]
        default: return fail(.unspecifiedReason)
        }
    }

    private mutating func commit(with key: UInt128) -> [AuthenticationAction] {
        state = .awaitConfirm(temporaryKey: key)
        return [.send(SMP.PairingConfirm(values.confirm(temporaryKey: key, random: values.random)).bytes)]
    }

    private mutating func fail(_ reason: PairingFailedReason) -> [AuthenticationAction] {
        state = .ended
        return [.fail(reason)]
    }
}

/// The peripheral's role in LE legacy pairing.
struct LegacyResponder: AuthenticationPhase {
    private enum State {
        /// The initiator's confirm value may arrive before the user has replied; it is kept.
        case awaitTemporaryKey(confirm: UInt128?)
        case awaitConfirm(temporaryKey: UInt128)
        case awaitRandom(temporaryKey: UInt128, confirm: UInt128)
        case ended
    }

    private let values: LegacyValues
    private var state = State.awaitTemporaryKey(confirm: nil)

    init(_ terms: PairingTerms) { values = LegacyValues(terms) }

    mutating func start() -> [AuthenticationAction] {
        if let key = values.knownTemporaryKey { state = .awaitConfirm(temporaryKey: key) }
        return values.question
    }

    mutating func answered(_ answer: PairingAnswer) -> [AuthenticationAction] {
        guard case .awaitTemporaryKey(let confirm) = state, case .passkey(let passkey) = answer else { return [] }
        guard let passkey, passkey < 1_000_000 else { return fail(.passkeyEntryFailed) }
        guard let confirm else {
            state = .awaitConfirm(temporaryKey: UInt128(passkey))
            return []
        }
        return commit(with: UInt128(passkey), confirm)
    }

    mutating func received(_ message: SMP.Message) -> [AuthenticationAction] {
        switch (state, message) {
        case (.awaitTemporaryKey(nil), .pairingConfirm(let confirm)):
            state = .awaitTemporaryKey(confirm: confirm.number)
            return []
        case (.awaitConfirm(let key), .pairingConfirm(let confirm)): return commit(with: key, confirm.number)
        case (.awaitRandom(let key, let confirm), .pairingRandom(let random)):
            guard values.isConfirmed(confirm, temporaryKey: key, random: random.number) else { return fail(.confirmValueFailed) }
            state = .ended
            return [
                .send(SMP.PairingRandom(values.random).bytes),
                .authenticated(values.shortTermKey(key, responder: values.random, initiator: random.number)),
            ]
        default: return fail(.unspecifiedReason)
        }
    }

    private mutating func commit(with key: UInt128, _ confirm: UInt128) -> [AuthenticationAction] {
        state = .awaitRandom(temporaryKey: key, confirm: confirm)
        return [.send(SMP.PairingConfirm(values.confirm(temporaryKey: key, random: values.random)).bytes)]
    }

    private mutating func fail(_ reason: PairingFailedReason) -> [AuthenticationAction] {
        state = .ended
        return [.fail(reason)]
    }
}
