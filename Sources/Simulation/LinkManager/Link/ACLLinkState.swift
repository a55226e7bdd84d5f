import BluetoothCrypto
import Packets
import Timing

/// The state of a link as one of its link managers has it: what both agreed on, and what this one knows of the other. It changes by `ACLLinkChange`.
struct ACLLinkState {
    private(set) var role: LinkRole
    let own: BDADDR
    let peer: BDADDR
    /// What this controller is able to do, and what its host has set.
    var settings: LinkManagerSettings
    /// CLK27-1 of the piconet now.
    var slot: UInt32 = 0
    /// CLKN of this side less the piconet's clock, in units of 1.25 ms. Core Vol 2, Part C, 4.3.2.
    var clockOffset: UInt16 = 0
    /// Where the piconet of this side would be, in microseconds from the slots of this one: 0...1,249. Core Vol 2, Part C, 4.4.1.
    var slotOffset: UInt16 = 0
    /// The pages of the other side's features that it has told.
    private(set) var peerPages: [UInt8: UInt64] = [:]
    /// The highest page it has.
    private(set) var peerHighestPage: UInt8?
    private(set) var peerVersion: RemoteVersion?
    /// Whether LMP_setup_complete was sent, and received.
    private(set) var hasSentSetupComplete = false
    private(set) var hasReceivedSetupComplete = false
    /// Whether the roles were switched while the link was set up.
    private(set) var hasSwitched = false
    /// T_poll in slots.
    private(set) var pollInterval: UInt16 = 40
    private(set) var packetTypeTable = PacketTypeTable.basic
    /// Nil in active mode.
    private(set) var sniff: SniffParameters?
    /// The channels of the adapted hopping sequence that is in use, or will be at its instant; nil for the basic one.
    private(set) var channelMap: AdaptedChannelMap?
    /// By SCO_Handle or eSCO_Handle.
    private(set) var synchronous: [UInt8: SynchronousParameters] = [:]
    /// What the piconet of this side has left for them.
    var slots = SynchronousSlots(freeOffset: { _, _ in nil }, freeLTAddr: { nil })
    private(set) var security = ACLSecurity()
    /// Where the other side's piconet would be.
    private(set) var peerSlotOffset: SlotOffset?
    private let secrets: SecretSource
    private var streamsTaken = 0

    init(role: LinkRole, own: BDADDR, peer: BDADDR, settings: LinkManagerSettings, secrets: SecretSource) {
        self.role = role
        self.own = own
        self.peer = peer
        self.settings = settings
        self.secrets = secrets
    }

    /// What this side begins has this transaction ID.
    var ownTransaction: LMPTransaction { LMPTransaction(role) }
    /// Whether both sides have said that set-up is complete.
    var isSetUp: Bool { hasSentSetupComplete && hasReceivedSetupComplete }

    /// The secrets of one procedure, which takes them by `.streamTaken`.
    var stream: SecretSource { secrets.stream("procedure \(streamsTaken)") }

    // MARK: Features. Core Vol 2, Part C, 3.2

    func supports(_ feature: LMPFeatures) -> Bool { LMPFeatures(rawValue: settings.page(0)).contains(feature) }

    /// Whether the other side is known to have a feature.
    func peerSupports(_ feature: LMPFeatures) -> Bool { LMPFeatures(rawValue: peerPages[0] ?? 0).contains(feature) }

    func bothSupport(_ feature: LMPFeatures) -> Bool { supports(feature) && peerSupports(feature) }

    var supportsEnhancedRates: Bool { supports(.enhancedRate2M) || supports(.enhancedRate3M) }
    var bothSupportEnhancedRates: Bool { bothSupport(.enhancedRate2M) || bothSupport(.enhancedRate3M) }
    var supportsPing: Bool { LMPFeaturesPage2(rawValue: settings.page(2)).contains(.ping) }
    var bothSupportPing: Bool { supportsPing && LMPFeaturesPage2(rawValue: peerPages[2] ?? 0).contains(.ping) }

    /// The most slots of a packet that this controller receives.
    var longestPacket: UInt8 { supports(.fiveSlotPackets) ? 5 : supports(.threeSlotPackets) ? 3 : 1 }

    // MARK: Changes

    /// - Returns: what the host is to hear of it.
    mutating func apply(_ change: ACLLinkChange) -> [ACLReport] {
        switch change {
        case .peerFeatures(let page, let bits, let highest):
            peerPages[page] = bits
            peerHighestPage = highest ?? peerHighestPage
        case .peerVersion(let version): peerVersion = version
        case .setupCompleteSent:
            hasSentSetupComplete = true
            return isSetUp ? [.connected(.success)] : []
        case .setupCompleteReceived:
            hasReceivedSetupComplete = true
            return isSetUp ? [.connected(.success)] : []
        case .role(let new):
            hasSwitched = hasSwitched || (!isSetUp && new != role)
            // A switch that failed leaves the piconet as it was.
            if new != role {
                packetTypeTable = .basic
                channelMap = nil
            }
            role = new
        case .peerSlotOffset(let offset): peerSlotOffset = offset
        case .baseband(let change): note(change)
        case .linkKey(let key):
            security.linkKey = key
            security.cipheringOffset = nil
        case .cipheringOffset(let offset): security.cipheringOffset = offset
        case .encryption(let mode, let size): (security.mode, security.keySize, security.isPaused) = (mode, size, false)
        case .encryptionPaused: security.isPaused = true
        case .streamTaken: if !settings.quirks.contains(.repeatsRandomNumbers) { streamsTaken += 1 }
        }
        return []
    }

    private mutating func note(_ change: BasebandChange) {
        switch change {
        case .polling(let interval, _): pollInterval = interval
        case .packetTypeTable(let table): packetTypeTable = table
        case .sniff(let parameters): sniff = parameters
        case .channelMap(let map, _): channelMap = map
        case .synchronous(let id, let parameters): synchronous[id] = parameters
        default: break
        }
    }
}

/// A change of the link.
enum ACLLinkChange: Equatable {
    /// - Parameter highest: the highest page that the other side has, where it says so.
    case peerFeatures(page: UInt8, UInt64, highest: UInt8?)
    case peerVersion(RemoteVersion)
    case setupCompleteSent
    case setupCompleteReceived
    case role(LinkRole)
    case peerSlotOffset(SlotOffset)
    /// A change of the baseband, which the link below makes.
    case baseband(BasebandChange)
    /// The link key, before it is proven; nil where it was not.
    case linkKey([UInt8]?)
    /// What an authentication has brought.
    case cipheringOffset([UInt8])
    case encryption(ACLEncryptionMode, size: UInt8)
    /// It starts again at the end of the procedure.
    case encryptionPaused
    /// A procedure draws from `ACLLinkState.stream`.
    case streamTaken
}
