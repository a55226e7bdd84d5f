import BBPackets
import BBTiming

/// Pairing over a BR/EDR link: both devices derive the LE LTK from the link key and distribute the other LE keys. The user is not asked,
/// since the devices have already authenticated each other. Core Vol 3, Part H, 2.4.2.5, 3.5.1 and 3.6.1.
struct BREDRPairing {
    private enum State {
        case idle
        case awaitResponse(Offer)
        case distributing(Agreement, KeyDistributionPhase)
        /// The timer has expired: no more PDUs are sent or accepted on this link. Core Vol 3, Part H, 3.4.
        case timedOut
    }

    /// The central's pairing request.
    private struct Offer {
        var setup: PairingSetup
        var settings: PairingSettings
        var link: BREDREncryption
        var request: PairingFeatures
    }

    /// The features of both devices.
    private struct Agreement {
        var link: BREDREncryption
        var exchange: KeyExchange
        var longTermKey: LongTermKey?
    }

    private var state = State.idle
    /// Time at which to call `expire`.
    private(set) var deadline: Microseconds?

    var isBusy: Bool {
        switch state {
        case .idle, .timedOut: false
        case .awaitResponse, .distributing: true
        }
    }
    private var isSilent: Bool { if case .timedOut = state { true } else { false } }

    // MARK: Input

    /// Starts pairing as central; a peripheral waits for the central's request. Core Vol 3, Part H, 3.5.1.
    mutating func pair(
        _ setup: PairingSetup, _ settings: PairingSettings, over link: BREDREncryption, at now: Microseconds
    ) -> [SecurityAction] {
        guard case .idle = state, setup.isCentral else { return [] }
        let request = PairingFeatures.overBREDR(settings, link, answering: nil)
        guard Self.allows(link, size: Int(request.maximumKeySize), setup) else {
            return [.failed(.peer(.pairingRefused(.generationNotAllowed)))]
        }
        state = .awaitResponse(Offer(setup: setup, settings: settings, link: link, request: request))
        return watched([.send(request.requestPDU)], at: now)
    }

    /// Processes a PDU of the peer.
    ///
    /// - Parameter link: encryption of the link; nil if it is not encrypted.
    mutating func received(_ pdu: [UInt8], _ setup: PairingSetup, over link: BREDREncryption?, at now: Microseconds) -> [SecurityAction] {
        guard let opcode = pdu.first, (SMP.PairingRequest.opcode...SMP.KeypressNotification.opcode).contains(opcode), !isSilent else {
            return []
        }
        // Trailing octets make a command as invalid as missing ones.
        guard let message = try? SMP.Message(bytes: pdu), message.bytes.count == pdu.count else {
            return opcode == SMP.PairingFailed.opcode ? [] : watched(fail(.invalidParameters), at: now)
        }
        return watched(received(message, opcode, setup, link), at: now)
    }

    /// Handles the expired deadline.
    mutating func expire() -> [SecurityAction] {
        guard isBusy else { return [] }
        (state, deadline) = (.timedOut, nil)
        return [.failed(.peer(.timedOut(.pairing)))]
    }

    // MARK: Features

    private mutating func received(
        _ message: SMP.Message, _ opcode: UInt8, _ setup: PairingSetup, _ link: BREDREncryption?
    ) -> [SecurityAction] {
        switch (state, message) {
        case (.idle, .pairingFailed): return []
        case (_, .pairingFailed(let failed)):
            state = .idle
            return [.failed(.peer(.pairingFailed(failed.reason)))]
        case (_, .pairingRequest) where setup.isCentral: return fail(.commandNotSupported)
        case (.idle, .pairingRequest(let request)): return requested(PairingFeatures(request), setup, link)
        case (.idle, _): return []
        case (.awaitResponse(let offer), .pairingResponse(let response)): return answered(PairingFeatures(response), offer)
        case (.distributing(let agreement, var phase), _):
            let actions = phase.received(message, opcode: opcode)
            state = .distributing(agreement, phase)
            return perform(actions, agreement, phase)
        default: return fail(.unspecifiedReason)
        }
    }

    private mutating func requested(_ request: PairingFeatures, _ setup: PairingSetup, _ link: BREDREncryption?) -> [SecurityAction] {
        guard let settings = setup.settings else { return fail(.pairingNotSupported) }
        guard let link else { return fail(.generationNotAllowed) }
        let response = PairingFeatures.overBREDR(settings, link, answering: request)
        if let fault = request.keySizeFault { return fail(fault) }
        let agreement = Self.agree(.responder, request, response, link, setup)
        if let fault = Self.fault(agreement, settings) { return fail(fault) }
        return [.send(response.responsePDU)] + distribute(agreement)
    }

    private mutating func answered(_ response: PairingFeatures, _ offer: Offer) -> [SecurityAction] {
        if let fault = response.keySizeFault { return fail(fault) }
        let agreement = Self.agree(.initiator, offer.request, response, offer.link, offer.setup)
        guard agreement.exchange.sentKeys.isSubset(of: offer.request.initiatorKeys),
            agreement.exchange.expectedKeys.isSubset(of: offer.request.responderKeys)
        else { return fail(.invalidParameters) }
        if let fault = Self.fault(agreement, offer.settings) { return fail(fault) }
        return distribute(agreement)
    }

    private static func fault(_ agreement: Agreement, _ settings: PairingSettings) -> PairingFailedReason? {
        let exchange = agreement.exchange
        guard allows(agreement.link, size: exchange.strength.size, exchange.setup) else { return .generationNotAllowed }
        return exchange.strength.size < settings.minimumKeySize ? .encryptionKeySize : nil
    }

    /// True if an LTK of this size may be derived from the link key.
    private static func allows(_ link: BREDREncryption, size: Int, _ setup: PairingSetup) -> Bool {
        KeyDerivationPolicy.impediment(toLongTermKeyFrom: link, isAgreed: true, size: size, over: setup.bond?.strength)
            .map {
                KeyDerivationPolicy.isOverlooked($0, setup.quirks, replacesStronger: setup.quirks.replacesStrongerLongTermKeys)
            } ?? true
    }

    private static func agree(
        _ role: PairingRole, _ request: PairingFeatures, _ response: PairingFeatures, _ link: BREDREncryption, _ setup: PairingSetup
    ) -> Agreement {
        let isAgreed = response.initiatorKeys.intersection(response.responderKeys).contains(.encKey)
        let derives = isAgreed && !setup.quirks.derivesNoLongTermKey
        let (given, taken) = (response.initiatorKeys.intersection(.overBREDR), response.responderKeys.intersection(.overBREDR))
        var strength = link.linkKey.strength
        strength.size = min(strength.size, Int(request.maximumKeySize), Int(response.maximumKeySize))
        let h7 = request.authReq.intersection(response.authReq).contains(.ct2) && !setup.quirks.ignoresCT2
        var source = link.linkKey
        if setup.quirks.misderivesKeys { source.value = source.value.map { ~$0 } }
        return Agreement(
            link: link,
            exchange: KeyExchange(
                role: role, sentKeys: role == .initiator ? given : taken, expectedKeys: role == .initiator ? taken : given,
                strength: strength, setup: setup),
            longTermKey: derives ? LongTermKey(derivedFrom: source, size: strength.size, h7: h7) : nil)
    }

    // MARK: Keys

    private mutating func distribute(_ agreement: Agreement) -> [SecurityAction] {
        var phase = KeyDistributionPhase(agreement.exchange, longTermKey: agreement.longTermKey)
        let actions = phase.start()
        state = .distributing(agreement, phase)
        return perform(actions, agreement, phase)
    }

    private mutating func perform(
        _ actions: [KeyDistributionPhase.Action], _ agreement: Agreement, _ phase: KeyDistributionPhase
    ) -> [SecurityAction] {
        actions.flatMap { action -> [SecurityAction] in
            switch action {
            case .send(let pdu): [.send(pdu)]
            case .completed: complete(agreement, phase)
            case .fail(let reason): fail(reason)
            }
        }
    }

    private mutating func complete(_ agreement: Agreement, _ phase: KeyDistributionPhase) -> [SecurityAction] {
        state = .idle
        var bond = phase.bond
        let setup = agreement.exchange.setup
        // On LE the device may have a static identity address; its link key then stays under its BD_ADDR.
        if bond.identity == setup.peer { bond.linkKey = agreement.link.linkKey }
        let strength = agreement.exchange.strength
        let result = PairingResult(
            peer: PeerIdentity(bond.identity, isResolved: bond.identity != setup.peer), level: strength.level, model: nil,
            isSecureConnections: true, keySize: strength.size, isBonded: agreement.longTermKey != nil)
        return [.completed(result, agreement.longTermKey == nil ? nil : bond, acceptsWeaker: false)]
    }

    private mutating func fail(_ reason: PairingFailedReason) -> [SecurityAction] {
        let answer = SecurityAction.send(SMP.PairingFailed(reason: reason).bytes)
        guard isBusy else { return [answer] }
        state = .idle
        return [answer, .failed(.peer(.pairingRefused(reason)))]
    }

    /// Restarts the timer with each sent command. Core Vol 3, Part H, 3.4.
    private mutating func watched(_ actions: [SecurityAction], at now: Microseconds) -> [SecurityAction] {
        let hasSent = actions.contains { if case .send = $0 { true } else { false } }
        if !isBusy {
            deadline = nil
        } else if hasSent || deadline == nil {
            deadline = now + SecurityManager.timeOut
        }
        return actions
    }
}

extension KeyDistribution {
    /// Keys distributed over BR/EDR. EncKey is derived, LinkKey is not used, the other bits are reserved. Core Vol 3, Part H, 3.6.1.
    fileprivate static let overBREDR: KeyDistribution = [.idKey, .signKey]
}

extension PairingFeatures {
    /// Features over BR/EDR: only CT2, the key size and the keys are used, other fields are reserved. Core Vol 3, Part H, 3.5.1.
    ///
    /// - Parameter request: the central's request, for a response to it.
    fileprivate static func overBREDR(
        _ settings: PairingSettings, _ link: BREDREncryption, answering request: PairingFeatures?
    ) -> PairingFeatures {
        let (given, taken) = (settings.localKeys.subtracting(.linkKey), settings.peerKeys.subtracting(.linkKey))
        return PairingFeatures(
            ioCapability: .displayOnly, outOfBandFlag: 0, authReq: settings.supportsH7 ? .ct2 : [],
            maximumKeySize: UInt8(clamping: min(settings.maximumKeySize, link.keySize)),
            initiatorKeys: request.map { $0.initiatorKeys.intersection(taken) } ?? given,
            responderKeys: request.map { $0.responderKeys.intersection(given) } ?? taken)
    }
}
