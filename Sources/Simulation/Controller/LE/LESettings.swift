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
    var resolvingList: ResolvingList
    var links = LinkDefaults()
    /// LE_Set_Host_Channel_Classification: the channels that are not known to be bad.
    var channelMap = ChannelMap.all.bits
    var legacySet = AdvertisingSet(handle: 0xFF, did: 0)
    var sets: [AdvertisingSet] = []
    var scan = ScanRequest()

    /// The scan parameters as the host set them.
    struct ScanRequest {
        var windows = [ScanWindows(phy: .le1M, interval: .milliseconds(10), window: .milliseconds(10))]
        var activePHYs: Set<PHY> = []
        var ownAddressKind = DeviceAddress.Kind.public
        var filtersByList = false
        var passesResolvableTargets = false
    }

    init(_ configuration: ControllerConfiguration) {
        acceptList = FilterAcceptList(capacity: configuration.acceptListSize)
        resolvingList = ResolvingList(capacity: configuration.resolvingListSize)
    }

    /// Takes over what a faulty reset leaves as it was.
    mutating func keep(_ kept: ResetKeeps, of old: LESettings) {
        if kept.contains(.filterAcceptList) { acceptList = old.acceptList }
        if kept.contains(.randomAddress) { randomAddress = old.randomAddress }
        if kept.contains(.suggestedDataLength) {
            links.suggestedTxOctets = old.links.suggestedTxOctets
            links.suggestedTxTime = old.links.suggestedTxTime
        }
        if kept.contains(.advertisingSets) { sets = old.sets }
    }
}
