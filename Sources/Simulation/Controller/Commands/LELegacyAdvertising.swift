import Packets

/// Advertising with the commands of Bluetooth 4. Core Vol 4, Part E, 7.8.5 to 7.8.9.
extension CommandTable {
    mutating func addLELegacyAdvertising() {
        perform(HCICommands.LESetAdvertisingParameters.self, 25, 5) { (controller, command) throws(CommandFailure) in
            try controller.use(.legacy)
            try controller.setLegacyParameters(command)
        }
        complete(HCICommands.LEReadAdvertisingPhysicalChannelTxPower.self, 25, 6, failing: .init()) {
            (controller, _) throws(CommandFailure) in
            try controller.check(.legacy)
            return .init(status: .success, txPowerLevel: TransmitPower.preferred)
        }
        perform(HCICommands.LESetAdvertisingData.self, 25, 7) { (controller, command) throws(CommandFailure) in
            try controller.use(.legacy)
            try Check.that(command.advertisingDataLength <= 31)
            controller.settings.legacySet.advertisingData.replace(Array(command.advertisingData.prefix(Int(command.advertisingDataLength))))
            controller.refreshAdvertiser(of: controller.settings.legacySet)
        }
        perform(HCICommands.LESetScanResponseData.self, 26, 0) { (controller, command) throws(CommandFailure) in
            try controller.use(.legacy)
            try Check.that(command.scanResponseDataLength <= 31)
            controller.settings.legacySet.scanResponse.replace(Array(command.scanResponseData.prefix(Int(command.scanResponseDataLength))))
            controller.refreshAdvertiser(of: controller.settings.legacySet)
        }
        perform(HCICommands.LESetAdvertisingEnable.self, 26, 1) { (controller, command) throws(CommandFailure) in
            try controller.use(.legacy)
            if try Check.flag(command.advertisingEnable) {
                try controller.enableLegacyAdvertising()
            } else {
                controller.stopAdvertising(0xFF)
            }
        }
    }
}

extension Controller {
    fileprivate func setLegacyParameters(_ command: HCICommands.LESetAdvertisingParameters) throws(CommandFailure) {
        try Check.that(advertiser(0xFF) == nil, else: .disallowed)
        try Check.that(command.advertisingType.rawValue <= 4 && command.advertisingFilterPolicy.rawValue <= 3)
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
        parameters.interval = Microseconds(Int(command.advertisingIntervalMin) * 625)
        parameters.channels = try Check.channels(command.advertisingChannelMap)
        parameters.ownAddressKind = try Check.ownAddressKind(command.ownAddressType)
        parameters.peer = try Check.peerAddress(command.peerAddressType, command.peerAddress)
        parameters.filtersScanRequests = command.advertisingFilterPolicy.rawValue & 1 != 0
        parameters.filtersConnectRequests = command.advertisingFilterPolicy.rawValue & 2 != 0
        settings.legacySet.parameters = parameters
    }

    /// High duty cycle directed advertising ends by itself after 1.28 s. Core Vol 6, Part B, 4.4.2.4.2.
    fileprivate func enableLegacyAdvertising() throws(CommandFailure) {
        guard advertiser(0xFF) == nil else { return }
        let set = settings.legacySet
        try checkRoom(for: set)
        let address = try ownAddress(set.parameters.ownAddressKind)
        start(set, as: address, duration: set.parameters.properties.highDuty ? .milliseconds(1_280) : .zero, maxEvents: 0)
    }

    func advertiser(_ handle: UInt8) -> Advertiser? { advertisers.first { $0.set.handle == handle } }

    func stopAdvertising(_ handle: UInt8) {
        guard let index = advertisers.firstIndex(where: { $0.set.handle == handle }) else { return }
        advertisers.remove(at: index).stop()
    }

    /// New data is used from the next advertising event on.
    func refreshAdvertiser(of set: AdvertisingSet) { advertiser(set.handle)?.set = set }

    func checkRoom(for set: AdvertisingSet) throws(CommandFailure) {
        guard set.parameters.properties.connectable else { return }
        try Check.that(links.count < configuration.maxConnections, else: .connectionLimitExceeded)
    }

    func start(_ set: AdvertisingSet, as address: DeviceAddress, duration: Microseconds, maxEvents: UInt8) {
        stopAdvertising(set.handle)
        let advertiser = Advertiser(
            set, ownAddress: address, isExtendedCommand: set.handle != 0xFF, duration: duration, maxEvents: maxEvents, radio: radio,
            quirks: configuration.quirks, random: makeRandomSource(), delegate: self)
        advertisers.append(advertiser)
        advertiser.start()
    }
}
