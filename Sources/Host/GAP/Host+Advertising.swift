import BluetoothCrypto
import HCI
import Packets
import Timing

/// Advertising parameters and data. Core Vol 4, Part E, 7.8.5 and 7.8.53.
public struct AdvertisingSettings: Sendable, Hashable {
    /// Advertising set, 0...0xEF; legacy commands have only one.
    public var handle: UInt8 = 0
    public var properties: AdvertisingEventProperties = [.legacy, .connectable, .scannable]
    /// N x 0.625 ms.
    public var intervalMin: UInt32 = 0x00A0
    /// N x 0.625 ms.
    public var intervalMax: UInt32 = 0x00A0
    public var channels: AdvertisingChannels = [.channel37, .channel38, .channel39]
    /// Nil for the type of the host's address.
    public var ownAddressType: OwnAddressType?
    /// Random address of this set (extended) or of the device (legacy); nil for the host's address, if it is random.
    public var randomAddress: DeviceAddress?
    /// Target of directed advertising.
    public var peer: DeviceAddress?
    public var filterPolicy: AdvertisingFilterPolicy = .all
    /// dBm; 127: no preference.
    public var txPower: Int8 = 127
    public var primaryPHY = PHY.le1M
    public var secondaryPHY = PHY.le1M
    public var maxSkip: UInt8 = 0
    public var sid: UInt8 = 0
    public var notifiesScanRequests = false
    public var data: [UInt8] = []
    public var scanResponse: [UInt8] = []
    /// N x 10 ms; 0: until stopped.
    public var duration: UInt16 = 0
    /// 0: no limit.
    public var maxEvents: UInt8 = 0
    /// Use of the extended commands; nil to use them if the controller supports them.
    public var usesExtendedCommands: Bool?

    public init(data: AdvertisingData = AdvertisingData(), scanResponse: AdvertisingData = AdvertisingData()) {
        self.data = data.octets
        self.scanResponse = scanResponse.octets
    }

    /// Legacy advertising type for the properties; nil if there is none.
    var legacyType: LegacyAdvertisingType? {
        switch properties.subtracting(.legacy) {
        case [.connectable, .scannable]: .advInd
        case [.connectable, .directed, .highDutyCycle]: .advDirectIndHighDuty
        case [.connectable, .directed]: .advDirectIndLowDuty
        case [.scannable]: .advScanInd
        case []: .advNonconnInd
        default: nil
        }
    }
}

/// An enabled advertising set, or one that has ended.
public final class AdvertisingSet {
    public let handle: UInt8
    public internal(set) var isRunning = true
    /// Transmit power selected by the controller in dBm; 127 unless extended.
    public internal(set) var selectedTxPower: Int8 = 127
    let isExtended: Bool
    let settings: AdvertisingSettings
    /// The set uses the host's private address.
    let isPrivate: Bool
    /// The address in its packets, if known to the host.
    var ownAddress: DeviceAddress?
    private unowned let host: Host
    let end: Promise<HCIEvents.LEAdvertisingSetTerminated>

    init(host: Host, settings: AdvertisingSettings, isExtended: Bool, isPrivate: Bool, ownAddress: DeviceAddress?) {
        self.host = host
        self.settings = settings
        self.isPrivate = isPrivate
        handle = settings.handle
        self.isExtended = isExtended
        self.ownAddress = ownAddress
        end = Promise(on: host.loop)
    }

    public func stop() async throws { try await host.stop(self) }
    /// Replaces the advertising data of the running set.
    public func setData(_ data: [UInt8]) async throws { try await host.setData(data, of: self) }

    /// Waits for LE_Advertising_Set_Terminated: a connection, or the duration or event limit.
    public func terminated(within limit: Microseconds) async throws -> HCIEvents.LEAdvertisingSetTerminated {
        do {
            return try await end.value(until: host.loop.now + limit)
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.event(HCIEvents.LEAdvertisingSetTerminated.name)))
        }
    }
}

extension Host {
    /// Data octets per extended data command.
    private static var fragmentLength: Int { 251 }

    /// Configures and enables advertising.
    ///
    /// - Throws: `HostError.misuse(.tooLong)` if the data does not fit, `.misuse(.unsupported)`, `.peer(.rejected)`.
    public func advertise(_ settings: AdvertisingSettings) async throws -> AdvertisingSet {
        guard isStarted else { throw failure ?? HostError.misuse(.notStarted) }
        let needsExtended = !settings.properties.contains(.legacy) || settings.legacyType == nil
        return try await withFamily(settings.usesExtendedCommands, needsExtended: needsExtended) { isExtended in
            if isExtended, settings.usesExtendedCommands == nil { try await checkAdvertisingSets() }
            return try await advertise(settings, isExtended: isExtended)
        }
    }

    private func advertise(_ settings: AdvertisingSettings, isExtended: Bool) async throws -> AdvertisingSet {
        let limit = isExtended && !settings.properties.contains(.legacy) ? try await maximumAdvertisingDataLength() : 31
        let longest = max(settings.data.count, settings.scanResponse.count)
        guard longest <= limit else { throw HostError.misuse(.tooLong(octets: longest, limit: limit)) }
        let type = settings.ownAddressType ?? ownAddressType
        var settings = settings
        let isPrivate = privacy != nil && settings.ownAddressType == nil && settings.randomAddress == nil
        if isExtended, settings.ownAddressType == nil, type == .randomDevice {
            settings.randomAddress = settings.randomAddress ?? privateAddress ?? address
        }
        let random = settings.randomAddress ?? (isExtended ? nil : randomAddress)
        let set = AdvertisingSet(
            host: self, settings: settings, isExtended: isExtended, isPrivate: isPrivate, ownAddress: ownAddress(type, random: random))
        if isExtended { try await prepareExtended(set, settings, type) } else { try await prepareLegacy(settings, type) }
        try await enable(set, true)
        advertisingSets[settings.handle] = set
        return set
    }

    private func prepareLegacy(_ settings: AdvertisingSettings, _ ownAddressType: OwnAddressType) async throws {
        guard let type = settings.legacyType else { throw HostError.misuse(.unsupported(.extendedAdvertising)) }
        if let address = settings.randomAddress { try await setRandomAddress(address) }
        try await send(
            HCICommands.LESetAdvertisingParameters(
                advertisingIntervalMin: UInt16(clamping: settings.intervalMin),
                advertisingIntervalMax: UInt16(clamping: settings.intervalMax),
                advertisingType: type, ownAddressType: ownAddressType,
                peerAddressType: AddressType(rawValue: settings.peer?.kind.rawValue ?? 0), peerAddress: BDADDR(settings.peer?.value ?? 0),
                advertisingChannelMap: settings.channels, advertisingFilterPolicy: settings.filterPolicy))
        if !settings.properties.contains(.directed) {
            try await send(
                HCICommands.LESetAdvertisingData(advertisingDataLength: UInt8(settings.data.count), advertisingData: settings.data))
            if settings.properties.contains(.scannable) {
                try await send(
                    HCICommands.LESetScanResponseData(
                        scanResponseDataLength: UInt8(settings.scanResponse.count), scanResponseData: settings.scanResponse))
            }
        }
    }

    /// Enables or disables the set in the controller; it remains the host's set.
    func enable(_ set: AdvertisingSet, _ isOn: Bool) async throws {
        guard set.isExtended else {
            try await send(HCICommands.LESetAdvertisingEnable(advertisingEnable: isOn ? 1 : 0))
            return
        }
        let settings = set.settings
        try await send(
            HCICommands.LESetExtendedAdvertisingEnable(
                enable: isOn ? 1 : 0,
                sets: [
                    .init(
                        advertisingHandle: set.handle, duration: isOn ? settings.duration : 0,
                        maxExtendedAdvertisingEvents: isOn ? settings.maxEvents : 0)
                ]))
    }

    private func prepareExtended(_ set: AdvertisingSet, _ settings: AdvertisingSettings, _ ownAddressType: OwnAddressType) async throws {
        let chosen = try await send(
            HCICommands.LESetExtendedAdvertisingParameters(
                advertisingHandle: settings.handle, advertisingEventProperties: settings.properties,
                primaryAdvertisingIntervalMin: settings.intervalMin, primaryAdvertisingIntervalMax: settings.intervalMax,
                primaryAdvertisingChannelMap: settings.channels, ownAddressType: ownAddressType,
                peerAddressType: AddressType(rawValue: settings.peer?.kind.rawValue ?? 0), peerAddress: BDADDR(settings.peer?.value ?? 0),
                advertisingFilterPolicy: settings.filterPolicy, advertisingTXPower: settings.txPower,
                primaryAdvertisingPHY: settings.primaryPHY.rawValue, secondaryAdvertisingMaxSkip: settings.maxSkip,
                secondaryAdvertisingPHY: settings.secondaryPHY.rawValue, advertisingSID: settings.sid,
                scanRequestNotificationEnable: settings.notifiesScanRequests ? 1 : 0))
        set.selectedTxPower = chosen.selectedTXPower
        if let address = settings.randomAddress {
            try await send(HCICommands.LESetAdvertisingSetRandomAddress(advertisingHandle: settings.handle, randomAddress: BDADDR(address)))
        }
        let takesData = !settings.properties.contains(.directed) || !settings.properties.contains(.legacy)
        let isLegacy = settings.properties.contains(.legacy)
        if takesData, isLegacy || !settings.properties.contains(.scannable) { try await setData(settings.data, of: set) }
        if settings.properties.contains(.scannable) { try await setScanResponse(settings.scanResponse, of: set) }
    }

    func setData(_ data: [UInt8], of set: AdvertisingSet) async throws {
        guard set.isExtended else {
            guard data.count <= 31 else { throw HostError.misuse(.tooLong(octets: data.count, limit: 31)) }
            try await send(HCICommands.LESetAdvertisingData(advertisingDataLength: UInt8(data.count), advertisingData: data))
            return
        }
        for (operation, part) in Self.fragments(data) {
            try await send(
                HCICommands.LESetExtendedAdvertisingData(
                    advertisingHandle: set.handle, operation: operation, fragmentPreference: 1, advertisingData: part))
        }
    }

    private func setScanResponse(_ data: [UInt8], of set: AdvertisingSet) async throws {
        for (operation, part) in Self.fragments(data) {
            try await send(
                HCICommands.LESetExtendedScanResponseData(
                    advertisingHandle: set.handle, operation: operation, fragmentPreference: 1, scanResponseData: part))
        }
    }

    /// Data split over commands: complete, or first, intermediate and last.
    static func fragments(_ data: [UInt8]) -> [(AdvertisingDataOperation, [UInt8])] {
        guard data.count > fragmentLength else { return [(.complete, data)] }
        let starts = Array(stride(from: 0, to: data.count, by: fragmentLength))
        return starts.map { start in
            let end = min(data.count, start + fragmentLength)
            return (start == 0 ? .first : end == data.count ? .last : .intermediate, [UInt8](data[start..<end]))
        }
    }

    func stop(_ set: AdvertisingSet) async throws {
        guard set.isRunning else { return }
        set.isRunning = false
        if advertisingSets[set.handle] === set { advertisingSets[set.handle] = nil }
        try await enable(set, false)
    }

    /// Sets the random address for random own address types. Core Vol 4, Part E, 7.8.4.
    public func setRandomAddress(_ address: DeviceAddress) async throws {
        try await send(HCICommands.LESetRandomAddress(randomAddress: BDADDR(address)))
        randomAddress = address
    }

    /// A new static random address. Core Vol 6, Part B, 1.3.2.1.
    public func drawStaticAddress() -> DeviceAddress {
        OwnAddress.staticAddress(from: addresses.next())
    }

    /// Own address type for the host's address or private address.
    var ownAddressType: OwnAddressType { address.kind == .public && privacy == nil ? .publicDevice : .randomDevice }

    func advertisingEnded(_ event: HCIEvents.LEAdvertisingSetTerminated) {
        guard let set = advertisingSets.removeValue(forKey: event.advertisingHandle) else { return }
        set.isRunning = false
        if event.status == .success, let own = set.ownAddress, let connection = path.connection(event.connectionHandle) {
            connection.advertised(as: own)
        }
        set.end.fulfil(event)
    }

    /// Address in packets of this host's controller; nil if the controller generates private ones. Core Vol 4, Part E, 7.8.12.
    func ownAddress(_ type: OwnAddressType, random: DeviceAddress?) -> DeviceAddress? {
        switch type {
        case .publicDevice: controller.address
        case .randomDevice: random
        default: nil
        }
    }

    /// The address to which a peer has connected, if only one is advertised; with several, LE_Advertising_Set_Terminated tells which.
    var advertisedAddress: DeviceAddress? {
        let addresses = Set(advertisingSets.values.map(\.ownAddress))
        return addresses.count == 1 ? addresses.first ?? nil : nil
    }

    // MARK: Filter accept list

    /// Sets the filter accept list. Core Vol 4, Part E, 7.8.15 to 7.8.17.
    public func setFilterAcceptList(_ devices: [DeviceAddress]) async throws {
        try await send(HCICommands.LEClearFilterAcceptList())
        for device in devices {
            try await send(
                HCICommands.LEAddDeviceToFilterAcceptList(
                    addressType: AddressType(rawValue: device.kind.rawValue), address: BDADDR(device)))
        }
    }
}
