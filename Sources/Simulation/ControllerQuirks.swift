import Packets

/// Faults planted in a virtual controller; by default it has none.
public struct ControllerQuirks: Sendable {
    /// The gap it leaves before an answer.
    public var interFrameSpace: Microseconds = 150
    /// The octets of CRC it sends.
    public var crcOctets = 3
    /// Exchanges it starts in a connection event although they no longer fit.
    public var extraExchangesPerEvent = 0
    /// Sends every new PDU under the sequence number of the one before.
    public var sequenceNumberIsStuck = false
    /// Added to each data channel it hops to.
    public var hopOffset: UInt8 = 0
    /// How many events after the instant it applies a change.
    public var instantOffset = 0
    /// Treats every PDU as acknowledged once it was sent.
    public var neverRetransmits = false
    /// Keeps a silent link for ever.
    public var ignoresSupervisionTimeout = false
    /// The PHYs it answers an LL_PHY_REQ with, in place of those it knows and wants.
    public var phyAnswer: PHYs?
    /// The octets it answers an LL_LENGTH_REQ with.
    public var dataLengthAnswer: UInt16?
    /// Advertises at the interval exactly, without advDelay.
    public var hasNoAdvertisingDelay = false
    /// Reports a packet of the host as completed when it has come, before the peer has it.
    public var creditsAtOnce = false
    /// The bits of its random numbers that vary.
    public var varyingRandomBits = UInt64.max
    /// What a reset leaves as it was.
    public var resetKeeps: ResetKeeps = []
    /// Leaves resolvable private addresses as they are.
    public var resolvesNoAddress = false
    /// What it does wrong when links are encrypted.
    public var encryption: EncryptionQuirks = []
    /// What it does wrong on links over BR/EDR.
    public var bredr: BREDRQuirks = []
    /// Rules for what it sends, on the air and to its host, and for the commands it takes.
    public var rewrites: [PacketRewrite] = []

    public init() {}
}

/// Faults of a link's encryption. Core Vol 6, Part B, 5.1.3; Part E.
public struct EncryptionQuirks: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Takes a PDU whatever its MIC.
    public static let ignoresMIC = EncryptionQuirks(rawValue: 1)
    /// Begins a new session with the packet counters of the one before.
    public static let keepsPacketCounters = EncryptionQuirks(rawValue: 2)
    /// Encrypts a PDU anew when it is sent again.
    public static let countsRetransmissions = EncryptionQuirks(rawValue: 4)
    /// Sends empty PDUs with a MIC.
    public static let sealsEmptyPDUs = EncryptionQuirks(rawValue: 8)
    /// Sends data while encryption starts or pauses.
    public static let sendsDataWhileStarting = EncryptionQuirks(rawValue: 16)
    /// As a peripheral, starts encryption with a key of zero without asking its host.
    public static let needsNoKey = EncryptionQuirks(rawValue: 32)
    /// Tells the same half of SKD and IV for each session of a link.
    public static let repeatsSessionHalves = EncryptionQuirks(rawValue: 64)
    /// Takes data in clear while encryption starts.
    public static let takesAnythingWhileStarting = EncryptionQuirks(rawValue: 128)
}

/// Faults of links over BR/EDR. Core Vol 2, Parts B, C and H.
public struct BREDRQuirks: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// As a central, polls ten times as rarely as agreed.
    public static let ignoresPollInterval = BREDRQuirks(rawValue: 1)
    /// Takes any LMP_sres for the right one.
    public static let takesAnyResponse = BREDRQuirks(rawValue: 2)
    /// Takes a public key that is not on the curve.
    public static let takesInvalidKeys = BREDRQuirks(rawValue: 4)
    /// Takes its own public key for the other side's.
    public static let takesOwnKey = BREDRQuirks(rawValue: 8)
    /// Agrees to encryption keys below its minimum.
    public static let takesShortKeys = BREDRQuirks(rawValue: 16)
    /// Draws the same random numbers for each procedure of a link.
    public static let repeatsRandomNumbers = BREDRQuirks(rawValue: 32)
    /// Takes any LMP_DHkey_check for the right one.
    public static let takesAnyCheck = BREDRQuirks(rawValue: 64)
    /// Sends packet types that its host has forbidden.
    public static let sendsForbiddenTypes = BREDRQuirks(rawValue: 128)
    /// Sends every new packet under the sequence number of the one before.
    public static let repeatsSequenceNumber = BREDRQuirks(rawValue: 256)
    /// Treats every packet as acknowledged by the next that it hears.
    public static let neverRetransmits = BREDRQuirks(rawValue: 512)
    /// Takes any commitment for the right one.
    public static let takesAnyCommitment = BREDRQuirks(rawValue: 1_024)
}

/// State that a reset ought to take back. Core Vol 4, Part E, 7.3.2.
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
}
