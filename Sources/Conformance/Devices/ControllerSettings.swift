import Cases
import Packets
import Simulation

/// The settings of a virtual controller in case files, variants and mutants, by name.
enum ControllerSettings {
    private typealias Apply = @Sendable (inout ControllerConfiguration, Int) -> Void
    private typealias ApplyNames = @Sendable (inout ControllerConfiguration, [String]) -> Void

    /// The abilities of controllers.
    private static let abilities: [String: Apply] = [
        "maxOctets": { $0.maxOctets = UInt16(clamping: $1) },
        "aclLength": { $0.aclLength = UInt16(clamping: $1) },
        "aclCount": { $0.aclCount = UInt8(clamping: $1) },
        "maxAdvertisingSets": { $0.maxAdvertisingSets = $1 },
        "maxAdvertisingDataLength": { $0.maxAdvertisingDataLength = $1 },
        "acceptListSize": { $0.acceptListSize = $1 },
        "resolvingListSize": { $0.resolvingListSize = $1 },
        "maxConnections": { $0.maxConnections = $1 },
        "maxExchangesPerEvent": { $0.maxExchangesPerEvent = $1 },
        "reservesLongestReply": { $0.eventFilling = $1 != 0 ? .reserveMax : .actual },
        "prefersS2": { $0.prefersS2 = $1 != 0 },
        "clockDrift": { $0.clockDrift = $1 },
        "clockAccuracy": { $0.clockAccuracy = $1 },
        "commandPackets": { $0.commandPackets = UInt8(clamping: $1) },
        "commandLatency": { $0.commandLatency = Microseconds($1) },
        "isDualMode": { $0.profile = $1 != 0 ? .dual : .le },
        // BR/EDR has only a public address.
        "withoutPublicAddress": { if $1 != 0 { ($0.address, $0.profile) = (DeviceAddress(value: 0), .le) } },
        "features": { $0.features = LEFeatures(rawValue: UInt64(bitPattern: Int64($1))) },
        "withoutFeatures": { $0.features.subtract(LEFeatures(rawValue: UInt64(bitPattern: Int64($1)))) },
        "version": { $0.limit(to: UInt8(clamping: $1)) },
    ]

    /// Choices that the specification leaves to the controller.
    private static let choices: [String: Apply] = [
        "sendsConnectionCompleteV2": { $0.choices.sendsConnectionCompleteV2 = $1 != 0 },
        "sharesBuffers": { $0.choices.sharesBuffers = $1 != 0 },
        "creditDelay": { $0.choices.creditDelay = Microseconds($1) },
        "creditBatch": { $0.choices.creditBatch = $1 },
        "reportsPerEvent": { $0.choices.reportsPerEvent = $1 },
        "reportDelay": { $0.choices.reportDelay = Microseconds($1) },
        "withholdsRSSI": { $0.choices.withholdsRSSI = $1 != 0 },
        "usedOctets": { $0.choices.usedOctets = UInt16(clamping: $1) },
        "initialOctets": { $0.choices.initialOctets = UInt16(clamping: $1) },
        "channels": { $0.choices.channels = UInt64(bitPattern: Int64($1)) },
        "ignoresHostChannels": { $0.choices.ignoresHostChannels = $1 != 0 },
        "channelMapPeriod": { $0.choices.channelMapPeriod = Microseconds($1) },
        "answeredPHYs": { $0.choices.answeredPHYs = PHYs(rawValue: UInt8(clamping: $1)) },
        "declinesParameters": { $0.choices.declinesParameters = $1 != 0 },
        "listensAtEveryEvent": { $0.choices.listensAtEveryEvent = $1 != 0 },
        "leastAdvertisingDelay": {
            $0.choices.advertisingDelay = min(Int64($1), 10_000)...max(Int64($1), $0.choices.advertisingDelay.upperBound)
        },
        "mostAdvertisingDelay": {
            $0.choices.advertisingDelay = min(Int64($1), $0.choices.advertisingDelay.lowerBound)...min(Int64($1), 10_000)
        },
        "usesShortestInterval": { $0.choices.usesShortestInterval = $1 != 0 },
        "highDutyDuration": { $0.choices.highDutyDuration = Microseconds($1) },
        "looksForRoomFirst": { $0.choices.looksForRoomFirst = $1 != 0 },
        "usesLongestAdvertisingInterval": { $0.choices.usesLongestAdvertisingInterval = $1 != 0 },
        "withoutLMPFeatures": { $0.choices.withoutLMPFeatures = UInt64(bitPattern: Int64($1)) },
        "lacksSecureConnections": { $0.choices.lacksSecureConnections = $1 != 0 },
        "linkManagerDelay": { $0.choices.linkManagerDelay = Microseconds($1) },
        "longestKey": { $0.choices.longestKey = UInt8(clamping: max(1, min(16, $1))) },
        "repeatsStartNumber": { $0.choices.repeatsStartNumber = $1 != 0 },
        "refusesRoleSwitch": { $0.choices.refusesRoleSwitch = $1 != 0 },
        "firstHandle": { $0.choices.firstHandle = UInt16(clamping: min(max($1, 1), 0x0EFF)) },
    ]

    private static let quirks: [String: Apply] = [
        "interFrameSpace": { $0.quirks.interFrameSpace = Microseconds($1) },
        "crcOctets": { $0.quirks.crcOctets = $1 },
        "extraExchangesPerEvent": { $0.quirks.extraExchangesPerEvent = $1 },
        "sequenceNumberIsStuck": { $0.quirks.sequenceNumberIsStuck = $1 != 0 },
        "hopOffset": { $0.quirks.hopOffset = UInt8(clamping: $1) },
        "instantOffset": { $0.quirks.instantOffset = $1 },
        "neverRetransmits": { $0.quirks.neverRetransmits = $1 != 0 },
        "ignoresSupervisionTimeout": { $0.quirks.ignoresSupervisionTimeout = $1 != 0 },
        "phyAnswer": { $0.quirks.phyAnswer = PHYs(rawValue: UInt8(clamping: $1)) },
        "hasNoAdvertisingDelay": { $0.quirks.hasNoAdvertisingDelay = $1 != 0 },
        "varyingRandomBits": { $0.quirks.varyingRandomBits = UInt64(clamping: $1) },
        "creditsAtOnce": { $0.quirks.creditsAtOnce = $1 != 0 },
        "resetKeeps": { $0.quirks.resetKeeps = ResetKeeps(rawValue: $1) },
        "clockAccuracy": { $0.clockAccuracy = $1 },
        "resolvesNoAddress": { $0.quirks.resolvesNoAddress = $1 != 0 },
        "encryptionFaults": { $0.quirks.encryption = EncryptionQuirks(rawValue: $1) },
        "bredrFaults": { $0.quirks.bredr = BREDRQuirks(rawValue: $1) },
        "dataLengthAnswer": { $0.quirks.dataLengthAnswer = UInt16(clamping: $1) },
    ]

    private static let lists: [String: ApplyNames] = [
        "withoutCommands": { $0.choices.withoutCommands.formUnion($1.compactMap(PDUCodec.opcode)) },
        "withoutEvents": { $0.choices.withoutEvents.formUnion($1) },
    ]

    /// Settings that take names of commands or events.
    static let listLayers: [String: Layer] = ["withoutCommands": .hciCommands, "withoutEvents": .hciEvents]

    /// The settings that a conforming controller may have.
    static let legal: Set<String> = Set([abilities.keys, choices.keys].flatMap { $0 }).union(lists.keys)

    /// The range of each setting: the values of its field, limited to what a simulation can handle.
    static let limits: [String: ClosedRange<Int>] = {
        let masks = ["features", "withoutFeatures", "channels", "withoutLMPFeatures"]
        let signed = ["clockDrift", "crcOctets", "extraExchangesPerEvent", "instantOffset"]
        let times = ["commandLatency", "creditDelay", "reportDelay", "channelMapPeriod", "linkManagerDelay", "highDutyDuration"]
        var limits: [String: ClosedRange<Int>] = [:]
        for name in [abilities, choices, quirks].flatMap(\.keys) {
            limits[name] =
                masks.contains(name) ? 0...Int.max : signed.contains(name) ? -500...500 : times.contains(name) ? 0...10_000_000 : 0...65_535
        }
        return limits
    }()

    /// Applies a setting; returns false if it is unknown or its value has the wrong type.
    static func apply(_ setting: ControllerSetting, to configuration: inout ControllerConfiguration) -> Bool {
        if let apply = lists[setting.name], case .list(let names) = setting.value {
            apply(&configuration, names.map(\.description))
            return true
        }
        guard let number = setting.value.asNumber, let apply = abilities[setting.name] ?? choices[setting.name] ?? quirks[setting.name]
        else { return false }
        apply(&configuration, number)
        return true
    }
}
