import BBPackets

/// Advertising set commands. Core Vol 4, Part E, 7.8.52 to 7.8.60.
extension LEController {
    static func extendedAdvertisingCommands(_ rows: inout CommandRows<LEController>) {
        rows.perform(HCICommands.LESetAdvertisingSetRandomAddress.self, within(.extended) { try $0.execute($1) })
        rows.complete(HCICommands.LEReadMaximumAdvertisingDataLength.self, within(.extended, readsOnly: true) { try $0.execute($1) })
        rows.complete(HCICommands.LEReadNumberOfSupportedAdvertisingSets.self, within(.extended, readsOnly: true) { try $0.execute($1) })
        rows.perform(HCICommands.LERemoveAdvertisingSet.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LEClearAdvertisingSets.self, within(.extended) { try $0.execute($1) })
        rows.complete(HCICommands.LESetExtendedAdvertisingParameters.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LESetExtendedAdvertisingData.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LESetExtendedScanResponseData.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LESetExtendedAdvertisingEnable.self, within(.extended) { try $0.execute($1) })
    }

    func execute(_ command: HCICommands.LESetAdvertisingSetRandomAddress) throws(CommandRefusal) {
        let index = try indexOfSet(command.advertisingHandle)
        let isInUse =
            settings.sets[index].parameters.properties.connectable && advertiser(command.advertisingHandle) != nil
        try Check.that(!isInUse, else: .disallowed)
        settings.sets[index].randomAddress = DeviceAddress(command.randomAddress, kind: .random)
    }

    func execute(_ command: HCICommands.LEReadMaximumAdvertisingDataLength) throws(CommandRefusal)
        -> HCICommands.LEReadMaximumAdvertisingDataLength.Return
    {
        return .init(status: .success, maxAdvertisingDataLength: UInt16(clamping: configuration.maxAdvertisingDataLength))
    }

    func execute(_ command: HCICommands.LEReadNumberOfSupportedAdvertisingSets) throws(CommandRefusal)
        -> HCICommands.LEReadNumberOfSupportedAdvertisingSets.Return
    {
        return .init(status: .success, numSupportedAdvertisingSets: UInt8(clamping: configuration.maxAdvertisingSets))
    }

    func execute(_ command: HCICommands.LERemoveAdvertisingSet) throws(CommandRefusal) {
        let index = try indexOfSet(command.advertisingHandle)
        let isInUse = advertiser(command.advertisingHandle) != nil || settings.sets[index].periodic?.isEnabled == true
        try Check.that(!isInUse, else: .disallowed)
        settings.sets.remove(at: index)
    }

    func execute(_ command: HCICommands.LEClearAdvertisingSets) throws(CommandRefusal) {
        try Check.that(advertisers.isEmpty && !settings.sets.contains { $0.periodic?.isEnabled == true }, else: .disallowed)
        settings.sets.removeAll()
    }

    func execute(_ command: HCICommands.LESetExtendedAdvertisingParameters) throws(CommandRefusal)
        -> HCICommands.LESetExtendedAdvertisingParameters.Return
    {
        return .init(status: .success, selectedTXPower: try setExtendedParameters(command))
    }

    func execute(_ command: HCICommands.LESetExtendedAdvertisingData) throws(CommandRefusal) {
        try setData(command.advertisingHandle, command.operation, command.advertisingData, isScanResponse: false)
    }

    func execute(_ command: HCICommands.LESetExtendedScanResponseData) throws(CommandRefusal) {
        try setData(command.advertisingHandle, command.operation, command.scanResponseData, isScanResponse: true)
    }

    func execute(_ command: HCICommands.LESetExtendedAdvertisingEnable) throws(CommandRefusal) {
        try setEnable(command)
    }
}

extension LEController {
    func indexOfSet(_ handle: UInt8) throws(CommandRefusal) -> Int {
        guard let index = settings.sets.firstIndex(where: { $0.handle == handle }) else { throw .unknownAdvertisingSet }
        return index
    }

    // MARK: Parameters

    /// - Returns: Selected_TX_Power.
    private func setExtendedParameters(_ command: HCICommands.LESetExtendedAdvertisingParameters) throws(CommandRefusal) -> Int8 {
        try Check.that(advertiser(command.advertisingHandle) == nil, else: .disallowed)
        let parameters = try extendedParameters(command)
        if let index = settings.sets.firstIndex(where: { $0.handle == command.advertisingHandle }) {
            var set = settings.sets[index]
            let phy = set.parameters.secondaryPHY
            set.parameters = parameters
            try checkDataFits(set)
            if set.periodic?.isEnabled == true {
                try Check.that(set.maySendPeriodically)
                try Check.that(phy == parameters.secondaryPHY, else: .disallowed)
            }
            settings.sets[index] = set
        } else {
            try Check.that(settings.sets.count < configuration.maxAdvertisingSets, else: .memoryExceeded)
            var set = AdvertisingSet(handle: command.advertisingHandle, did: newDID(besides: nil))
            set.parameters = parameters
            settings.sets.append(set)
        }
        return parameters.txPower
    }

    private func extendedParameters(_ command: HCICommands.LESetExtendedAdvertisingParameters) throws(CommandRefusal)
        -> AdvertisingParameters
    {
        var parameters = AdvertisingParameters()
        parameters.properties = try properties(command.advertisingEventProperties.rawValue)
        let (low, high) = (command.primaryAdvertisingIntervalMin, command.primaryAdvertisingIntervalMax)
        try Check.that(low >= 0x20 && low <= high || parameters.properties.highDuty)
        let isLong = configuration.choices.usesLongestAdvertisingInterval
        let interval = isLong ? command.primaryAdvertisingIntervalMaxMicroseconds : command.primaryAdvertisingIntervalMinMicroseconds
        parameters.interval = max(interval, .milliseconds(20))
        parameters.longestInterval = max(command.primaryAdvertisingIntervalMaxMicroseconds, parameters.interval)
        parameters.channels = command.primaryAdvertisingChannelMap.rawValue
        parameters.own = try ownAddress(command.ownAddressType)
        parameters.peer = DeviceAddress(command.peerAddressType, command.peerAddress)
        parameters.filtersScanRequests = command.advertisingFilterPolicy.rawValue & 1 != 0
        parameters.filtersConnectRequests = command.advertisingFilterPolicy.rawValue & 2 != 0
        parameters.txPower = TransmitPower.select(command.advertisingTXPower)
        parameters.radiatedPower = settings.pathCompensation.radiated(parameters.txPower)
        try setPHYs(&parameters, primary: command.primaryAdvertisingPHY, secondary: command.secondaryAdvertisingPHY)
        parameters.secondaryMaxSkip = command.secondaryAdvertisingMaxSkip
        parameters.sid = command.advertisingSID
        parameters.notifiesScanRequests = command.scanRequestNotificationEnable == 1
        return parameters
    }

    private func setPHYs(_ parameters: inout AdvertisingParameters, primary: UInt8, secondary: UInt8) throws(CommandRefusal) {
        guard let primaryPHY = PHY(rawValue: primary), primaryPHY != .le2M else { throw .invalidParameters }
        try Check.that(configuration.allPHYs & primaryPHY.flag.rawValue != 0, else: .unsupportedValue)
        parameters.primaryPHY = primaryPHY
        if parameters.properties.legacy { return try Check.that(primaryPHY == .le1M) }
        guard let secondaryPHY = PHY(rawValue: secondary) else { throw .invalidParameters }
        try Check.that(configuration.allPHYs & secondaryPHY.flag.rawValue != 0, else: .unsupportedValue)
        parameters.secondaryPHY = secondaryPHY
    }

    /// Checks the combination of event properties. Core Vol 4, Part E, 7.8.53.
    private func properties(_ bits: UInt16) throws(CommandRefusal) -> AdvertisingParameters.Properties {
        // Since Core 6.0, bits 8 and 9 belong to bit 7, which does not go with directed advertising.
        let isOfNoDecision = bits & 0x80 == 0 ? bits & 0x300 != 0 : bits & 0x04 != 0
        try Check.that(configuration.version < CoreVersions.core60 || !isOfNoDecision)
        try Check.that(bits >> 7 == 0, else: .unsupportedValue)
        let properties = AdvertisingParameters.Properties(
            connectable: bits & 0x01 != 0, scannable: bits & 0x02 != 0, directed: bits & 0x04 != 0, highDuty: bits & 0x08 != 0,
            legacy: bits & 0x10 != 0, anonymous: bits & 0x20 != 0, includeTxPower: bits & 0x40 != 0)
        if properties.legacy {
            try Check.that([0x13, 0x15, 0x1D, 0x12, 0x10].contains(bits & 0x3F))
        } else {
            try Check.that(!(properties.connectable && properties.scannable) && !properties.highDuty)
            try Check.that(!properties.anonymous || !(properties.connectable || properties.scannable))
        }
        return properties
    }

    /// Checks that a set's data fits its parameters. Core Vol 4, Part E, 7.8.53.
    private func checkDataFits(_ set: AdvertisingSet) throws(CommandRefusal) {
        let properties = set.parameters.properties
        let longest = max(set.advertisingData.count, set.scanResponse.count)
        if properties.legacy { return try Check.that(longest <= 31) }
        try Check.that(!properties.scannable || set.advertisingData.count == 0)
        // Connectable advertising data must fit into one PDU; other events fit into the longest interval.
        let room = set.auxiliaryHeader(configuration.address).roomForData
        try Check.that(set.mode != .connectable || set.advertisingData.count <= room, else: .packetTooLong)
        try Check.that(set.longestEvent(configuration.address) <= set.parameters.longestInterval, else: .packetTooLong)
    }

    /// A random Advertising DID different from the previous one.
    func newDID(besides old: UInt16?) -> UInt16 {
        var did = UInt16(truncatingIfNeeded: random.next() & 0x0FFF)
        if did == old { did = (did + 1) & 0x0FFF }
        return did
    }

    // MARK: Data

    private func setData(_ handle: UInt8, _ operation: AdvertisingDataOperation, _ fragment: [UInt8], isScanResponse: Bool)
        throws(CommandRefusal)
    {
        let index = try indexOfSet(handle)
        var set = settings.sets[index]
        let isEnabled = advertiser(handle) != nil
        var data = isScanResponse ? set.scanResponse : set.advertisingData
        try checkOperation(operation, fragment, set, data, isEnabled: isEnabled, isScanResponse: isScanResponse)
        switch operation {
        case .unchanged: break
        case .complete: data.replace(fragment)
        case .first: data.first(fragment)
        default: try Check.that(data.append(fragment, isLast: operation == .last))
        }
        set.did = newDID(besides: set.did)
        if isScanResponse { set.scanResponse = data } else { set.advertisingData = data }
        do throws(CommandRefusal) {
            try Check.that(data.count <= configuration.maxAdvertisingDataLength, else: .memoryExceeded)
            try checkDataFits(set)
        } catch {
            if isScanResponse { settings.sets[index].scanResponse.discard() } else { settings.sets[index].advertisingData.discard() }
            throw error
        }
        settings.sets[index] = set
        refreshAdvertiser(of: set)
    }

    private func checkOperation(
        _ operation: AdvertisingDataOperation, _ fragment: [UInt8], _ set: AdvertisingSet, _ data: AdvertisingData, isEnabled: Bool,
        isScanResponse: Bool
    ) throws(CommandRefusal) {
        let properties = set.parameters.properties
        let takesData =
            isScanResponse ? properties.scannable : (properties.legacy ? !properties.directed : !properties.scannable)
        if !takesData { try Check.that(operation == .complete && fragment.isEmpty) }
        if properties.legacy { try Check.that(operation == .complete && fragment.count <= 31) }
        if operation == .unchanged { try Check.that(isEnabled && data.count > 0 && fragment.isEmpty) }
        if operation != .complete, operation != .unchanged {
            try Check.that(!fragment.isEmpty)
            try Check.that(!isEnabled, else: .disallowed)
        }
        if isEnabled, isScanResponse, properties.scannable, !properties.legacy, fragment.isEmpty { throw .disallowed }
    }

    // MARK: Enabling

    private func setEnable(_ command: HCICommands.LESetExtendedAdvertisingEnable) throws(CommandRefusal) {
        let isEnabling = command.enable == 1
        let handles = command.sets.map(\.advertisingHandle)
        try Check.that(Set(handles).count == handles.count)
        if handles.isEmpty {
            try Check.that(!isEnabling)
            return advertising.stopAll()
        }
        var starts: [(AdvertisingSet, DeviceAddress, Microseconds, UInt8)] = []
        for row in command.sets {
            let set = settings.sets[try indexOfSet(row.advertisingHandle)]
            guard isEnabling else { continue }
            starts.append(
                (set, try addressForEnabling(set, row.duration), row.durationMicroseconds, row.maxExtendedAdvertisingEvents)
            )
        }
        if !isEnabling {
            for handle in handles { stopAdvertising(handle) }
        }
        for (set, address, duration, maxEvents) in starts { start(set, as: address, duration: duration, maxEvents: maxEvents) }
    }

    /// Checks that a set can be enabled and returns its own address.
    private func addressForEnabling(_ set: AdvertisingSet, _ duration: UInt16) throws(CommandRefusal) -> DeviceAddress {
        let properties = set.parameters.properties
        try checkNoTest()
        try Check.that(set.advertisingData.isComplete && set.scanResponse.isComplete, else: .disallowed)
        if properties.scannable, !properties.legacy { try Check.that(set.scanResponse.count > 0, else: .disallowed) }
        if properties.highDuty { try Check.that((1...128).contains(duration)) }
        try checkDataFits(set)
        try checkRoom(for: set)
        return try address(set.parameters.own, towards: set.parameters.peer, random: set.randomAddress)
    }
}
