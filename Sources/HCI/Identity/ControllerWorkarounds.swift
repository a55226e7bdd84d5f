import Packets

/// What a host avoids or does for one controller because of how that behaves. The defaults ask for nothing.
///
/// Known controllers come with theirs from a table; others are learned in a run (`LearnedConduct`).
public struct ControllerWorkarounds: Sendable, Hashable {
    /// Commands that are not sent by themselves although the controller claims them, by opcode: it refuses them, or falls silent.
    public var avoidedCommands: Set<UInt16> = []

    // Advertising, scanning, connecting
    /// LE_Set_Extended_Scan_Parameters or LE_Set_Extended_Scan_Enable is claimed and refused. As the families do not mix, everything is done with
    /// legacy commands. Core Vol 4, Part E, 3.1.1.
    public var avoidsExtendedScan = false
    /// The same of LE_Extended_Create_Connection.
    public var avoidsExtendedConnect = false
    /// The same of the commands for advertising sets.
    public var avoidsExtendedAdvertising = false
    /// The Coded PHY is claimed, and reports and connections stay away when it is used.
    public var avoidsCodedPHY = false
    /// Advertises or initiates, not both at once, whatever its supported states say.
    public var hasOneLERole = false
    /// LE_Read_Supported_States is not to be believed.
    public var hasUntrueStates = false
    /// An inquiry and an LE scan are refused beside one another.
    public var avoidsInquiryWhileScanning = false
    /// With duplicates filtered, changed data of an advertiser is never reported again.
    public var filtersDuplicatesByAddress = false
    /// Links of short intervals leave no time for scanning.
    public var needsLongIntervalsToScan = false

    // Commands and events
    /// HCI_Set_Event_Mask_Page_2 makes events disappear that it should let through.
    public var avoidsEventMaskPage2 = false
    /// A vendor's command is answered by a vendor's event alone, which stands for Command Complete.
    public var answersVendorCommandsByEvent = false
    /// Is sent as many commands at once as Num_HCI_Command_Packets allows; otherwise one after the other, which is all that many were ever tried with.
    public var takesCommandsAhead = false
    /// HCI_Read_Local_Supported_Commands fails: only what every controller has is used.
    public var avoidsSupportedCommandsRead = false
    /// Pages above this one of HCI_Read_Local_Extended_Features are refused or filled with anything; nil for no limit.
    public var lastFeaturePage: UInt8?
    /// LE_Read_Remote_Features has to precede periodic advertising sync transfer.
    public var readsRemoteFeaturesFirst = false
    /// How long a command may take; nil for the host's own limit.
    public var commandTimeOut: Microseconds?

    // Links
    /// HCI_Enhanced_Setup_Synchronous_Connection is claimed and refused; the older command works.
    public var avoidsEnhancedSynchronousSetup = false
    /// HCI_Write_Authenticated_Payload_Timeout during pairing breaks the pairing.
    public var avoidsAuthenticatedPayloadTimeout = false
    /// HCI_Read_Encryption_Key_Size fails: the size of a link's key is unknown.
    public var hidesKeySize = false
    /// The numbers of HCI_Read_Buffer_Size for voice are wrong; use these.
    public var voiceBuffers: VoiceBuffers?

    // Identity
    /// The public address is its maker's default, or shared by a batch: a static address is used instead.
    public var hasSharedAddress = false
    /// Hears nothing until its firmware is loaded.
    public var isROMOnly = false
    /// Fit for use, but not as the reference that others are judged against.
    public var isUnfitAsReference = false

    public struct VoiceBuffers: Sendable, Hashable {
        public var octets: Int
        public var packets: Int

        public init(octets: Int, packets: Int) { (self.octets, self.packets) = (octets, packets) }
    }

    public init() {}

    /// Whether legacy commands are used for everything although extended ones are claimed.
    public var avoidsExtendedCommands: Bool { avoidsExtendedScan || avoidsExtendedConnect || avoidsExtendedAdvertising }
}

extension ControllerWorkarounds {
    /// What a table sets by a name alone.
    public static let names: [String: WritableKeyPath<ControllerWorkarounds, Bool> & Sendable] = [
        "avoids-extended-scan": \.avoidsExtendedScan,
        "avoids-extended-connect": \.avoidsExtendedConnect,
        "avoids-extended-advertising": \.avoidsExtendedAdvertising,
        "avoids-coded-phy": \.avoidsCodedPHY,
        "has-one-le-role": \.hasOneLERole,
        "has-untrue-states": \.hasUntrueStates,
        "avoids-inquiry-while-scanning": \.avoidsInquiryWhileScanning,
        "filters-duplicates-by-address": \.filtersDuplicatesByAddress,
        "needs-long-intervals-to-scan": \.needsLongIntervalsToScan,
        "avoids-event-mask-page-2": \.avoidsEventMaskPage2,
        "answers-vendor-commands-by-event": \.answersVendorCommandsByEvent,
        "takes-commands-ahead": \.takesCommandsAhead,
        "avoids-supported-commands-read": \.avoidsSupportedCommandsRead,
        "reads-remote-features-first": \.readsRemoteFeaturesFirst,
        "avoids-enhanced-synchronous-setup": \.avoidsEnhancedSynchronousSetup,
        "avoids-authenticated-payload-timeout": \.avoidsAuthenticatedPayloadTimeout,
        "hides-key-size": \.hidesKeySize,
        "has-shared-address": \.hasSharedAddress,
        "is-rom-only": \.isROMOnly,
        "is-unfit-as-reference": \.isUnfitAsReference,
    ]

    /// Sets the switch of that name; false when there is none.
    public mutating func set(_ name: String, to isOn: Bool = true) -> Bool {
        guard let path = Self.names[name] else { return false }
        self[keyPath: path] = isOn
        return true
    }

    /// The names of the switches that differ from the defaults, in order.
    public var namesInUse: [String] {
        let defaults = ControllerWorkarounds()
        return Self.names.filter { self[keyPath: $0.value] != defaults[keyPath: $0.value] }.keys.sorted()
    }
}
