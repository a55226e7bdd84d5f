import Packets

/// Ways in which a host departs from good conduct, all off by default. Cases are tested with them: a case must fail on the fault it looks for.
public struct HostQuirks: Sendable {
    /// Rules for outgoing ATT, SMP and L2CAP signalling PDUs.
    public var rewrites: [PDURewrite] = []
    /// Rules for those that arrive, before anybody looks at them.
    public var receivedRewrites: [PDURewrite] = []
    /// Never sends ATT_HANDLE_VALUE_CFM.
    public var neverConfirms = false
    /// After answering ATT_EXCHANGE_MTU_REQ, works with this ATT_MTU instead of the one agreed.
    public var usedMTU: Int?
    /// Lets anybody read and write anything.
    public var ignoresPermissions = false
    /// Lets keys of any size protect an attribute.
    public var ignoresKeySize = false
    /// Takes signed writes whatever their counter.
    public var ignoresSignCounter = false
    /// Takes signed writes whatever their signature.
    public var ignoresSignature = false
    /// Knows no peer by a private address.
    public var resolvesNoAddress = false
    /// Reads and writes what is kept for a bond on links in clear, too.
    public var trustsAddresses = false
    /// Tells nobody that the database has changed.
    public var hidesChanges = false
    /// Answers ATT_READ_BLOB_REQ with the octets after the offset asked for.
    public var longReadOffByOne = false
    /// Confirms ATT_PREPARE_WRITE_REQ and writes nothing at the end.
    public var forgetsPreparedWrites = false
    /// Writes all prepared parts but the first.
    public var losesFirstPart = false
    /// Puts prepared parts together from the last to the first, wherever they belong.
    public var ignoresPartOffsets = false
    /// Sends an indication although the one before was not confirmed.
    public var indicatesWithoutWaiting = false
    /// Answers unknown commands with an error.
    public var answersUnknownCommands = false
    /// Declares that every characteristic can be read, written and notified.
    public var claimsAllProperties = false
    /// Sends each notification twice.
    public var duplicatesNotifications = false
    /// Notifies and indicates clients that have not asked for it.
    public var notifiesUnasked = false
    /// Gives every refused ATT request this code.
    public var errorCode: ATTErrorCode?

    /// How pairing departs from it.
    public var pairing = PairingQuirks()

    /// How channels of BR/EDR depart from it.
    public var channels = ChannelQuirks()

    public init() {}
}

/// What a host does wrong on connection-oriented channels.
public struct ChannelQuirks: Sendable, Hashable {
    /// Takes frames whose check sequence is wrong.
    public var ignoresFrameCheck = false
    /// Numbers all I-frames alike.
    public var repeatsSequence = false
    /// Sends although the peer is not ready.
    public var ignoresRemoteBusy = false
    /// Sends more I-frames than the peer's window has room for.
    public var ignoresWindow = false
    /// Delivers I-frames again that came before.
    public var deliversRepetitions = false
    // RFCOMM
    /// Sends although the peer has given no credits.
    public var ignoresCredits = false
    /// Sends longer frames than agreed.
    public var ignoresFrameSize = false
    // Service discovery
    /// Answers whatever continuation state with the first part.
    public var forgetsContinuation = false
    /// Finds no records.
    public var hidesRecords = false
    // Security
    /// Lets peers open any channel on a link in clear.
    public var admitsInClear = false
    // Attributes
    /// Exchanges ATT_MTU over BR/EDR.
    public var exchangesMTU = false

    public init() {}
}

/// What a host overlooks when it pairs.
public struct PairingQuirks: Sendable, Hashable {
    /// Takes any confirm value for the right one.
    public var acceptsAnyConfirm = false
    public var acceptsAnyDHKeyCheck = false
    /// Goes on with a public key that is no point on the curve.
    public var skipsCurveCheck = false
    /// Goes on with its own public key.
    public var acceptsReflectedKey = false
    public var ignoresMinimumKeySize = false
    public var ignoresMinimumLevel = false
    /// Takes key sizes that do not exist.
    public var acceptsAnyKeySize = false
    /// Answers however often an attempt fails. Core Vol 3, Part H, 2.3.6.
    public var allowsRepeatedAttempts = false
    /// Sets its OOB data flag without data of the peer, and computes with zeros.
    public var claimsOutOfBandData = false
    /// Takes a peer's OOB data flag for authentication although it has told nobody its data.
    public var believesOutOfBandFlag = false
    /// Takes any key for one that a man in the middle cannot have.
    public var overratesKeys = false
    /// Keeps the bond that it has when the peer pairs anew.
    public var keepsOldBond = false
    /// Encrypts with the peer's random number in LE legacy pairing.
    public var usesRandomAsKey = false
    /// Shows the same passkey each time.
    public var repeatsPasskey = false
    // Keys of the other transport. Core Vol 3, Part H, 2.4.2.4 and 2.4.2.5.
    /// Derives them from something else than the peer.
    public var misderivesKeys = false
    /// Takes h6 where both sides have said h7.
    public var ignoresCT2 = false
    /// Derives them from keys of LE legacy pairing, and of P-192.
    public var derivesFromWeakKeys = false
    /// Puts them in the place of link keys, or LTKs, that are worth more.
    public var replacesStrongerLinkKeys = false
    public var replacesStrongerLongTermKeys = false
    /// Derives a link key that was not agreed on.
    public var derivesUnasked = false
    public var derivesNoLinkKey = false
    public var derivesNoLongTermKey = false
    /// Keeps the link key that there is when there is a new one.
    public var keepsOldLinkKey = false
    /// Keeps the LTK that there is when another one could be derived.
    public var keepsOldLongTermKey = false
    // Both transports, one after the other
    /// Pairs over BR/EDR although there is a link key.
    public var pairsTwice = false
    /// Comes over BR/EDR before the LE link is encrypted.
    public var pagesFirst = false

    public init() {}
}

/// A rule for outgoing PDUs of one fixed channel.
public struct PDURewrite: Sendable {
    /// The channel: ATT 4, signalling 5, SMP 6.
    public var cid: UInt16
    /// The first octet of the PDUs meant.
    public var opcode: UInt8
    /// How many of them pass untouched first.
    public var skip: Int
    /// How many are treated; nil for all.
    public var count: Int?
    /// Each so manieth of them is treated.
    public var every = 1
    /// How many have been met.
    var met = 0
    /// What is sent instead: none, one or several PDUs.
    public var replace: @Sendable ([UInt8]) -> [[UInt8]]

    public init(cid: UInt16, opcode: UInt8, skip: Int = 0, count: Int? = nil, replace: @escaping @Sendable ([UInt8]) -> [[UInt8]]) {
        self.cid = cid
        self.opcode = opcode
        self.skip = skip
        self.count = count
        self.replace = replace
    }

    public static func drop(cid: UInt16, opcode: UInt8) -> PDURewrite { PDURewrite(cid: cid, opcode: opcode) { _ in [] } }
    public static func duplicate(cid: UInt16, opcode: UInt8) -> PDURewrite { PDURewrite(cid: cid, opcode: opcode) { [$0, $0] } }
}
