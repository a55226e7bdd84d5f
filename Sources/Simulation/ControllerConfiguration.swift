import BBPackets

/// Identity, capabilities and behaviour of a virtual controller.
public struct ControllerConfiguration: Sendable {
    public enum Profile: Sendable {
        /// LE only.
        case le
        /// LE and BR/EDR: inquiry, paging and connections.
        case dual
    }

    /// Rule for starting another exchange in a connection event. With each rule, an exchange starts only if it ends before the next anchor
    /// point.
    public enum EventFilling: Sendable {
        /// Uses the actual lengths that both devices are about to send.
        case actual
        /// Assumes the longest reply that the peer may send.
        case reserveMax
    }

    public var address = DeviceAddress(value: 0)
    public var profile = Profile.le
    /// LMP/LL version as in the assigned numbers; 0x0D is Core 5.4.
    public var version: UInt8 = 0x0D
    public var subversion: UInt16 = 0x0001
    public var companyIdentifier: UInt16 = 0xFFFF
    /// LE features. Core Vol 6, Part B, 4.6.
    public var features: LEFeatures = .simulated
    /// LE ACL data buffers for host-to-controller data. Core Vol 4, Part E, 7.8.2.
    public var aclLength: UInt16 = 251
    public var aclCount: UInt8 = 8
    /// BR/EDR ACL data buffers for host-to-controller data. Core Vol 4, Part E, 7.4.5.
    public var bredrACLLength: UInt16 = 1_021
    public var bredrACLCount: UInt8 = 8
    /// Synchronous data buffers for host-to-controller data. If the count is 0, a BR/EDR controller has 8 of 64 octets. Core Vol 4, Part E,
    /// 7.4.5.
    public var synchronousLength: UInt8 = 0
    public var synchronousCount: UInt16 = 0
    public var maxAdvertisingSets = 3
    public var maxAdvertisingDataLength = 1650
    public var acceptListSize = 8
    public var resolvingListSize = 8
    public var periodicAdvertiserListSize = 8
    /// Maximum number of syncs with periodic advertising trains.
    public var maxSyncs = 8
    /// Num_HCI_Command_Packets: number of commands that the host may have outstanding.
    public var commandPackets: UInt8 = 1
    /// Range of the random time from a command to its Command Complete or Command Status event.
    public var commandLatency: ClosedRange<Microseconds> = .zero ... .zero
    public var maxConnections = 8
    /// Maximum LL payload sent and received, 27...251 octets.
    public var maxOctets: UInt16 = 251
    public var eventFilling = EventFilling.actual
    /// Maximum number of exchanges in one connection event.
    public var maxExchangesPerEvent: Int?
    /// Uses S=2 coding on LE Coded if the host has no preference.
    public var prefersS2 = false
    /// Actual drift of the sleep clock, in ppm.
    public var clockDrift = 0
    /// Advertised sleep clock accuracy, in ppm.
    public var clockAccuracy = 50
    public var choices = ControllerChoices()
    public var quirks = ControllerQuirks()

    public init(address: DeviceAddress) { self.address = address }

    /// Synchronous data buffers that Read_Buffer_Size returns.
    var voiceBuffers: (length: UInt8, count: UInt16) {
        profile == .dual && synchronousCount == 0 ? (64, 8) : (synchronousLength, synchronousCount)
    }

    /// ACL buffers that Read_Buffer_Size returns: those of BR/EDR, or those of LE if LE shares them or there is no BR/EDR. Core Vol 4, Part
    /// E, 7.4.5.
    var dataBuffers: (length: UInt16, count: UInt8) {
        profile == .dual && !choices.sharesBuffers ? (bredrACLLength, bredrACLCount) : (aclLength, aclCount)
    }
}

extension LEFeatures {
    /// LE features that the simulation implements.
    public static var simulated: LEFeatures {
        [
            .leEncryption, .connectionParametersRequest, .extendedRejectIndication, .peripheralInitiatedFeaturesExchange, .lePing,
            .leDataPacketLengthExtension, .extendedScanningFilterPolicies, .llPrivacy, .le2MPHY, .leCodedPHY, .leExtendedAdvertising,
            .channelSelectionAlgorithm2, .lePeriodicAdvertising,
        ]
    }

    /// Features that are not masked to the peer: privacy, extended filter policies, extended and periodic advertising. Core Vol 6, Part B,
    /// 4.6.
    static let localOnly: LEFeatures = [.llPrivacy, .extendedScanningFilterPolicies, .leExtendedAdvertising, .lePeriodicAdvertising]
}
