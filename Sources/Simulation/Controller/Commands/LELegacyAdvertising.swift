import BBPackets

/// Legacy advertising commands. Core Vol 4, Part E, 7.8.5 to 7.8.9.
extension LEController {
    static func legacyAdvertisingCommands(_ rows: inout CommandRows<LEController>) {
        rows.perform(HCICommands.LESetAdvertisingParameters.self, within(.legacy) { try $0.execute($1) })
        rows.complete(HCICommands.LEReadAdvertisingPhysicalChannelTxPower.self, within(.legacy, readsOnly: true) { try $0.execute($1) })
        rows.perform(HCICommands.LESetAdvertisingData.self, within(.legacy) { try $0.execute($1) })
        rows.perform(HCICommands.LESetScanResponseData.self, within(.legacy) { try $0.execute($1) })
        rows.perform(HCICommands.LESetAdvertisingEnable.self, within(.legacy) { try $0.execute($1) })
    }

    func execute(_ command: HCICommands.LESetAdvertisingParameters) throws(CommandRefusal) {
        try setLegacyParameters(command)
    }

    func execute(_ command: HCICommands.LEReadAdvertisingPhysicalChannelTxPower) throws(CommandRefusal)
        -> HCICommands.LEReadAdvertisingPhysicalChannelTxPower.Return
    {
        return .init(status: .success, txPowerLevel: TransmitPower.preferred)
    }

    func execute(_ command: HCICommands.LESetAdvertisingData) throws(CommandRefusal) {
        settings.legacySet.advertisingData.replace(Array(command.advertisingData.prefix(Int(command.advertisingDataLength))))
        refreshAdvertiser(of: settings.legacySet)
    }

    func execute(_ command: HCICommands.LESetScanResponseData) throws(CommandRefusal) {
        settings.legacySet.scanResponse.replace(Array(command.scanResponseData.prefix(Int(command.scanResponseDataLength))))
        refreshAdvertiser(of: settings.legacySet)
    }

    func execute(_ command: HCICommands.LESetAdvertisingEnable) throws(CommandRefusal) {
        if command.advertisingEnable == 1 {
            try enableLegacyAdvertising()
        } else {
            stopAdvertising(0xFF)
        }
    }
}

extension LEController {
    private func setLegacyParameters(_ command: HCICommands.LESetAdvertisingParameters) throws(CommandRefusal) {
        try Check.that(advertiser(0xFF) == nil, else: .disallowed)
        let isDirected = command.advertisingType == .advDirectIndHighDuty || command.advertisingType == .advDirectIndLowDuty
        let isHighDuty = command.advertisingType == .advDirectIndHighDuty
        if !isHighDuty {
            let range: ClosedRange<UInt16> = 0x0020...0x4000
            try Check.that(range.contains(command.advertisingIntervalMin) && range.contains(command.advertisingIntervalMax))
            try Check.that(command.advertisingIntervalMin <= command.advertisingIntervalMax)
        }
        var parameters = AdvertisingParameters()
        parameters.properties = AdvertisingParameters.Properties(
            connectable: command.advertisingType == .advInd || isDirected,
            scannable: command.advertisingType == .advInd || command.advertisingType == .advScanInd, directed: isDirected,
            highDuty: isHighDuty)
        let isLong = configuration.choices.usesLongestAdvertisingInterval
        parameters.interval = isLong ? command.advertisingIntervalMaxMicroseconds : command.advertisingIntervalMinMicroseconds
        parameters.channels = command.advertisingChannelMap.rawValue
        parameters.own = try ownAddress(command.ownAddressType)
        parameters.peer = DeviceAddress(command.peerAddressType, command.peerAddress)
        parameters.filtersScanRequests = command.advertisingFilterPolicy.rawValue & 1 != 0
        parameters.filtersConnectRequests = command.advertisingFilterPolicy.rawValue & 2 != 0
        settings.legacySet.parameters = parameters
    }

    /// High duty cycle directed advertising stops after 1.28 s. Core Vol 6, Part B, 4.4.2.4.2.
    private func enableLegacyAdvertising() throws(CommandRefusal) {
        guard advertiser(0xFF) == nil else { return }
        try checkNoTest()
        let set = settings.legacySet
        try checkRoom(for: set)
        let address = try address(set.parameters.own, towards: set.parameters.peer, random: settings.randomAddress)
        start(set, as: address, duration: set.parameters.properties.highDuty ? configuration.choices.highDutyDuration : .zero, maxEvents: 0)
    }

    func advertiser(_ handle: UInt8) -> Advertiser? { advertisers.first { $0.set.handle == handle } }

    func stopAdvertising(_ handle: UInt8) {
        if let advertiser = advertiser(handle) { advertising.stop(advertiser) }
        if configuration.quirks.periodic.contains(.trainEndsWithSet) { stopTrain(handle) }
    }

    /// Gives changed data to the advertiser of a set, which uses it from the next advertising event on.
    func refreshAdvertiser(of set: AdvertisingSet) { advertiser(set.handle)?.set = set }

    func checkRoom(for set: AdvertisingSet) throws(CommandRefusal) {
        guard set.parameters.properties.connectable else { return }
        try Check.that(links.count < configuration.maxConnections, else: .connectionLimitExceeded)
    }

    func start(_ set: AdvertisingSet, as address: DeviceAddress, duration: Microseconds, maxEvents: UInt8) {
        stopAdvertising(set.handle)
        let advertiser = Advertiser(
            set, ownAddress: address, isExtendedCommand: set.handle != 0xFF, duration: duration, maxEvents: maxEvents, radio: radio,
            quirks: configuration.quirks, advertisingDelay: configuration.choices.advertisingDelay, random: makeRandomSource(),
            delegate: self)
        advertising.add(advertiser)
        advertiser.start()
        startTrain(of: set)
    }
}
