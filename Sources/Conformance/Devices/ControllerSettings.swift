import Packets
import Simulation

/// What case files and mutants may set on a virtual controller, by name.
enum ControllerSettings {
    private typealias Apply = @Sendable (inout ControllerConfiguration, Int) -> Void

    private static let numbers: [String: Apply] = [
        "maxOctets": { $0.maxOctets = UInt16(clamping: $1) },
        "aclLength": { $0.aclLength = UInt16(clamping: $1) },
        "aclCount": { $0.aclCount = UInt8(clamping: $1) },
        "maxAdvertisingSets": { $0.maxAdvertisingSets = $1 },
        "maxAdvertisingDataLength": { $0.maxAdvertisingDataLength = $1 },
        "acceptListSize": { $0.acceptListSize = $1 },
        "maxConnections": { $0.maxConnections = $1 },
        "maxExchangesPerEvent": { $0.maxExchangesPerEvent = $1 },
        "prefersS2": { $0.prefersS2 = $1 != 0 },
        "clockDrift": { $0.clockDrift = $1 },
        "features": { $0.features = LEFeatures(rawValue: UInt64(bitPattern: Int64($1))) },
        "withoutFeatures": { $0.features.subtract(LEFeatures(rawValue: UInt64(bitPattern: Int64($1)))) },
        "version": { $0.version = UInt8(clamping: $1) },
    ]

    private static let quirks: [String: Apply] = [
        "interFrameSpace": { $0.quirks.interFrameSpace = Microseconds($1) },
        "crcOctets": { $0.quirks.crcOctets = $1 },
        "extraExchangesPerEvent": { $0.quirks.extraExchangesPerEvent = $1 },
        "ignoresPeripheralLatency": { $0.quirks.ignoresPeripheralLatency = $1 != 0 },
        "sequenceNumberIsStuck": { $0.quirks.sequenceNumberIsStuck = $1 != 0 },
        "hopOffset": { $0.quirks.hopOffset = UInt8(clamping: $1) },
        "instantOffset": { $0.quirks.instantOffset = $1 },
        "neverRetransmits": { $0.quirks.neverRetransmits = $1 != 0 },
        "ignoresSupervisionTimeout": { $0.quirks.ignoresSupervisionTimeout = $1 != 0 },
        "phyAnswer": { $0.quirks.phyAnswer = PHYs(rawValue: UInt8(clamping: $1)) },
        "hasNoAdvertisingDelay": { $0.quirks.hasNoAdvertisingDelay = $1 != 0 },
        "resetKeeps": { $0.quirks.resetKeeps = ResetKeeps(rawValue: $1) },
        "clockAccuracy": { $0.clockAccuracy = $1 },
        "dataLengthAnswer": { $0.quirks.dataLengthAnswer = UInt16(clamping: $1) },
    ]

    /// The numbers that each setting takes: what its field holds, and no more than a simulation can bear.
    static let limits: [String: ClosedRange<Int>] = {
        let masks = ["features", "withoutFeatures"]
        let signed = ["clockDrift", "crcOctets", "extraExchangesPerEvent", "instantOffset"]
        var limits: [String: ClosedRange<Int>] = [:]
        for name in Array(numbers.keys) + Array(quirks.keys) {
            limits[name] = masks.contains(name) ? 0...Int.max : signed.contains(name) ? -500...500 : 0...65_535
        }
        return limits
    }()

    /// False when the setting is not known or its value is not a number.
    static func apply(_ setting: ControllerSetting, to configuration: inout ControllerConfiguration) -> Bool {
        guard let number = setting.value.asNumber, let apply = numbers[setting.name] ?? quirks[setting.name] else { return false }
        apply(&configuration, number)
        return true
    }
}
