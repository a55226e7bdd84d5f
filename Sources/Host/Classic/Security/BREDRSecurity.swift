import BBPackets

/// Authentication, pairing and encryption of one BR/EDR link in the host. Core Vol 3, Part C, 5.2.2; Vol 4, Part E, 7.1 and 7.7.
struct BREDRSecurity {
    enum Action: Equatable {
        /// HCI_Authentication_Requested.
        case authenticate
        /// HCI_Set_Connection_Encryption.
        case encrypt
        /// HCI_Refresh_Encryption_Key: the link is already encrypted with another key.
        case refresh
        /// HCI_Read_Encryption_Key_Size.
        case readKeySize
        /// HCI_Link_Key_Request_Reply; nil for the negative reply.
        case replyKey(LinkKey?)
        /// HCI_IO_Capability_Request_Reply, or the negative reply.
        case replyFeatures(SimplePairingFeatures)
        case refuseFeatures(ErrorCode)
        /// HCI_User_Confirmation_Request_Reply, or the negative reply.
        case confirm(Bool)
        /// HCI_User_Passkey_Request_Reply; nil for the negative reply.
        case replyPasskey(UInt32?)
        /// HCI_PIN_Code_Request_Reply; nil for the negative reply.
        case replyPIN([UInt8]?)
        /// HCI_Remote_OOB_Data_Request_Reply, or HCI_Remote_OOB_Extended_Data_Request_Reply; nil for the negative reply.
        case replyOutOfBand(ClassicOutOfBandData?, isExtended: Bool)
        /// A question that needs an answer is the last action.
        case ask(PairingQuestion)
        /// Store the key beside the LE keys.
        case keep(LinkKey)
        /// The link has reached the requested level.
        case reached(SecurityMode4Level)
        case failed(ErrorCode)
        /// Disconnect a link with insufficient security.
        case disconnect(ErrorCode)
    }

    private enum State {
        case idle
        /// Requested by this device; isAnew: pairing despite an existing key.
        case authenticating(isAnew: Bool)
        case encrypting
        /// The link is encrypted; the key size is being read.
        case measuring(isAESCCM: Bool)
        /// The peer has authenticated this device; this device is authenticating the peer.
        case verifying
    }

    private var settings: PairingSettings?
    private var state = State.idle
    /// The requested level.
    private var needed = SecurityMode4Level.open
    /// The level was requested for bonding alone.
    private var isDedicated = false
    private var quirks = PairingQuirks()
    /// The stored link key.
    private var known: LinkKey?
    /// The host has created out-of-band data for peers.
    private var hasToldData = false
    /// The key supplied to the controller, or created by it.
    private var used: LinkKey?
    private var own: SimplePairingFeatures?
    private var peer: SimplePairingFeatures?
    /// Association model of the last pairing; nil for a PIN.
    private(set) var model: AssociationModel?
    /// The user was asked and has not replied.
    private var question: PairingQuestion?
    /// The peer has proved on this link that it has the link key.
    private var isPeerVerified = false
    /// Encryption as the controller reports it.
    private(set) var applied: BREDREncryption?
    /// Encryption of the link; nil if it is not encrypted, or if the peer has not been authenticated.
    var encryption: BREDREncryption? { isPeerVerified ? applied : nil }

    var level: SecurityMode4Level { encryption?.level ?? .open }
    /// True if no procedure started by this device is running.
    var isIdle: Bool { if case .idle = state { true } else { false } }
    /// True while the link is encrypted and its level is being determined.
    var isMeasuring: Bool {
        switch state {
        case .measuring, .verifying: true
        case .idle, .authenticating, .encrypting: false
        }
    }
    /// True if this device started the pairing, which implies its user's consent.
    private var isInitiator: Bool { if case .authenticating = state { true } else { false } }

    /// - Parameters:
    ///   - settings: nil if the host does not pair.
    ///   - known: the stored link key of the peer.
    init(_ settings: PairingSettings?, known: LinkKey?) {
        self.settings = settings
        self.known = known
    }

    // MARK: Calls of the host

    /// Updates the host's settings and stored key, between procedures only.
    mutating func learn(_ settings: PairingSettings?, known: LinkKey?, hasToldData: Bool, quirks: PairingQuirks = PairingQuirks()) {
        self.known = known
        self.quirks = quirks
        self.hasToldData = hasToldData
        if isIdle, own == nil, peer == nil { self.settings = settings }
    }

    /// Pairs, even if there is a key.
    mutating func pair(_ settings: PairingSettings) -> [Action] {
        guard isIdle else { return [] }
        self.settings = settings
        isDedicated = false
        needed = SecurityMode4Level(settings.minimumLevel)
        state = .authenticating(isAnew: true)
        return [.authenticate]
    }

    /// The controller is busy with a procedure of the peer, which takes precedence.
    mutating func deferred() {
        switch state {
        case .authenticating, .verifying: (state, needed) = (.idle, .open)
        case .idle, .encrypting, .measuring: break
        }
    }

    /// Raises the link to the level that a service requires.
    ///
    /// - Parameter isDedicated: true if no service requires it: a pairing is dedicated bonding. Core Vol 3, Part C, 6.5.3.
    mutating func require(_ level: SecurityMode4Level, isDedicated: Bool = false) -> [Action] {
        guard level > self.level else { return [.reached(self.level)] }
        needed = max(needed, level)
        guard isIdle else { return [] }
        self.isDedicated = isDedicated
        state = .authenticating(isAnew: false)
        return [.authenticate]
    }

    /// Handles a reply of the user; ignored if no question is pending.
    mutating func answered(_ answer: PairingAnswer) -> [Action] {
        defer { question = nil }
        switch (question, answer) {
        case (.enterPasskey, .passkey(let passkey)): return [.replyPasskey(passkey)]
        case (.compare, .agrees(let agrees)), (.consent, .agrees(let agrees)): return [.confirm(agrees)]
        default: return []
        }
    }

    // MARK: Keys

    /// Supplies the link key; not if it is too weak for the requested level, so that pairing follows. Core Vol 4, Part E, 7.7.23.
    mutating func keyRequested() -> [Action] {
        if case .authenticating(isAnew: true) = state { return [.replyKey(nil)] }
        used = known.flatMap { $0.bestLevel >= needed ? $0 : nil }
        return [.replyKey(used)]
    }

    /// A link key was created. Core Vol 4, Part E, 7.7.24.
    mutating func keyMade(_ key: LinkKey) -> [Action] {
        let key = claimsDataUntold && key.type != .changedCombination ? key.unauthenticated : key.inPlace(of: known)
        used = key
        isPeerVerified = true
        model = own.flatMap(association)?.model
        defer { (own, peer) = (nil, nil) }
        guard let settings, settings.isBonding, peer?.isBonding ?? true else { return [] }
        guard key.type != .debugCombination || settings.acceptsDebugKeys else { return [] }
        if let known, key.strength.isWeaker(than: known.strength), !settings.acceptsWeakerBond { return [] }
        known = key
        return [.keep(key)]
    }

    /// Supplies the PIN if one is set and no authenticated key is required. Core Vol 4, Part E, 7.7.22.
    func pinRequested() -> [Action] {
        guard let settings, needed < .authenticated, settings.minimumLevel < .authenticated else { return [.replyPIN(nil)] }
        return [.replyPIN(settings.pin)]
    }

    /// Supplies out-of-band data. Core Vol 4, Part E, 7.7.44.
    func outOfBandRequested() -> [Action] {
        [.replyOutOfBand(settings?.classicOutOfBandData, isExtended: settings?.supportsSecureConnections ?? false)]
    }

    // MARK: Secure Simple Pairing

    /// Supplies IO capabilities, or rejects the pairing. Core Vol 4, Part E, 7.7.40.
    mutating func featuresRequested() -> [Action] {
        guard let settings else { return [.refuseFeatures(.pairingNotAllowed)] }
        let own = SimplePairingFeatures(settings, needs: needed, isDedicated: isInitiator && isDedicated)
        // In non-bondable mode a pairing for bonding alone is refused. Core Vol 3, Part C, 4.3.1.
        guard isInitiator || settings.isBonding || peer?.isDedicatedBonding != true || quirks.pairsForBonding else {
            return [.refuseFeatures(.pairingNotAllowed)]
        }
        // The initiator gets the responder's features later.
        guard isInitiator || association(own).map({ allows($0, settings) }) ?? true else { return [.refuseFeatures(.pairingNotAllowed)] }
        guard isInitiator || !claimsDataUntold else { return [.refuseFeatures(.pairingNotAllowed)] }
        self.own = own
        return [.replyFeatures(own)]
    }

    /// The peer's IO capabilities. Core Vol 4, Part E, 7.7.41.
    mutating func featuresReceived(_ features: SimplePairingFeatures) { peer = features }

    /// True if the peer claims to have out-of-band data that this device has not created, which authenticates nothing. Core Vol 2, Part H,
    /// 7.2.2.
    private var claimsDataUntold: Bool { (peer?.hasOutOfBandData ?? false) && !hasToldData }

    private func association(_ own: SimplePairingFeatures) -> SimplePairingAssociation? {
        peer.flatMap { isInitiator ? .of(initiator: own, responder: $0) : .of(initiator: $0, responder: own) }
    }

    private func allows(_ association: SimplePairingAssociation, _ settings: PairingSettings) -> Bool {
        association.isAuthenticated || max(settings.minimumLevel == .encrypted ? .unauthenticated : .authenticated, needed) < .authenticated
    }

    /// User confirmation. Core Vol 4, Part E, 7.7.42.
    mutating func confirmationRequested(_ number: UInt32) -> [Action] {
        guard let settings, let own, let association = association(own), allows(association, settings) else { return [.confirm(false)] }
        switch association {
        case .numericComparison: return ask(.compare(number))
        // The user must consent to a pairing that was not requested locally, whatever the peer's capabilities.
        case .consent, .automatic: return isInitiator ? [.confirm(true)] : ask(.consent)
        case .passkeyEntry, .outOfBand: return [.confirm(false)]
        }
    }

    /// Passkey entry. Core Vol 4, Part E, 7.7.43.
    mutating func passkeyRequested() -> [Action] { ask(.enterPasskey) }

    /// Passkey display. Core Vol 4, Part E, 7.7.48.
    mutating func passkeyShown(_ passkey: UInt32) -> [Action] { [.ask(.showPasskey(passkey))] }

    private mutating func ask(_ question: PairingQuestion) -> [Action] {
        self.question = question
        return [.ask(question)]
    }

    /// Simple Pairing Complete. Core Vol 4, Part E, 7.7.45.
    mutating func pairingEnded(_ status: ErrorCode) {
        question = nil
        if status != .success { (own, peer) = (nil, nil) }
    }

    // MARK: Authentication and encryption

    /// Authentication Complete. The key is kept even if the peer claims to have lost it, since the claim may be forged. Core Vol 4, Part E,
    /// 7.7.6.
    mutating func authenticated(_ status: ErrorCode) -> [Action] {
        if case .verifying = state { return verified(status) }
        guard case .authenticating = state else { return [] }
        guard status == .success else { return fail(status) }
        isPeerVerified = true
        // The controller may have stored the key and not requested it.
        used = used ?? known
        guard let used, used.bestLevel >= needed else { return fail(.insufficientSecurity) }
        state = .encrypting
        return [applied == nil ? .encrypt : .refresh]
    }

    /// Legacy authentication proves one device to the other; before E0 counts, both have to be authenticated. Core Vol 2, Part C, 4.2.1.
    private mutating func verified(_ status: ErrorCode) -> [Action] {
        guard status == .success else {
            let isImpostor = status == .authenticationFailure || status == .pinOrKeyMissing
            return fail(status) + (isImpostor ? [.disconnect(.authenticationFailure)] : [])
        }
        isPeerVerified = true
        return measured()
    }

    /// Encryption Change. Core Vol 4, Part E, 7.7.8.
    ///
    /// - Parameter isAESCCM: nil if encryption is now off.
    mutating func encryptionChanged(_ status: ErrorCode, isAESCCM: Bool?) -> [Action] {
        guard status == .success else {
            if case .encrypting = state { return fail(status) }
            return []
        }
        guard let isAESCCM else {
            applied = nil
            return isMeasuring ? fail(.insufficientSecurity) : []
        }
        used = used ?? known
        // Encryption without an authenticated key does not count.
        guard used != nil else { return fail(.authenticationFailure) + [.disconnect(.authenticationFailure)] }
        state = .measuring(isAESCCM: isAESCCM)
        return [.readKeySize]
    }

    /// Encryption key size. A link with a short key is disconnected. Core Vol 4, Part E, 7.5.7; Vol 3, Part C, 5.2.2.8.
    mutating func keySizeRead(_ status: ErrorCode, octets: Int) -> [Action] {
        guard case .measuring(let isAESCCM) = state, let used else { return [] }
        let least = quirks.ignoresMinimumKeySize ? 0 : max(settings?.minimumKeySize ?? 0, LongTermKeySize.minimum)
        guard status == .success, octets >= least else {
            applied = nil
            return fail(.insufficientSecurity) + [.disconnect(.authenticationFailure)]
        }
        applied = BREDREncryption(linkKey: used, isAESCCM: isAESCCM, keySize: octets)
        // Secure authentication, which precedes AES-CCM, is mutual.
        if isAESCCM { isPeerVerified = true }
        guard isPeerVerified else {
            state = .verifying
            return [.authenticate]
        }
        return measured()
    }

    private mutating func measured() -> [Action] {
        guard level >= needed else { return fail(.insufficientSecurity) }
        (state, needed) = (.idle, .open)
        return [.reached(level)]
    }

    /// Ends the procedure with an error. `used` is kept, since the controller may still encrypt with that key.
    private mutating func fail(_ status: ErrorCode) -> [Action] {
        (state, needed, question) = (.idle, .open, nil)
        (own, peer) = (nil, nil)
        return [.failed(status)]
    }
}
