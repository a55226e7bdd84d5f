import Packets

/// What a host has set for LE, and what Reset takes back. Core Vol 4, Part E, 7.3.2.
struct LESettings {
    /// Which family of advertising and scanning commands the host has used; the other is disallowed. Core Vol 4, Part E, 3.1.1.
    enum CommandFamily: Equatable {
        case undecided
        case legacy
        case extended
    }

    var family = CommandFamily.undecided
    var randomAddress: DeviceAddress?
    var acceptList: FilterAcceptList
    var resolving: ResolvingList
    /// What lies between radio and antenna.
    var pathCompensation = PathCompensation()
    var links = LinkDefaults()
    /// LE_Set_Host_Channel_Classification: the channels that are not known to be bad.
    var channelMap = ChannelMap.all.bits
    var legacySet = AdvertisingSet(handle: 0xFF, did: 0)
    var sets: [AdvertisingSet] = []
    var scan = ScanRequest()

    /// Gain, or loss below zero, in tenths of a dB. Core Vol 4, Part E, 7.8.76.
    struct PathCompensation: Equatable {
        var transmit: Int16 = 0
        var receive: Int16 = 0

        /// The power at the antenna, which is what a packet tells, of what the radio sends.
        func radiated(_ power: Int8) -> Int8 { Int8(clamping: Int(power) + Int(transmit) / 10) }
        /// The strength at the antenna, which is what a host is told, of what the radio hears; 127 is none.
        func atAntenna(_ rssi: Int8) -> Int8 { rssi == 127 ? rssi : min(20, Int8(clamping: Int(rssi) - Int(receive) / 10)) }
    }

    /// The scan parameters as the host set them.
    struct ScanRequest {
        var windows = [ScanWindows(phy: .le1M, interval: .milliseconds(10), window: .milliseconds(10))]
        var activePHYs: Set<PHY> = []
        var own = OwnAddress()
        var filtersByList = false
        var passesResolvableTargets = false
    }

    init(_ configuration: ControllerConfiguration) {
        acceptList = FilterAcceptList(capacity: configuration.acceptListSize)
        resolving = ResolvingList(capacity: configuration.resolvingListSize)
        resolving.isBlind = configuration.quirks.resolvesNoAddress
    }

    /// Takes over what a faulty reset leaves as it was.
    mutating func keep(_ kept: ResetKeeps, of old: LESettings) {
        if kept.contains(.filterAcceptList) { acceptList = old.acceptList }
        if kept.contains(.resolvingList) { resolving = old.resolving }
        if kept.contains(.randomAddress) { randomAddress = old.randomAddress }
        if kept.contains(.suggestedDataLength) {
            links.suggestedTxOctets = old.links.suggestedTxOctets
            links.suggestedTxTime = old.links.suggestedTxTime
        }
        if kept.contains(.advertisingSets) { sets = old.sets }
    }
}
