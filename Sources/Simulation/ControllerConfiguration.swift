import Packets

/// What a virtual controller is and is able to do.
public struct ControllerConfiguration: Sendable {
    public enum Profile: Sendable {
        /// LE alone.
        case le
        /// LE and BR/EDR: inquiries, pages, and connections with their data.
        case dual
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
    public var features: LEFeatures = .simulated
    /// ACL buffers towards the host's data. Core Vol 4, Part E, 7.8.2.
    public var aclLength: UInt16 = 251
    public var aclCount: UInt8 = 8
    /// Those of links over BR/EDR. Core Vol 4, Part E, 7.4.5.
    public var bredrACLLength: UInt16 = 1_021
    public var bredrACLCount: UInt8 = 8
    /// Buffers for the host's voice; where there are none, a controller with BR/EDR has some nevertheless. Core Vol 4, Part E, 7.4.5.
    public var synchronousLength: UInt8 = 0
    public var synchronousCount: UInt16 = 0
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
    public var choices = ControllerChoices()
    public var quirks = ControllerQuirks()

    public init(address: DeviceAddress) { self.address = address }

    /// The buffers for voice that Read_Buffer_Size tells of.
    var voiceBuffers: (length: UInt8, count: UInt16) {
        profile == .dual && synchronousCount == 0 ? (64, 8) : (synchronousLength, synchronousCount)
    }

    /// What Read_Buffer_Size tells: the buffers of BR/EDR where there is any, else those that LE has. Core Vol 4, Part E, 7.4.5.
    var dataBuffers: (length: UInt16, count: UInt8) {
        profile == .dual && !choices.sharesBuffers ? (bredrACLLength, bredrACLCount) : (aclLength, aclCount)
    }
}

extension LEFeatures {
    /// What the simulation implements.
    public static var simulated: LEFeatures {
        [
            .leEncryption, .connectionParametersRequest, .extendedRejectIndication, .peripheralInitiatedFeaturesExchange, .lePing,
            .leDataPacketLengthExtension, .extendedScanningFilterPolicies, .llPrivacy, .le2MPHY, .leCodedPHY, .leExtendedAdvertising,
            .channelSelectionAlgorithm2,
        ]
    }

    /// Bits that mean nothing to another controller: privacy, extended filter policies, extended and periodic advertising. Core Vol 6, Part B, 4.6.
    static let localOnly: LEFeatures = [.llPrivacy, .extendedScanningFilterPolicies, .leExtendedAdvertising, .lePeriodicAdvertising]
}
