import Packets

/// What a host has set for BR/EDR. The initial values are those of the commands' sections, Core Vol 4, Part E, 7.3.
struct BREDRSettings {
    /// Windows in which the controller listens; in slots of 0.625 ms.
    struct ScanActivity: Equatable {
        var interval: UInt16
        var window: UInt16
        var isInterlaced = false
    }

    static let nameLength = 248

    var localName = [UInt8](repeating: 0, count: nameLength)
    var classOfDevice: UInt32 = 0
    var isInquiryScanning = false
    var isPageScanning = false
    var inquiryScan = ScanActivity(interval: 0x1000, window: 0x0012)
    var pageScan = ScanActivity(interval: 0x0800, window: 0x0012)
    var laps = [InquiryLAP.general]
    var inquiryMode = InquiryMode.standard
    var extendedResponse = [UInt8](repeating: 0, count: ExtendedResponse.length)
    var isResponseForwardErrorCorrected = false
    var inquiryPower = TransmitPower.preferred
    var filters = EventFilters()
    var isLESupportedByHost = false
    var security = BREDRSecuritySettings()
    var connectionAcceptTimeout: UInt16 = 0x1F40
    var pageTimeout: UInt16 = 0x2000
    var voiceSetting: UInt16 = 0x0060
    /// Of new links.
    var policy: LinkPolicy = []
    var channels = ChannelSettings()

    /// How inquiry results are told. Core Vol 4, Part E, 7.3.50.
    enum InquiryMode: UInt8 {
        case standard
        case rssi
        case extended
    }

    /// SR of the FHS packet: how long it takes at most until a page is heard. Core Vol 2, Part B, 8.3.1.
    var pageScanRepetition: UInt8 {
        if pageScan.window == pageScan.interval { return 0 }
        return pageScan.interval <= 0x0800 ? 1 : 2
    }
}

/// Link_Policy_Settings: what this side does when the other asks for it. Core Vol 4, Part E, 7.2.9.
struct LinkPolicy: OptionSet {
    var rawValue: UInt16

    static let roleSwitch = LinkPolicy(rawValue: 1 << 0)
    static let hold = LinkPolicy(rawValue: 1 << 1)
    static let sniff = LinkPolicy(rawValue: 1 << 2)
}

/// What a host has said of RF channels. Core Vol 4, Part E, 7.3.46 and 7.3.54.
struct ChannelSettings {
    /// Those that are not known to be bad.
    var classification = AdaptedChannelMap.all
    /// Whether the controller may judge channels by itself; this one sees no need to.
    var isAssessed = true

    /// What hopping is adapted to; nil where every channel is good.
    var adapted: AdaptedChannelMap? { classification == .all ? nil : classification }
}
