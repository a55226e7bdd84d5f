import Packets

/// What a host avoids or does for one controller because of how that behaves. The defaults ask for nothing.
///
/// Known controllers come with theirs from a table; others are learned in a run (`ObservedQuirk`).
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
    /// The Coded PHY is claimed, and reports and connections stay away when it is used beside another.
    public var avoidsCodedPHY = false
    /// An inquiry and an LE scan are refused beside one another: scanning rests until the inquiry is over.
    public var avoidsInquiryWhileScanning = false
    /// With duplicates filtered, changed data of an advertiser is never reported again: the host filters them itself.
    public var filtersDuplicatesByAddress = false

    // Commands and events
    /// A vendor's command is answered by a vendor's event alone, which stands for Command Complete.
    public var answersVendorCommandsByEvent = false
    /// Is sent as many commands at once as Num_HCI_Command_Packets allows; otherwise one after the other, which is all that many were ever tried with.
    public var takesCommandsAhead = false

    // Links
    /// The numbers of HCI_Read_Buffer_Size for voice are wrong; use these.
    public var voiceBuffers: VoiceBuffers?

    // Identity
    /// The public address is its maker's default, or shared by a batch: a static address is used instead.
    public var hasSharedAddress = false
    /// Hears nothing until its firmware is loaded: the host says so at its start.
    public var isROMOnly = false
    /// The same where its address is zero: the set-up that its maker's driver does gives it one.
    public var isROMOnlyWithoutAddress = false

    public struct VoiceBuffers: Sendable, Hashable {
        public var octets: Int
        public var packets: Int

        public init(octets: Int, packets: Int) { (self.octets, self.packets) = (octets, packets) }
    }

    public init() {}

    public var mayLackFirmware: Bool { isROMOnly || isROMOnlyWithoutAddress }

    /// Whether a controller with that public address hears nothing because its firmware is not loaded. Nil for an address that it did not tell.
    public func lacksFirmware(address: BDADDR?) -> Bool { isROMOnly || isROMOnlyWithoutAddress && address == 0 }

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
        "avoids-inquiry-while-scanning": \.avoidsInquiryWhileScanning,
        "filters-duplicates-by-address": \.filtersDuplicatesByAddress,
        "answers-vendor-commands-by-event": \.answersVendorCommandsByEvent,
        "takes-commands-ahead": \.takesCommandsAhead,
        "has-shared-address": \.hasSharedAddress,
        "is-rom-only": \.isROMOnly,
        "is-rom-only-without-address": \.isROMOnlyWithoutAddress,
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
