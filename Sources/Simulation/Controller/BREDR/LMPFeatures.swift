import BBPackets

/// LMP features page 0 that the simulation implements. Core Vol 2, Part C, 3.3.
struct LMPFeatures: OptionSet {
    var rawValue: UInt64

    static let threeSlotPackets = LMPFeatures(rawValue: 1 << 0)
    static let fiveSlotPackets = LMPFeatures(rawValue: 1 << 1)
    static let encryption = LMPFeatures(rawValue: 1 << 2)
    static let slotOffset = LMPFeatures(rawValue: 1 << 3)
    static let timingAccuracy = LMPFeatures(rawValue: 1 << 4)
    static let roleSwitch = LMPFeatures(rawValue: 1 << 5)
    static let sniff = LMPFeatures(rawValue: 1 << 7)
    static let sco = LMPFeatures(rawValue: 1 << 11)
    static let hv2 = LMPFeatures(rawValue: 1 << 12)
    static let hv3 = LMPFeatures(rawValue: 1 << 13)
    static let muLaw = LMPFeatures(rawValue: 1 << 14)
    static let aLaw = LMPFeatures(rawValue: 1 << 15)
    static let cvsd = LMPFeatures(rawValue: 1 << 16)
    static let transparentSynchronous = LMPFeatures(rawValue: 1 << 19)
    static let enhancedRate2M = LMPFeatures(rawValue: 1 << 25)
    static let enhancedRate3M = LMPFeatures(rawValue: 1 << 26)
    static let enhancedInquiryScan = LMPFeatures(rawValue: 1 << 27)
    static let interlacedInquiryScan = LMPFeatures(rawValue: 1 << 28)
    static let interlacedPageScan = LMPFeatures(rawValue: 1 << 29)
    static let rssiWithInquiryResults = LMPFeatures(rawValue: 1 << 30)
    static let extendedSCO = LMPFeatures(rawValue: 1 << 31)
    static let ev4 = LMPFeatures(rawValue: 1 << 32)
    static let ev5 = LMPFeatures(rawValue: 1 << 33)
    static let adaptiveHoppingPeripheral = LMPFeatures(rawValue: 1 << 35)
    static let bredrNotSupported = LMPFeatures(rawValue: 1 << 37)
    static let leSupportedController = LMPFeatures(rawValue: 1 << 38)
    static let threeSlotEnhancedRate = LMPFeatures(rawValue: 1 << 39)
    static let fiveSlotEnhancedRate = LMPFeatures(rawValue: 1 << 40)
    static let pauseEncryption = LMPFeatures(rawValue: 1 << 42)
    static let adaptiveHoppingCentral = LMPFeatures(rawValue: 1 << 43)
    static let enhancedRateSCO2M = LMPFeatures(rawValue: 1 << 45)
    static let enhancedRateSCO3M = LMPFeatures(rawValue: 1 << 46)
    static let threeSlotEnhancedRateSCO = LMPFeatures(rawValue: 1 << 47)
    static let extendedInquiryResponse = LMPFeatures(rawValue: 1 << 48)
    static let simultaneousLEAndBREDR = LMPFeatures(rawValue: 1 << 49)
    static let simplePairing = LMPFeatures(rawValue: 1 << 51)
    static let encapsulatedPDU = LMPFeatures(rawValue: 1 << 52)
    static let variableInquiryTXPowerLevel = LMPFeatures(rawValue: 1 << 57)
    static let extendedPages = LMPFeatures(rawValue: 1 << 63)

    /// Features that synchronous connections need.
    static let synchronous: LMPFeatures = [
        .sco, .hv2, .hv3, .muLaw, .aLaw, .cvsd, .transparentSynchronous, .extendedSCO, .ev4, .ev5, .enhancedRateSCO2M, .enhancedRateSCO3M,
        .threeSlotEnhancedRateSCO,
    ]
    static let le: LMPFeatures = [.bredrNotSupported, .leSupportedController]
    static let dual = synchronous.union([
        .threeSlotPackets, .fiveSlotPackets, .enhancedRate2M, .enhancedRate3M, .threeSlotEnhancedRate, .fiveSlotEnhancedRate,
        .encryption, .slotOffset, .sniff, .timingAccuracy, .roleSwitch, .pauseEncryption, .simplePairing, .encapsulatedPDU,
        .adaptiveHoppingPeripheral, .adaptiveHoppingCentral, .enhancedInquiryScan, .interlacedInquiryScan, .interlacedPageScan,
        .rssiWithInquiryResults, .leSupportedController, .extendedInquiryResponse, .simultaneousLEAndBREDR, .variableInquiryTXPowerLevel,
        .extendedPages,
    ])
}

extension Controller {
    /// Host support features that the host has enabled.
    private var hostFeatures: LMPHostFeatures {
        var features: LMPHostFeatures = []
        if bredr.settings.security.usesSimplePairing { features.insert(.simplePairing) }
        if bredr.settings.isLESupportedByHost { features.insert(.leSupported) }
        if bredr.settings.security.usesSecureConnections { features.insert(.secureConnections) }
        return features
    }

    /// An LMP feature page; page 1 contains the host features. Nil for a page that does not exist.
    func lmpFeatures(page: UInt8) -> UInt64? {
        switch (configuration.profile, page) {
        case (.le, 0): LMPFeatures.le.rawValue
        case (.dual, 0): LMPFeatures.dual.rawValue & ~configuration.choices.withoutLMPFeatures
        case (.dual, 1): hostFeatures.rawValue
        case (.dual, 2): LMPFeaturesPage2.ping.union(configuration.choices.lacksSecureConnections ? [] : .secureConnections).rawValue
        case (.le, _), (.dual, _): nil
        }
    }
}
