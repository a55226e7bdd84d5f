import Packets

/// What a virtual controller is and is able to do.
public struct ControllerConfiguration: Sendable {
    public enum Profile: Sendable {
        case le
    }

    /// When a connection event takes one more exchange. Each rule lets one start only if it ends by the next anchor point.
    public enum EventFilling: Sendable {
        /// Judged on the lengths both sides are about to send.
        case actual
        /// Judged on the longest reply the other side may send.
        case reserveMax
    }

    public var address = DeviceAddress(value: 0)
    public var profile = Profile.le
    /// As in the assigned numbers; 0x0D is Core 5.4.
    public var version: UInt8 = 0x0D
    public var subversion: UInt16 = 0x0001
    public var companyIdentifier: UInt16 = 0xFFFF
    /// LE features as in Core Vol 6, Part B, 4.6.
    public var features: LEFeatureSet = .all
    /// ACL buffers towards the host's data. Core Vol 4, Part E, 7.8.2.
    public var aclLength: UInt16 = 251
    public var aclCount: UInt8 = 8
    public var maxAdvertisingSets = 3
    public var maxAdvertisingDataLength = 1650
    public var acceptListSize = 8
    public var resolvingListSize = 8
    /// How many commands the host may have under way, Num_HCI_Command_Packets.
    public var commandPackets: UInt8 = 1
    /// How long each command takes until it is answered.
    public var commandLatency: Microseconds = .zero
    public var maxConnections = 8
    /// The longest LL payload it sends and receives, 27...251 octets.
    public var maxOctets: UInt16 = 251
    public var eventFilling = EventFilling.actual
    /// No more exchanges in one connection event than this.
    public var maxExchangesPerEvent: Int?
    /// What it transmits with on LE Coded when the host has no preference.
    public var prefersS2 = false
    /// How fast its sleep clock runs, in parts per million.
    public var clockDrift = 0
    /// The accuracy it claims for that clock, in parts per million.
    public var clockAccuracy = 50
    public var quirks = ControllerQuirks()

    public init(address: DeviceAddress) { self.address = address }
}

/// LE features by bit number. Core Vol 6, Part B, 4.6.
public struct LEFeatureSet: OptionSet, Sendable, Hashable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let encryption = LEFeatureSet(rawValue: 1 << 0)
    public static let connectionParametersRequest = LEFeatureSet(rawValue: 1 << 1)
    public static let extendedReject = LEFeatureSet(rawValue: 1 << 2)
    public static let peripheralInitiatedFeatures = LEFeatureSet(rawValue: 1 << 3)
    public static let ping = LEFeatureSet(rawValue: 1 << 4)
    public static let dataLengthExtension = LEFeatureSet(rawValue: 1 << 5)
    public static let privacy = LEFeatureSet(rawValue: 1 << 6)
    public static let extendedScannerFilterPolicies = LEFeatureSet(rawValue: 1 << 7)
    public static let le2M = LEFeatureSet(rawValue: 1 << 8)
    public static let leCoded = LEFeatureSet(rawValue: 1 << 11)
    public static let extendedAdvertising = LEFeatureSet(rawValue: 1 << 12)
    public static let channelSelectionAlgorithm2 = LEFeatureSet(rawValue: 1 << 14)

    /// What the simulation implements.
    public static let all: LEFeatureSet = [
        .connectionParametersRequest, .extendedReject, .peripheralInitiatedFeatures, .ping, .dataLengthExtension, .le2M, .leCoded,
        .extendedAdvertising, .channelSelectionAlgorithm2,
    ]
}
