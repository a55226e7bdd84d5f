import Packets

/// The host's part in the authentication, pairing and encryption of one BR/EDR link. Core Vol 3, Part C, 5.2.2; Vol 4, Part E, 7.1 and 7.7.
struct BREDRSecurity {
    enum Action: Equatable {
        /// HCI_Authentication_Requested.
        case authenticate
        /// HCI_Set_Connection_Encryption.
        case encrypt
        /// HCI_Refresh_Encryption_Key: the link is encrypted already, with another key.
        case refresh
        /// HCI_Read_Encryption_Key_Size.
        case readKeySize
        /// HCI_Link_Key_Request_Reply; nil says that there is none.
        case replyKey(LinkKey?)
        /// HCI_IO_Capability_Request_Reply, or its negative.
        case replyFeatures(SimplePairingFeatures)
        case refuseFeatures(ErrorCode)
        /// HCI_User_Confirmation_Request_Reply, or its negative.
        case confirm(Bool)
        /// HCI_User_Passkey_Request_Reply; nil for its negative.
        case replyPasskey(UInt32?)
        /// HCI_PIN_Code_Request_Reply; nil for its negative.
        case replyPIN([UInt8]?)
        /// HCI_Remote_OOB_Data_Request_Reply, or HCI_Remote_OOB_Extended_Data_Request_Reply; nil for the negative of both.
        case replyOutOfBand(ClassicOutOfBandData?, isExtended: Bool)
        /// A question that wants an answer is the last action.
        case ask(PairingQuestion)
        /// The key is to be kept beside those of LE.
        case keep(LinkKey)
        /// The link is what was asked for.
        case reached(SecurityMode4Level)
        case failed(ErrorCode)
        /// A link that is worth nothing is given up.
        case disconnect(ErrorCode)
    }

    private enum State {
        case idle
        /// This side has asked for it; a pairing anew does without the key that is there.
        case authenticating(isAnew: Bool)
        case encrypting
        /// The link is encrypted; how many octets the key has is not known yet.
        case measuring(isAESCCM: Bool)
    }

    private var settings: PairingSettings?
    private var state = State.idle
    /// What is being worked for.
    private var needed = SecurityMode4Level.open
    /// What is kept of the peer.
    private var known: LinkKey?
    /// The host has made out-of-band data for peers to have.
    private var hasToldData = false
    /// What the controller was given or has made.
    private var used: LinkKey?
    private var own: SimplePairingFeatures?
    private var peer: SimplePairingFeatures?
    /// How the last pairing made sure that there is nobody between the two; nil after one with a PIN.
    private(set) var model: AssociationModel?
    /// The user has been asked and has not answered.
    private var question: PairingQuestion?
    /// How the link is encrypted; nil while it is not.
    private(set) var encryption: BREDREncryption?

    var level: SecurityMode4Level { encryption?.level ?? .open }
    /// Nothing is under way that this side has begun.
    var isIdle: Bool { if case .idle = state { true } else { false } }
    /// The link is encrypted, and what it is worth will be known in a moment.
    var isMeasuring: Bool { if case .measuring = state { true } else { false } }
    /// This side began the pairing under way, and so its user wants it.
    private var isInitiator: Bool { if case .authenticating = state { true } else { false } }

    /// - Parameters:
    ///   - settings: nil if the host does not pair.
    ///   - known: the link key that the store has of the peer.
    init(_ settings: PairingSettings?, known: LinkKey?) {
        self.settings = settings
        self.known = known
    }

    // MARK: From above

    /// What the host's settings and its store say now; settings change between procedures only.
    mutating func learn(_ settings: PairingSettings?, known: LinkKey?, hasToldData: Bool) {
        self.known = known
        self.hasToldData = hasToldData
        if isIdle, own == nil, peer == nil { self.settings = settings }
    }

    /// Pairs, whether or not there is a key.
    mutating func pair(_ settings: PairingSettings) -> [Action] {
        guard isIdle else { return [] }
        self.settings = settings
        needed = SecurityMode4Level(settings.minimumLevel)
        state = .authenticating(isAnew: true)
        return [.authenticate]
    }

    /// The controller is busy with what the other side has begun: that comes first.
    mutating func deferred() { if isInitiator { (state, needed) = (.idle, .open) } }

    /// A service wants the link to be of a level.
    mutating func require(_ level: SecurityMode4Level) -> [Action] {
        guard level > self.level else { return [.reached(self.level)] }
        needed = max(needed, level)
        guard isIdle else { return [] }
        state = .authenticating(isAnew: false)
        return [.authenticate]
    }

    /// Answers that nobody waits for change nothing.
    mutating func answered(_ answer: PairingAnswer) -> [Action] {
        defer { question = nil }
        switch (question, answer) {
        case (.enterPasskey, .passkey(let passkey)): return [.replyPasskey(passkey)]
        case (.compare, .agrees(let agrees)), (.consent, .agrees(let agrees)): return [.confirm(agrees)]
        default: return []
        }
    }

    // MARK: Keys

    /// A key that is not good enough for what is needed is not given: then there is pairing. Core Vol 4, Part E, 7.7.23.
    mutating func keyRequested() -> [Action] {
        if case .authenticating(isAnew: true) = state { return [.replyKey(nil)] }
        used = known.flatMap { $0.bestLevel >= needed ? $0 : nil }
        return [.replyKey(used)]
    }

    /// Core Vol 4, Part E, 7.7.24.
    mutating func keyMade(_ key: LinkKey) -> [Action] {
        let key = claimsDataUntold && key.type != .changedCombination ? key.unauthenticated : key.inPlace(of: known)
        used = key
        model = own.flatMap(association)?.model
        defer { (own, peer) = (nil, nil) }
        guard let settings, settings.isBonding, peer?.isBonding ?? true else { return [] }
        guard key.type != .debugCombination || settings.acceptsDebugKeys else { return [] }
        if let known, key.strength.isWeaker(than: known.strength), !settings.acceptsWeakerBond { return [] }
        known = key
        return [.keep(key)]
    }

    /// Legacy pairing is for who has set a PIN, and protects too little for who needs an authenticated key. Core Vol 4, Part E, 7.7.22.
    func pinRequested() -> [Action] {
        guard let settings, needed < .authenticated, settings.minimumLevel < .authenticated else { return [.replyPIN(nil)] }
        return [.replyPIN(settings.pin)]
    }

    /// Core Vol 4, Part E, 7.7.44.
    func outOfBandRequested() -> [Action] {
        [.replyOutOfBand(settings?.classicOutOfBandData, isExtended: settings?.supportsSecureConnections ?? false)]
    }

    // MARK: Secure Simple Pairing

    /// Core Vol 4, Part E, 7.7.40.
    mutating func featuresRequested() -> [Action] {
        guard let settings else { return [.refuseFeatures(.pairingNotAllowed)] }
        let own = SimplePairingFeatures(settings, needs: needed)
        // The initiator hears of the responder's features later.
        guard isInitiator || association(own).map({ allows($0, settings) }) ?? true else { return [.refuseFeatures(.pairingNotAllowed)] }
        guard isInitiator || !claimsDataUntold else { return [.refuseFeatures(.pairingNotAllowed)] }
        self.own = own
        return [.replyFeatures(own)]
    }

    /// Core Vol 4, Part E, 7.7.41.
    mutating func featuresReceived(_ features: SimplePairingFeatures) { peer = features }

    /// The peer says that it has data of this side, which has told none: that authenticates nobody. Core Vol 2, Part H, 7.2.2.
    private var claimsDataUntold: Bool { (peer?.hasOutOfBandData ?? false) && !hasToldData }

    private func association(_ own: SimplePairingFeatures) -> SimplePairingAssociation? {
        peer.flatMap { isInitiator ? .of(initiator: own, responder: $0) : .of(initiator: $0, responder: own) }
    }

    private func allows(_ association: SimplePairingAssociation, _ settings: PairingSettings) -> Bool {
        association.isAuthenticated || max(settings.minimumLevel == .encrypted ? .unauthenticated : .authenticated, needed) < .authenticated
    }

    /// Core Vol 4, Part E, 7.7.42.
    mutating func confirmationRequested(_ number: UInt32) -> [Action] {
        guard let settings, let own, let association = association(own), allows(association, settings) else { return [.confirm(false)] }
        switch association {
        case .numericComparison: return ask(.compare(number))
        // Who has not asked for the pairing is asked whether it may be, whatever the other side is.
        case .consent, .automatic: return isInitiator ? [.confirm(true)] : ask(.consent)
        case .passkeyEntry, .outOfBand: return [.confirm(false)]
        }
    }

    /// Core Vol 4, Part E, 7.7.43.
    mutating func passkeyRequested() -> [Action] { ask(.enterPasskey) }

    /// Core Vol 4, Part E, 7.7.48.
    mutating func passkeyShown(_ passkey: UInt32) -> [Action] { [.ask(.showPasskey(passkey))] }

    private mutating func ask(_ question: PairingQuestion) -> [Action] {
        self.question = question
        return [.ask(question)]
    }

    /// Core Vol 4, Part E, 7.7.45.
    mutating func pairingEnded(_ status: ErrorCode) {
        question = nil
        if status != .success { (own, peer) = (nil, nil) }
    }

    // MARK: Authentication and encryption

    /// A key that the peer says it lost stays: whoever says so may not be the peer. Core Vol 4, Part E, 7.7.6.
    mutating func authenticated(_ status: ErrorCode) -> [Action] {
        guard case .authenticating = state else { return [] }
        guard status == .success else { return fail(status) }
        // The controller may have kept the key and not have asked.
        used = used ?? known
        guard let used, used.bestLevel >= needed else { return fail(.insufficientSecurity) }
        state = .encrypting
        return [encryption == nil ? .encrypt : .refresh]
    }

    /// Core Vol 4, Part E, 7.7.8.
    ///
    /// - Parameter isAESCCM: nil if encryption is off now.
    mutating func encryptionChanged(_ status: ErrorCode, isAESCCM: Bool?) -> [Action] {
        guard status == .success else {
            if case .encrypting = state { return fail(status) }
            return []
        }
        guard let isAESCCM else {
            encryption = nil
            return isMeasuring ? fail(.insufficientSecurity) : []
        }
        used = used ?? known
        // Nobody has authenticated: encryption without a key is none.
        guard used != nil else { return fail(.authenticationFailure) + [.disconnect(.authenticationFailure)] }
        state = .measuring(isAESCCM: isAESCCM)
        return [.readKeySize]
    }

    /// A link with a key of few octets is not kept. Core Vol 4, Part E, 7.5.7; Vol 3, Part C, 5.2.2.8.
    mutating func keySizeRead(_ status: ErrorCode, octets: Int) -> [Action] {
        guard case .measuring(let isAESCCM) = state, let used else { return [] }
        let least = max(settings?.minimumKeySize ?? 0, LongTermKeySize.minimum)
        guard status == .success, octets >= least else {
            encryption = nil
            return fail(.insufficientSecurity) + [.disconnect(.authenticationFailure)]
        }
        encryption = BREDREncryption(linkKey: used, isAESCCM: isAESCCM, keySize: octets)
        guard level >= needed else { return fail(.insufficientSecurity) }
        (state, needed) = (.idle, .open)
        return [.reached(level)]
    }

    /// The controller may still have the key that it used: what comes of that is worth no more.
    private mutating func fail(_ status: ErrorCode) -> [Action] {
        (state, needed, question) = (.idle, .open, nil)
        (own, peer) = (nil, nil)
        return [.failed(status)]
    }
}
