import BBPackets

/// The host's LE settings, which Reset clears. Core Vol 4, Part E, 7.3.2.
struct LESettings {
    /// The family of advertising and scanning commands in use; the other is disallowed. Core Vol 4, Part E, 3.1.1.
    enum CommandFamily: Equatable {
        case undecided
        case legacy
        case extended
    }

    var family = CommandFamily.undecided
    var randomAddress: DeviceAddress?
    var acceptList: FilterAcceptList
    var resolving: ResolvingList
    /// Gain or loss between radio and antenna.
    var pathCompensation = PathCompensation()
    var links = LinkDefaults()
    /// LE_Set_Host_Channel_Classification: channels that are not known to be bad.
    var channelMap = ChannelMap.all.bits
    var legacySet = AdvertisingSet(handle: 0xFF, did: 0)
    var sets: [AdvertisingSet] = []
    var scan = ScanRequest()
    var periodicAdvertisers: PeriodicAdvertiserList
    /// Pending until a sync is established or fails, or the host cancels it.
    var syncRequest: SyncRequest?

    /// RF path compensation in units of 0.1 dB: positive for gain, negative for loss. Core Vol 4, Part E, 7.8.76.
    struct PathCompensation: Equatable {
        var transmit: Int16 = 0
        var receive: Int16 = 0

        /// Radiated power at the antenna, as sent in packets, for a transmit power of the radio.
        func radiated(_ power: Int8) -> Int8 { Int8(clamping: Int(power) + Int(transmit) / 10) }
        /// RSSI at the antenna, as reported to the host, for the RSSI of the radio; 127 is not available.
        func atAntenna(_ rssi: Int8) -> Int8 { rssi == 127 ? rssi : min(20, Int8(clamping: Int(rssi) - Int(receive) / 10)) }
    }

    /// Scan parameters as set by the host.
    struct ScanRequest {
        var windows = [ScanWindows(phy: .le1M, interval: .milliseconds(10), window: .milliseconds(10))]
        var activePHYs: Set<PHY> = []
        var own = OwnAddress()
        var filtersByList = false
        var passesResolvableTargets = false
    }

    init(_ configuration: ControllerConfiguration) {
        acceptList = FilterAcceptList(capacity: configuration.acceptListSize)
        periodicAdvertisers = PeriodicAdvertiserList(capacity: configuration.periodicAdvertiserListSize)
        resolving = ResolvingList(capacity: configuration.resolvingListSize)
        // The default range of Core 6.1, with which LE_Set_Resolvable_Private_Address_Timeout [v2] came. Core Vol 4, Part E, 7.8.45.
        if configuration.version >= CoreVersions.core61 { resolving.lifetime = .seconds(480) ... .seconds(900) }
        resolving.isBlind = configuration.quirks.resolvesNoAddress
        resolving.usesFirstLocalKey = configuration.quirks.usesFirstLocalKey
    }

    /// Keeps settings that a faulty reset does not clear.
    mutating func keep(_ kept: ResetKeeps, of old: LESettings) {
        if kept.contains(.filterAcceptList) { acceptList = old.acceptList }
        if kept.contains(.resolvingList) { resolving = old.resolving }
        if kept.contains(.randomAddress) { randomAddress = old.randomAddress }
        if kept.contains(.suggestedDataLength) {
            links.suggestedTxOctets = old.links.suggestedTxOctets
            links.suggestedTxTime = old.links.suggestedTxTime
        }
        if kept.contains(.advertisingSets) { sets = old.sets }
        if kept.contains(.channelClassification) { channelMap = old.channelMap }
        if kept.contains(.linkDefaults) { links = old.links }
        if kept.contains(.legacyAdvertising) { legacySet = old.legacySet }
        if kept.contains(.scanParameters) { scan = old.scan }
        if kept.contains(.periodicAdvertisers) { periodicAdvertisers = old.periodicAdvertisers }
        if kept.contains(.syncRequest) { syncRequest = old.syncRequest }
    }
}
