import BBL2CAP
import BBMisbehaviour
import BBPackets

/// Faults of a host, all off by default. They are used to test cases: a case must fail on the fault it looks for.
public struct HostQuirks: Sendable {
    /// Rules that change outgoing ATT, SMP and L2CAP signalling PDUs.
    public var rewrites = PacketRules()
    /// Rules that change incoming PDUs before they are handled.
    public var receivedRewrites = PacketRules()
    /// Never sends ATT_HANDLE_VALUE_CFM.
    public var neverConfirms = false
    /// Uses this ATT_MTU after answering ATT_EXCHANGE_MTU_REQ, instead of the agreed one.
    public var usedMTU: Int?
    /// Allows all reads and writes.
    public var ignoresPermissions = false
    /// Accepts keys of any size.
    public var ignoresKeySize = false
    /// Accepts signed writes with any counter.
    public var ignoresSignCounter = false
    /// Accepts signed writes with any signature.
    public var ignoresSignature = false
    /// Does not resolve private addresses.
    public var resolvesNoAddress = false
    /// Uses data stored with a bond on unencrypted links, too.
    public var trustsAddresses = false
    /// Passes values of a bonded server on before the link is encrypted.
    public var takesValuesInClear = false
    /// Does not indicate database changes.
    public var hidesChanges = false
    /// Answers ATT_READ_BLOB_REQ with the octets from offset + 1 on.
    public var longReadOffByOne = false
    /// Confirms ATT_PREPARE_WRITE_REQ, but does not execute the write.
    public var forgetsPreparedWrites = false
    /// Writes all prepared parts except the first.
    public var losesFirstPart = false
    /// Joins prepared parts from last to first, ignoring offsets.
    public var ignoresPartOffsets = false
    /// Sends an indication before the previous one is confirmed.
    public var indicatesWithoutWaiting = false
    /// Answers unknown commands with an error.
    public var answersUnknownCommands = false
    /// Declares the properties read, write and notify on every characteristic.
    public var claimsAllProperties = false
    /// Sends each notification twice.
    public var duplicatesNotifications = false
    /// Sends notifications and indications to clients that have not subscribed.
    public var notifiesUnasked = false
    /// Uses this error code for every rejected ATT request.
    public var errorCode: ATTErrorCode?

    /// Faults of a server with several clients.
    public var clients = ClientQuirks()

    /// Faults of encrypted advertising data.
    public var advertising = AdvertisingQuirks()

    /// Faults of pairing.
    public var pairing = PairingQuirks()

    /// Faults of BR/EDR channels.
    public var channels = ChannelQuirks()

    /// Faults of Enhanced ATT bearers.
    public var bearers = BearerQuirks()

    public init() {}
}

/// Faults of a server that takes several clients for one. Core Vol 3, Part F, 3.2.8 and 3.4.6, and Part G, 2.5 and 3.3.3.3.
public struct ClientQuirks: Sendable, Hashable {
    /// Has one ATT_MTU for all clients.
    public var sharesMTU = false
    /// Has one queue of prepared writes for all clients.
    public var sharesPreparedWrites = false
    /// Has one value of each Client Characteristic Configuration for all clients.
    public var sharesConfigurations = false
    /// Forgets the subscriptions of all clients when one of them leaves.
    public var forgetsTogether = false
    /// Sends every response to the client that came first.
    public var answersFirst = false
    /// Sends each notification to all clients.
    public var notifiesAll = false
    /// Counts a client as encrypted if any other client is.
    public var sharesSecurity = false

    public init() {}
}

/// Faults of a host in encrypted advertising data. Core Supplement, Part A, 1.23.
public struct AdvertisingQuirks: Sendable, Hashable {
    /// Encrypts each payload with the same randomizer.
    public var repeatsRandomizer = false
    /// Encrypts with the octets of the IV in reverse order.
    public var reversesIV = false
    /// Accepts any MIC.
    public var acceptsAnyMIC = false
    /// Lets everybody read the key material.
    public var exposesKeys = false
    /// Does not indicate new key material.
    public var hidesNewKeys = false

    public init() {}
}

/// Faults of a host on connection-oriented channels.
public struct ChannelQuirks: Sendable, Hashable {
    /// Faults of I-frames and S-frames.
    public var frames = FrameFaults()
    /// Sends although the peer is not ready.
    public var ignoresRemoteBusy = false
    /// Sends more I-frames than the peer's window allows.
    public var ignoresWindow = false
    /// Delivers repeated I-frames.
    public var deliversRepetitions = false
    // RFCOMM
    /// Sends without credits.
    public var ignoresCredits = false
    /// Sends longer frames than agreed.
    public var ignoresFrameSize = false
    // Service discovery
    /// Answers every continuation state with the first part.
    public var forgetsContinuation = false
    /// Finds no records.
    public var hidesRecords = false
    // Credit-based channels
    /// The largest MPS and the initial credits that this side offers.
    public var offeredMPS: UInt16?
    public var offeredCredits: UInt16?
    /// Gives no credits before a channel in LE credit-based mode is open.
    public var offersNoCredits = false
    /// Gives credits for whole SDUs only, at first those of the longest one.
    public var creditsWholeSDUs = false
    /// The number of channels for which this side has resources, on an LE link.
    public var mostChannels: Int?
    // Security
    /// Accepts all channels on an unencrypted link.
    public var admitsInClear = false
    /// Does not end an unencrypted link on which a protected service was requested.
    public var staysInClear = false
    /// Requests channels without raising the security of the link.
    public var requestsInClear = false
    /// Takes security mode 4 level 2 for every level above it.
    public var ignoresLevels = false
    // Attributes
    /// Exchanges ATT_MTU over BR/EDR.
    public var exchangesMTU = false

    public init() {}
}

/// Faults of a host on Enhanced ATT bearers. Core Vol 3, Part G, 5.3 and 5.4.
public struct BearerQuirks: Sendable, Hashable {
    /// Accepts Enhanced ATT bearers on an unencrypted link.
    public var admitsInClear = false
    /// Accepts bearers in LE credit-based flow control mode.
    public var admitsOtherMode = false
    /// Keeps ATT_MTU although the channel is reconfigured.
    public var keepsFirstMTU = false
    /// Uses the peer's MTU alone as ATT_MTU.
    public var ignoresOwnMTU = false
    /// Sends responses and confirmations on the fixed channel.
    public var repliesOnFixedChannel = false
    /// Sends Database Out Of Sync on one bearer only, and takes the next request on any for proof of awareness.
    public var informsOneBearer = false
    /// Serves requests on the first Enhanced ATT bearer only.
    public var servesOneBearer = false
    /// Closes all bearers after a time-out on one.
    public var closesAllOnTimeOut = false
    /// After Database Out Of Sync, reads the hash while requests on other bearers are pending.
    public var readsHashAtOnce = false
    /// Carries out signed writes on Enhanced ATT bearers.
    public var takesSignedWrites = false
    /// Requests bearers again at once after a collision, as a peripheral, too.
    public var retriesAtOnce = false
    /// Has a queue of prepared writes for each bearer.
    public var separatesPreparedWrites = false

    public init() {}
}

/// Faults of a host's pairing.
public struct PairingQuirks: Sendable, Hashable {
    /// Accepts any confirm value.
    public var acceptsAnyConfirm = false
    public var acceptsAnyDHKeyCheck = false
    /// Accepts a public key that is not on the curve.
    public var skipsCurveCheck = false
    /// Accepts its own public key.
    public var acceptsReflectedKey = false
    public var ignoresMinimumKeySize = false
    public var ignoresMinimumLevel = false
    /// Accepts invalid key sizes.
    public var acceptsAnyKeySize = false
    /// Responds after any number of failed attempts. Core Vol 3, Part H, 2.3.6.
    public var allowsRepeatedAttempts = false
    /// Sets its OOB data flag without the peer's data, and computes with zeros.
    public var claimsOutOfBandData = false
    /// Counts a peer's OOB data flag as authentication although no data was created.
    public var believesOutOfBandFlag = false
    /// Counts every key as authenticated.
    public var overratesKeys = false
    /// Keeps its bond when the peer pairs again.
    public var keepsOldBond = false
    /// Encrypts with the peer's random number in LE legacy pairing.
    public var usesRandomAsKey = false
    /// Displays the same passkey each time.
    public var repeatsPasskey = false
    /// Sets the reserved bits of AuthReq.
    public var setsReservedBits = false
    /// Accepts its own confirm value from the responder in LE legacy pairing.
    public var acceptsOwnConfirm = false
    /// Uses the same nonce each time.
    public var repeatsNonces = false
    /// Uses out-of-band data in LE legacy pairing although only one device has them.
    public var takesOneFlag = false
    /// Continues a pairing after the time-out. Core Vol 3, Part H, 3.4.
    public var outlivesTimeOut = false
    /// Ends a pairing 10 s before the time-out.
    public var cutsTimeOutShort = false
    /// Sends an invalid public key.
    public var publicKeyFault: PublicKeyFault?
    /// Computes with a DHKey of zeros.
    public var computesWithZeroKey = false
    /// Pairs again with a bonded device without asking its user.
    public var pairsAgainUnasked = false
    // Cross-transport key derivation. Core Vol 3, Part H, 2.4.2.4 and 2.4.2.5.
    /// Derives keys from a different input than the peer.
    public var misderivesKeys = false
    /// Uses h6 although both devices support h7.
    public var ignoresCT2 = false
    /// Derives keys from LE legacy pairing and from P-192 keys.
    public var derivesFromWeakKeys = false
    /// Replaces stronger link keys and LTKs.
    public var replacesStrongerLinkKeys = false
    public var replacesStrongerLongTermKeys = false
    /// Derives a link key that was not negotiated.
    public var derivesUnasked = false
    public var derivesNoLinkKey = false
    public var derivesNoLongTermKey = false
    /// Keeps the existing link key instead of a new one.
    public var keepsOldLinkKey = false
    /// Keeps the existing LTK instead of a derived one.
    public var keepsOldLongTermKey = false
    // BR/EDR
    /// Accepts dedicated bonding in non-bondable mode.
    public var pairsForBonding = false
    // Both transports
    /// Pairs over BR/EDR although there is a link key.
    public var pairsTwice = false
    /// Connects over BR/EDR before the LE link is encrypted.
    public var pagesFirst = false

    public init() {}
}
