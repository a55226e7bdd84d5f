import BBPackets

/// Workarounds of a host for one controller; none by default.
///
/// Those of known controllers come from a table; others are determined in a run (`ObservedQuirk`).
public struct ControllerWorkarounds: Sendable, Hashable {
    /// Opcodes of supported commands that are not sent by the host itself, because the controller rejects them or does not respond.
    public var avoidedCommands: Set<UInt16> = []

    // Advertising, scanning, connecting
    /// LE_Set_Extended_Scan_Parameters or LE_Set_Extended_Scan_Enable is reported as supported but rejected. Legacy commands are used for
    /// everything, since the families must not be mixed. Core Vol 4, Part E, 3.1.1.
    public var avoidsExtendedScan = false
    /// LE_Extended_Create_Connection is reported as supported but rejected.
    public var avoidsExtendedConnect = false
    /// The advertising set commands are reported as supported but rejected.
    public var avoidsExtendedAdvertising = false
    /// LE Coded is reported as supported, but yields no reports or connections besides another PHY.
    public var avoidsCodedPHY = false
    /// Inquiry and LE scan exclude each other: scanning pauses during an inquiry.
    public var avoidsInquiryWhileScanning = false
    /// With duplicate filtering, changed data of an advertiser is never reported; the host filters duplicates itself.
    public var filtersDuplicatesByAddress = false

    // Commands and events
    /// A vendor command is answered by a vendor event only, which replaces Command Complete.
    public var answersVendorCommandsByEvent = false
    /// Accepts as many commands at once as Num_HCI_Command_Packets allows; otherwise commands are sent one at a time, which all controllers
    /// support.
    public var takesCommandsAhead = false

    // Links
    /// Voice buffers to use instead of the wrong values of HCI_Read_Buffer_Size.
    public var voiceBuffers: VoiceBuffers?

    // Identity
    /// The public address is a default or shared by a batch: a static address is used instead.
    public var hasSharedAddress = false
    /// Receives nothing until firmware is loaded; the host reports this at its start.
    public var isROMOnly = false
    /// As `isROMOnly`, but only if the public address is zero: the manufacturer's driver would set one.
    public var isROMOnlyWithoutAddress = false

    public struct VoiceBuffers: Sendable, Hashable {
        public var octets: Int
        public var packets: Int

        public init(octets: Int, packets: Int) { (self.octets, self.packets) = (octets, packets) }
    }

    public init() {}

    public var mayLackFirmware: Bool { isROMOnly || isROMOnlyWithoutAddress }

    /// True if a controller with this public address receives nothing because its firmware is missing. An unknown address is nil.
    public func lacksFirmware(address: BDADDR?) -> Bool { isROMOnly || isROMOnlyWithoutAddress && address == 0 }

    /// True if legacy commands are used although extended ones are reported as supported.
    public var avoidsExtendedCommands: Bool { avoidsExtendedScan || avoidsExtendedConnect || avoidsExtendedAdvertising }
}

extension ControllerWorkarounds {
    /// Boolean workarounds that a table sets by name.
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

    /// Sets a workaround by name; false if the name is unknown.
    public mutating func set(_ name: String, to isOn: Bool = true) -> Bool {
        guard let path = Self.names[name] else { return false }
        self[keyPath: path] = isOn
        return true
    }

    /// Names of the workarounds that differ from the default, in order.
    public var namesInUse: [String] {
        let defaults = ControllerWorkarounds()
        return Self.names.filter { self[keyPath: $0.value] != defaults[keyPath: $0.value] }.keys.sorted()
    }
}
