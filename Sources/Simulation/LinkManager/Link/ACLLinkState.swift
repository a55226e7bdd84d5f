import BBBluetoothCrypto
import BBPackets
import BBTiming

/// State of a link in one link manager: parameters that both agreed on, and properties of the peer. It changes by `ACLLinkChange`.
struct ACLLinkState {
    private(set) var role: LinkRole
    let own: BDADDR
    let peer: BDADDR
    /// Capabilities of this controller and settings of its host.
    var settings: LinkManagerSettings
    /// Current CLK27-1 of the piconet.
    var slot: UInt32 = 0
    /// CLKN of this device minus the piconet clock, in units of 1.25 ms. Core Vol 2, Part C, 4.3.2.
    var clockOffset: UInt16 = 0
    /// Offset of this device's own piconet from the slots of the current one, in microseconds, 0...1,249. Core Vol 2, Part C, 4.4.1.
    var slotOffset: UInt16 = 0
    /// Received pages of the peer's features.
    private(set) var peerPages: [UInt8: UInt64] = [:]
    /// The peer's highest feature page.
    private(set) var peerHighestPage: UInt8?
    private(set) var peerVersion: RemoteVersion?
    /// LMP_setup_complete was sent, or received.
    private(set) var hasSentSetupComplete = false
    private(set) var hasReceivedSetupComplete = false
    /// True if the roles were switched during connection setup.
    private(set) var hasSwitched = false
    /// T_poll in slots.
    private(set) var pollInterval: UInt16 = 40
    private(set) var packetTypeTable = PacketTypeTable.basic
    /// Parameters of sniff mode; nil in active mode.
    private(set) var sniff: SniffParameters?
    /// Channel map of the adapted hopping sequence in use, or due at its instant; nil for the basic sequence.
    private(set) var channelMap: AdaptedChannelMap?
    /// Synchronous transports by SCO_Handle or eSCO_Handle.
    private(set) var synchronous: [UInt8: SynchronousParameters] = [:]
    /// Free slots of this device's piconet for synchronous transports.
    var slots = SynchronousSlots(freeOffset: { _, _ in nil }, freeLTAddr: { nil })
    private(set) var security = ACLSecurity()
    /// Slot offset that the peer sent for its own piconet.
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

    /// Transaction ID of procedures initiated by this device.
    var ownTransaction: LMPTransaction { LMPTransaction(role) }
    /// True once both devices have sent LMP_setup_complete.
    var isSetUp: Bool { hasSentSetupComplete && hasReceivedSetupComplete }

    /// Secrets of one procedure, which consumes them with `.streamTaken`.
    var stream: SecretSource { secrets.stream("procedure \(streamsTaken)") }

    // MARK: Features. Core Vol 2, Part C, 3.2

    func supports(_ feature: LMPFeatures) -> Bool { LMPFeatures(rawValue: settings.page(0)).contains(feature) }

    /// True if the peer is known to support a feature.
    func peerSupports(_ feature: LMPFeatures) -> Bool { LMPFeatures(rawValue: peerPages[0] ?? 0).contains(feature) }

    func bothSupport(_ feature: LMPFeatures) -> Bool { supports(feature) && peerSupports(feature) }

    var supportsEnhancedRates: Bool { supports(.enhancedRate2M) || supports(.enhancedRate3M) }
    var bothSupportEnhancedRates: Bool { bothSupport(.enhancedRate2M) || bothSupport(.enhancedRate3M) }
    var supportsPing: Bool { LMPFeaturesPage2(rawValue: settings.page(2)).contains(.ping) }
    var bothSupportPing: Bool { supportsPing && LMPFeaturesPage2(rawValue: peerPages[2] ?? 0).contains(.ping) }

    /// Maximum slots of received packets.
    var longestPacket: UInt8 { supports(.fiveSlotPackets) ? 5 : supports(.threeSlotPackets) ? 3 : 1 }

    // MARK: Changes

    /// Applies a change to the state.
    ///
    /// - Returns: reports for the host.
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
            // A failed role switch leaves the piconet as it was.
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

/// A change of the link state.
enum ACLLinkChange: Equatable {
    /// - Parameter highest: the peer's highest feature page, if the PDU contains it.
    case peerFeatures(page: UInt8, UInt64, highest: UInt8?)
    case peerVersion(RemoteVersion)
    case setupCompleteSent
    case setupCompleteReceived
    case role(LinkRole)
    case peerSlotOffset(SlotOffset)
    /// A baseband change, applied by the transport.
    case baseband(BasebandChange)
    /// The link key before authentication; nil if authentication failed.
    case linkKey([UInt8]?)
    /// Authenticated ciphering offset (ACO) from an authentication.
    case cipheringOffset([UInt8])
    case encryption(ACLEncryptionMode, size: UInt8)
    /// Encryption is paused and restarts at the end of the procedure.
    case encryptionPaused
    /// A procedure has used `ACLLinkState.stream`.
    case streamTaken
}
