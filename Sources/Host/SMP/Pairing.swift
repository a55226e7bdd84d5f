import BBBluetoothCrypto
import BBPackets
import BBTiming

/// Actions requested by a connection's security manager.
enum SecurityAction: Equatable {
    case send([UInt8])
    /// Asks the application. This is always the last action of a list.
    case ask(PairingQuestion)
    case keypress(Keypress)
    /// Start encryption as central. Core Vol 4, Part E, 7.8.24.
    case encrypt(LongTermKey)
    /// The result and the bond to store. acceptsWeaker: it may replace a stronger bond.
    case completed(PairingResult, Bond?, acceptsWeaker: Bool)
    case failed(HostError)
}

/// One pairing, from the feature exchange to the last key. Core Vol 3, Part H, 2.1.
struct Pairing {
    private enum State {
        /// A central that received a Security Request awaits the user's consent.
        case awaitConsent
        /// A responder awaits the user's consent if no other question will be asked.
        case awaitConsentToRespond(PairingTerms)
        case awaitRequest
        case awaitResponse(PairingFeatures)
        case authenticating(PairingTerms, any AuthenticationPhase)
        case awaitEncryption(PairingTerms, LongTermKey)
        case distributing(PairingTerms, KeyDistributionPhase)
        case ended
    }

    private let setup: PairingSetup
    private var settings: PairingSettings
    /// The local user has requested the pairing, so consent is given.
    private(set) var isWanted: Bool
    private var state: State
    /// The key of phase 2, with which the link may be encrypted.
    private(set) var temporaryKey: (key: LongTermKey, level: LinkSecurity)?
    /// Derived BR/EDR link key; stored if both devices have public addresses.
    private var derivedLinkKey: LinkKey?
    /// The peer claims to have this device's out-of-band data.
    private(set) var usesOutOfBandData = false
    /// The user has been asked and has not replied.
    private var isAsking = false

    init(_ setup: PairingSetup, _ settings: PairingSettings, isWanted: Bool) {
        (self.setup, self.settings, self.isWanted) = (setup, settings, isWanted)
        // Without a public address there is no BR/EDR.
        if setup.identity.kind != .public {
            self.settings.localKeys.remove(.linkKey)
            self.settings.peerKeys.remove(.linkKey)
        }
        state = setup.isCentral ? .awaitConsent : .awaitRequest
    }

    /// Starts pairing as central.
    mutating func start() -> [SecurityAction] { isWanted ? request() : ask(.consent) }

    private mutating func ask(_ question: PairingQuestion) -> [SecurityAction] {
        if case .showPasskey = question { return [.ask(question)] }
        isAsking = true
        if question == .consent, setup.quirks.pairsAgainUnasked, setup.bond != nil { return answered(.agrees(true)) }
        return [.ask(question)]
    }

    private mutating func request() -> [SecurityAction] {
        let features = PairingFeatures.request(settings).claiming(setup.quirks)
        state = .awaitResponse(features)
        return [.send(features.requestPDU)]
    }

    /// The local user requests a pairing that the peer has already started; consent is no longer needed.
    mutating func join() -> [SecurityAction] {
        isWanted = true
        switch state {
        case .awaitConsent, .awaitConsentToRespond: return answered(.agrees(true))
        case .awaitRequest, .awaitResponse, .authenticating, .awaitEncryption, .distributing, .ended: return []
        }
    }

    /// Handles the user's reply; ignored if no question is pending.
    mutating func answered(_ answer: PairingAnswer) -> [SecurityAction] {
        guard isAsking else { return [] }
        isAsking = false
        switch (state, answer) {
        case (.awaitConsent, .agrees(let agrees)): return agrees ? request() : fail(.pairingNotSupported)
        case (.awaitConsentToRespond(let terms), .agrees(let agrees)): return agrees ? respond(terms) : fail(.pairingNotSupported)
        case (.authenticating(let terms, var phase), _):
            let actions = phase.answered(answer)
            state = .authenticating(terms, phase)
            return keypresses(answer, terms) + perform(actions, terms)
        default: return []
        }
    }

    /// Keypress notifications, sent together after the entry is complete. Core Vol 3, Part H, 3.5.8.
    private func keypresses(_ answer: PairingAnswer, _ terms: PairingTerms) -> [SecurityAction] {
        guard terms.usesKeypressNotifications, case .passkey(.some) = answer else { return [] }
        return (Array(repeating: Keypress.digitEntered, count: 6) + [.entryCompleted]).map(Self.notification)
    }

    private static func notification(_ keypress: Keypress) -> SecurityAction {
        .send(SMP.KeypressNotification(notificationType: keypress.rawValue).bytes)
    }

    mutating func received(_ message: SMP.Message, opcode: UInt8) -> [SecurityAction] {
        switch (state, message) {
        case (.ended, _): return []
        case (_, .pairingFailed(let failed)):
            state = .ended
            return [.failed(.peer(.pairingFailed(failed.reason)))]
        case (.awaitRequest, .pairingRequest(let request)): return requested(PairingFeatures(request))
        case (.awaitResponse(let request), .pairingResponse(let response)):
            return agree(.initiator, request, PairingFeatures(response)) { pairing, terms in pairing.authenticate(terms) }
        case (.authenticating(let terms, _), .keypressNotification(let notification)) where terms.usesKeypressNotifications:
            guard let keypress = Keypress(rawValue: notification.notificationType) else { return fail(.invalidParameters) }
            return [.keypress(keypress)]
        case (.authenticating(let terms, var phase), _):
            let actions = phase.received(message)
            state = .authenticating(terms, phase)
            return perform(actions, terms)
        case (.distributing(let terms, var phase), _):
            let actions = phase.received(message, opcode: opcode)
            state = .distributing(terms, phase)
            return perform(actions, terms, phase)
        default: return fail(.unspecifiedReason)
        }
    }

    private mutating func requested(_ request: PairingFeatures) -> [SecurityAction] {
        agree(.responder, request, PairingFeatures.response(settings, to: request).claiming(setup.quirks)) { pairing, terms in
            if pairing.isWanted || terms.association != .justWorks { return pairing.respond(terms) }
            pairing.state = .awaitConsentToRespond(terms)
            return pairing.ask(.consent)
        }
    }

    private mutating func agree(
        _ role: PairingRole, _ request: PairingFeatures, _ response: PairingFeatures,
        then proceed: (inout Pairing, PairingTerms) -> [SecurityAction]
    ) -> [SecurityAction] {
        do {
            let terms = try PairingTerms(role, request: request, response: response, setup: setup, settings: settings)
            usesOutOfBandData = terms.usesOutOfBandData
            return proceed(&self, terms)
        } catch { return fail(error.reason) }
    }

    private mutating func respond(_ terms: PairingTerms) -> [SecurityAction] { [.send(terms.response.responsePDU)] + authenticate(terms) }

    private mutating func authenticate(_ terms: PairingTerms) -> [SecurityAction] {
        var phase: any AuthenticationPhase =
            switch (terms.isSecureConnections, terms.role) {
            case (false, .initiator): LegacyInitiator(terms)
            case (false, .responder): LegacyResponder(terms)
            case (true, .initiator): SecureConnectionsInitiator(terms)
            case (true, .responder): SecureConnectionsResponder(terms)
            }
        let actions = phase.start()
        state = .authenticating(terms, phase)
        return perform(actions, terms)
    }

    private mutating func perform(_ actions: [AuthenticationAction], _ terms: PairingTerms) -> [SecurityAction] {
        actions.flatMap { action -> [SecurityAction] in
            switch action {
            case .send(let pdu): [.send(pdu)]
            case .ask(.enterPasskey) where terms.usesKeypressNotifications: [Self.notification(.entryStarted)] + ask(.enterPasskey)
            case .ask(let question): ask(question)
            case .fail(let reason): fail(reason)
            case .authenticated(let value): authenticated(value, terms)
            }
        }
    }

    private mutating func authenticated(_ value: UInt128, _ terms: PairingTerms) -> [SecurityAction] {
        let key = LongTermKey(value.shortened(to: terms.keySize).littleEndianOctets, size: terms.keySize)
        temporaryKey = (key, terms.level)
        if terms.derivesLinkKey, !terms.setup.quirks.derivesNoLinkKey {
            let source = terms.setup.quirks.misderivesKeys ? ~value : value
            derivedLinkKey = LinkKey(derivedFrom: source, terms.strength, h7: terms.usesH7)
        }
        state = .awaitEncryption(terms, key)
        return terms.role == .initiator ? [.encrypt(key)] : []
    }

    // MARK: Encryption and keys

    /// The link is now encrypted, with the key of phase 2 if it exists already.
    mutating func encrypted() -> [SecurityAction] {
        guard case .awaitEncryption(let terms, let key) = state else { return [] }
        var phase = KeyDistributionPhase(terms.keyExchange, longTermKey: key)
        let actions = phase.start()
        state = .distributing(terms, phase)
        return perform(actions, terms, phase)
    }

    private mutating func perform(
        _ actions: [KeyDistributionPhase.Action], _ terms: PairingTerms, _ phase: KeyDistributionPhase
    ) -> [SecurityAction] {
        actions.flatMap { action -> [SecurityAction] in
            switch action {
            case .send(let pdu): [.send(pdu)]
            case .completed: complete(terms, phase)
            case .fail(let reason): fail(reason)
            }
        }
    }

    private mutating func complete(_ terms: PairingTerms, _ phase: KeyDistributionPhase) -> [SecurityAction] {
        state = .ended
        var bond = phase.bond
        let own = terms.sentKeys.contains(.idKey) ? setup.identity : setup.own
        let impediment = KeyDerivationPolicy.impediment(
            toLinkKeyFrom: terms.strength, isAgreed: terms.derivesLinkKey, identities: [own, bond.identity], over: setup.bond?.linkKey)
        let quirks = setup.quirks
        let goesOn = impediment.map {
            KeyDerivationPolicy.isOverlooked($0, quirks, replacesStronger: quirks.replacesStrongerLinkKeys)
        }
        if goesOn ?? true { bond.linkKey = derivedLinkKey }
        let result = PairingResult(
            peer: PeerIdentity(bond.identity, isResolved: bond.identity != setup.peer), level: terms.level, model: terms.association.model,
            isSecureConnections: terms.isSecureConnections, keySize: terms.keySize, isBonded: terms.isBonding,
            linkKeyImpediment: goesOn ?? true ? nil : impediment)
        return [.completed(result, terms.isBonding ? bond : nil, acceptsWeaker: settings.acceptsWeakerBond)]
    }

    private mutating func fail(_ reason: PairingFailedReason) -> [SecurityAction] {
        state = .ended
        return [.send(SMP.PairingFailed(reason: reason).bytes), .failed(.peer(.pairingRefused(reason)))]
    }
}
