import BBPackets

/// The host's BR/EDR settings. The initial values are those of Core Vol 4, Part E, 7.3.
struct BREDRSettings {
    /// Scan interval and window, in slots of 0.625 ms.
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
    /// 5 s, in slots. Core Vol 4, Part E, 6.7.
    var connectionAcceptTimeout: UInt16 = 0x1F40
    var pageTimeout: UInt16 = 0x2000
    var voiceSetting: UInt16 = 0x0060
    /// Default link policy settings for new links.
    var policy: LinkPolicy = []
    var channels = ChannelSettings()

    /// Event used for inquiry results. Core Vol 4, Part E, 7.3.50.
    enum InquiryMode: UInt8 {
        case standard
        case rssi
        case extended
    }

    /// SR of the FHS packet: the page scan repetition mode, which follows from the page scan interval. Core Vol 2, Part B, 8.3.1.
    var pageScanRepetition: UInt8 {
        if pageScan.window == pageScan.interval { return 0 }
        return pageScan.interval <= 0x0800 ? 1 : 2
    }
}

/// Link_Policy_Settings: requests of the peer that are accepted. Core Vol 4, Part E, 7.2.9.
struct LinkPolicy: OptionSet {
    var rawValue: UInt16

    static let roleSwitch = LinkPolicy(rawValue: 1 << 0)
    static let hold = LinkPolicy(rawValue: 1 << 1)
    static let sniff = LinkPolicy(rawValue: 1 << 2)
}

/// The host's classification of RF channels. Core Vol 4, Part E, 7.3.46 and 7.3.54.
struct ChannelSettings {
    /// Channels that are not known to be bad.
    var classification = AdaptedChannelMap.all
    /// AFH channel assessment mode; this controller does not assess channels itself.
    var isAssessed = true

    /// Channel map for adaptive hopping; nil if no channel is bad.
    var adapted: AdaptedChannelMap? { classification == .all ? nil : classification }
}
