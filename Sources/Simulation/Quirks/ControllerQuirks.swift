import BBMisbehaviour
import BBPackets

/// Faults of a virtual controller; none by default.
public struct ControllerQuirks: Sendable {
    /// Interframe space before a reply.
    public var interFrameSpace: Microseconds = 150
    /// Number of CRC octets sent.
    public var crcOctets = 3
    /// Number of exchanges started per connection event although they no longer fit.
    public var extraExchangesPerEvent = 0
    /// Sends every new PDU with the sequence number of the previous one.
    public var sequenceNumberIsStuck = false
    /// Offset added to each data channel of the hop sequence.
    public var hopOffset: UInt8 = 0
    /// Number of connection events after the instant at which a change is applied.
    public var instantOffset = 0
    /// Treats every PDU as acknowledged once it has been sent.
    public var neverRetransmits = false
    /// Keeps a silent link forever.
    public var ignoresSupervisionTimeout = false
    /// PHYs sent in reply to LL_PHY_REQ instead of the supported and preferred ones.
    public var phyAnswer: PHYs?
    /// TX and RX octets sent in reply to LL_LENGTH_REQ.
    public var dataLengthAnswer: UInt16?
    /// Advertises at exactly the interval, without advDelay.
    public var hasNoAdvertisingDelay = false
    /// Reports a host packet as completed on arrival, before the peer has acknowledged it.
    public var creditsAtOnce = false
    /// Mask of the random bits that vary.
    public var varyingRandomBits = UInt64.max
    /// State that HCI_Reset does not clear.
    public var resetKeeps: ResetKeeps = []
    /// Does not resolve resolvable private addresses.
    public var resolvesNoAddress = false
    /// Uses the Local_IRK of the first entry of the resolving list towards every peer.
    public var usesFirstLocalKey = false
    /// Faults where procedures of the link layer meet.
    public var procedures: ProcedureFaults = []
    /// Faults of periodic advertising.
    public var periodic: PeriodicQuirks = []
    /// Faults of LE link encryption.
    public var encryption: EncryptionQuirks = []
    /// Faults of BR/EDR links.
    public var bredr: BREDRQuirks = []
    /// Rules that change packets sent on the air and to the host, and received commands.
    public var rewrites: [PacketRewrite] = []
    /// Rules that change control PDUs received from the peer.
    public var receivedRewrites: [PacketRewrite] = []

    public init() {}
}

/// Faults of periodic advertising trains, and of syncs with them. Core Vol 6, Part B, 4.4.2.12 and 4.4.3.4.
public struct PeriodicQuirks: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Ends a train with the advertising of its set.
    public static let trainEndsWithSet = PeriodicQuirks(rawValue: 1)
    /// Sends the data of the time at which the train was enabled.
    public static let keepsTrainData = PeriodicQuirks(rawValue: 2)
    /// Announces each event of a train 600 us too early.
    public static let misplacesTrain = PeriodicQuirks(rawValue: 4)
    /// Does not follow a train to other channels.
    public static let ignoresTrainChannels = PeriodicQuirks(rawValue: 8)
    /// Synchronises with any train of a sought advertiser.
    public static let takesAnyTrain = PeriodicQuirks(rawValue: 16)
}

/// Faults of LE link encryption. Core Vol 6, Part B, 5.1.3; Part E.
public struct EncryptionQuirks: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Accepts PDUs with any MIC.
    public static let ignoresMIC = EncryptionQuirks(rawValue: 1)
    /// Starts a new session with the packet counters of the previous session.
    public static let keepsPacketCounters = EncryptionQuirks(rawValue: 2)
    /// Encrypts a PDU again, with a new packet counter, when it is retransmitted.
    public static let countsRetransmissions = EncryptionQuirks(rawValue: 4)
    /// Sends empty PDUs with a MIC.
    public static let sealsEmptyPDUs = EncryptionQuirks(rawValue: 8)
    /// Sends data while encryption starts or pauses.
    public static let sendsDataWhileStarting = EncryptionQuirks(rawValue: 16)
    /// As a peripheral, starts encryption with an all-zero key without asking its host.
    public static let needsNoKey = EncryptionQuirks(rawValue: 32)
    /// Sends the same half of SKD and IV in each session of a link.
    public static let repeatsSessionHalves = EncryptionQuirks(rawValue: 64)
    /// Accepts unencrypted data while encryption starts.
    public static let takesAnythingWhileStarting = EncryptionQuirks(rawValue: 128)
    /// Decrypts a repeated PDU, which then fails its MIC, before it notices the repetition.
    public static let opensRepetitions = EncryptionQuirks(rawValue: 256)
}

/// Faults of BR/EDR links. Core Vol 2, Parts B, C and H.
public struct BREDRQuirks: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// As a central, polls at ten times the agreed interval.
    public static let ignoresPollInterval = BREDRQuirks(rawValue: 1)
    /// Accepts any LMP_sres.
    public static let takesAnyResponse = BREDRQuirks(rawValue: 2)
    /// Accepts a public key that is not on the curve.
    public static let takesInvalidKeys = BREDRQuirks(rawValue: 4)
    /// Accepts its own public key as the peer's.
    public static let takesOwnKey = BREDRQuirks(rawValue: 8)
    /// Accepts encryption key sizes below its minimum.
    public static let takesShortKeys = BREDRQuirks(rawValue: 16)
    /// Uses the same random numbers in each procedure of a link.
    public static let repeatsRandomNumbers = BREDRQuirks(rawValue: 32)
    /// Accepts any LMP_DHkey_check.
    public static let takesAnyCheck = BREDRQuirks(rawValue: 64)
    /// Sends packet types that its host has disabled.
    public static let sendsForbiddenTypes = BREDRQuirks(rawValue: 128)
    /// Sends every new packet with the sequence number of the previous one.
    public static let repeatsSequenceNumber = BREDRQuirks(rawValue: 256)
    /// Treats every packet as acknowledged by the next packet received.
    public static let neverRetransmits = BREDRQuirks(rawValue: 512)
    /// Accepts any commitment value.
    public static let takesAnyCommitment = BREDRQuirks(rawValue: 1_024)
}

/// State that HCI_Reset should clear but keeps. Core Vol 4, Part E, 7.3.2.
public struct ResetKeeps: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let filterAcceptList = ResetKeeps(rawValue: 1)
    public static let advertising = ResetKeeps(rawValue: 2)
    public static let scanning = ResetKeeps(rawValue: 4)
    public static let randomAddress = ResetKeeps(rawValue: 8)
    public static let suggestedDataLength = ResetKeeps(rawValue: 16)
    public static let eventMasks = ResetKeeps(rawValue: 32)
    public static let links = ResetKeeps(rawValue: 64)
    public static let initiating = ResetKeeps(rawValue: 128)
    public static let advertisingSets = ResetKeeps(rawValue: 256)
    public static let resolvingList = ResetKeeps(rawValue: 512)
    public static let channelClassification = ResetKeeps(rawValue: 1_024)
    public static let linkDefaults = ResetKeeps(rawValue: 2_048)
    public static let legacyAdvertising = ResetKeeps(rawValue: 4_096)
    public static let scanParameters = ResetKeeps(rawValue: 8_192)
    public static let hostFlowControl = ResetKeeps(rawValue: 16_384)
    public static let bredrSettings = ResetKeeps(rawValue: 32_768)
    public static let eventMask = ResetKeeps(rawValue: 65_536)
    public static let leEventMask = ResetKeeps(rawValue: 131_072)
    public static let periodicAdvertisers = ResetKeeps(rawValue: 262_144)
    public static let syncRequest = ResetKeeps(rawValue: 524_288)
}
