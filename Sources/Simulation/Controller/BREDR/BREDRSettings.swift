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
