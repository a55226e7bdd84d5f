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
    /// Own_Address_Type; nil for the type of the host's address.
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
    public fileprivate(set) var isRunning = true
    /// Transmit power selected by the controller in dBm; 127 unless extended.
    public fileprivate(set) var selectedTxPower: Int8 = 127
    fileprivate let isExtended: Bool
    fileprivate let settings: AdvertisingSettings
    /// The set uses the host's private address.
    fileprivate let isPrivate: Bool
    /// The address in its packets, if known to the host.
    fileprivate(set) var ownAddress: DeviceAddress?
    private unowned let owner: Advertising
    private let loop: RunLoop
    fileprivate let end: Promise<HCIEvents.LEAdvertisingSetTerminated>

    fileprivate init(
        _ owner: Advertising, on loop: RunLoop, _ settings: AdvertisingSettings, isExtended: Bool, isPrivate: Bool,
        ownAddress: DeviceAddress?
    ) {
        (self.owner, self.loop) = (owner, loop)
        self.settings = settings
        self.isPrivate = isPrivate
        handle = settings.handle
        self.isExtended = isExtended
        self.ownAddress = ownAddress
        end = Promise(on: loop)
    }

    public func stop() async throws { try await owner.stop(self) }
    /// Replaces the advertising data of the running set.
    public func setData(_ data: [UInt8]) async throws { try await owner.setData(data, of: self) }

    /// Waits for LE_Advertising_Set_Terminated: a connection, or the duration or event limit.
    public func terminated(within limit: Microseconds) async throws -> HCIEvents.LEAdvertisingSetTerminated {
        do {
            return try await end.value(until: loop.now + limit)
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.event(HCIEvents.LEAdvertisingSetTerminated.name)))
        }
    }
}

/// The advertising sets of a host. Core Vol 3, Part C, 9.2 and 9.3.
final class Advertising {
    /// Data octets per extended data command.
    private static let fragmentLength = 251

    private var sets: [UInt8: AdvertisingSet] = [:]
    private unowned let host: Host

    init(_ host: Host) { self.host = host }

    var isIdle: Bool { sets.isEmpty }
    var isRunning: Bool { sets.values.contains(where: \.isRunning) }

    func start(_ settings: AdvertisingSettings) async throws -> AdvertisingSet {
        try host.setup.check()
        let needsExtended = !settings.properties.contains(.legacy) || settings.legacyType == nil
        return try await host.family.choose(settings.usesExtendedCommands, needsExtended: needsExtended) { isExtended in
            if isExtended, settings.usesExtendedCommands == nil { try await host.family.checkAdvertisingSets() }
            return try await start(settings, isExtended: isExtended)
        }
    }

    private func start(_ settings: AdvertisingSettings, isExtended: Bool) async throws -> AdvertisingSet {
        let limit = isExtended && !settings.properties.contains(.legacy) ? try await host.setup.maximumAdvertisingDataLength() : 31
        let longest = max(settings.data.count, settings.scanResponse.count)
        guard longest <= limit else { throw HostError.misuse(.tooLong(octets: longest, limit: limit)) }
        let type = settings.ownAddressType ?? host.addresses.type
        var settings = settings
        let isPrivate = host.privateAddress != nil && settings.ownAddressType == nil && settings.randomAddress == nil
        if isExtended, settings.ownAddressType == nil, type == .randomDevice {
            settings.randomAddress = settings.randomAddress ?? host.privateAddress ?? host.address
        }
        let random = settings.randomAddress ?? (isExtended ? nil : host.randomAddress)
        let set = AdvertisingSet(
            self, on: host.loop, settings, isExtended: isExtended, isPrivate: isPrivate,
            ownAddress: host.addresses.onAir(type, random: random, of: host.controller))
        if isExtended { try await prepareExtended(set, settings, type) } else { try await prepareLegacy(settings, type) }
        try await enable(set, true)
        sets[settings.handle] = set
        return set
    }

    private func prepareLegacy(_ settings: AdvertisingSettings, _ ownAddressType: OwnAddressType) async throws {
        guard let type = settings.legacyType else { throw HostError.misuse(.unsupported(.extendedAdvertising)) }
        if let address = settings.randomAddress { try await host.addresses.setRandom(address) }
        try await host.send(
            HCICommands.LESetAdvertisingParameters(
                advertisingIntervalMin: UInt16(clamping: settings.intervalMin),
                advertisingIntervalMax: UInt16(clamping: settings.intervalMax),
                advertisingType: type, ownAddressType: ownAddressType,
                peerAddressType: AddressType(rawValue: settings.peer?.kind.rawValue ?? 0), peerAddress: BDADDR(settings.peer?.value ?? 0),
                advertisingChannelMap: settings.channels, advertisingFilterPolicy: settings.filterPolicy))
        if !settings.properties.contains(.directed) {
            try await host.send(
                HCICommands.LESetAdvertisingData(advertisingDataLength: UInt8(settings.data.count), advertisingData: settings.data))
            if settings.properties.contains(.scannable) {
                try await host.send(
                    HCICommands.LESetScanResponseData(
                        scanResponseDataLength: UInt8(settings.scanResponse.count), scanResponseData: settings.scanResponse))
            }
        }
    }

    /// Enables or disables the set in the controller; it remains the host's set.
    private func enable(_ set: AdvertisingSet, _ isOn: Bool) async throws {
        guard set.isExtended else {
            try await host.send(HCICommands.LESetAdvertisingEnable(advertisingEnable: isOn ? 1 : 0))
            return
        }
        let settings = set.settings
        try await host.send(
            HCICommands.LESetExtendedAdvertisingEnable(
                enable: isOn ? 1 : 0,
                sets: [
                    .init(
                        advertisingHandle: set.handle, duration: isOn ? settings.duration : 0,
                        maxExtendedAdvertisingEvents: isOn ? settings.maxEvents : 0)
                ]))
    }

    private func prepareExtended(_ set: AdvertisingSet, _ settings: AdvertisingSettings, _ ownAddressType: OwnAddressType) async throws {
        let chosen = try await host.send(
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
            try await host.send(
                HCICommands.LESetAdvertisingSetRandomAddress(advertisingHandle: settings.handle, randomAddress: BDADDR(address)))
        }
        let takesData = !settings.properties.contains(.directed) || !settings.properties.contains(.legacy)
        let isLegacy = settings.properties.contains(.legacy)
        if takesData, isLegacy || !settings.properties.contains(.scannable) { try await setData(settings.data, of: set) }
        if settings.properties.contains(.scannable) { try await setScanResponse(settings.scanResponse, of: set) }
    }

    func setData(_ data: [UInt8], of set: AdvertisingSet) async throws {
        guard set.isExtended else {
            guard data.count <= 31 else { throw HostError.misuse(.tooLong(octets: data.count, limit: 31)) }
            try await host.send(HCICommands.LESetAdvertisingData(advertisingDataLength: UInt8(data.count), advertisingData: data))
            return
        }
        for (operation, part) in Self.fragments(data) {
            try await host.send(
                HCICommands.LESetExtendedAdvertisingData(
                    advertisingHandle: set.handle, operation: operation, fragmentPreference: 1, advertisingData: part))
        }
    }

    private func setScanResponse(_ data: [UInt8], of set: AdvertisingSet) async throws {
        for (operation, part) in Self.fragments(data) {
            try await host.send(
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
        if sets[set.handle] === set { sets[set.handle] = nil }
        try await enable(set, false)
    }

    func ended(_ event: HCIEvents.LEAdvertisingSetTerminated) {
        guard let set = sets.removeValue(forKey: event.advertisingHandle) else { return }
        set.isRunning = false
        if event.status == .success, let own = set.ownAddress, let connection = host.path.connection(event.connectionHandle) {
            connection.advertised(as: own)
        }
        set.end.fulfil(event)
    }

    /// The address to which a peer has connected, if only one is advertised; with several, LE_Advertising_Set_Terminated tells which.
    var address: DeviceAddress? {
        let addresses = Set(sets.values.map(\.ownAddress))
        return addresses.count == 1 ? addresses.first ?? nil : nil
    }

    // MARK: Events

    /// A connection or a time limit has ended legacy advertising, which has no event of its own.
    func legacyEnded(_ status: ErrorCode) {
        guard let set = sets[0], !set.isExtended else { return }
        set.isRunning = false
        sets[0] = nil
        if status != .success { set.end.fulfil(HCIEvents.LEAdvertisingSetTerminated(status: status)) }
    }

    /// The controller was reset, or the pipe has ended.
    func ended(_ error: HostError) {
        let ended = sets.sorted { $0.key < $1.key }
        sets.removeAll()
        for (_, set) in ended {
            set.isRunning = false
            set.end.fail(error)
        }
    }

    // MARK: Private addresses

    /// Pauses the sets that use the private address; they remain the host's sets.
    func pause() async throws -> [AdvertisingSet] {
        let paused = sets.values.filter { $0.isRunning && $0.isPrivate }.sorted { $0.handle < $1.handle }
        for set in paused { try await enable(set, false) }
        return paused
    }

    /// Resumes paused sets with another address.
    func resume(_ paused: [AdvertisingSet], as address: DeviceAddress) async throws {
        for set in paused where set.isRunning {
            if set.isExtended {
                try await host.send(
                    HCICommands.LESetAdvertisingSetRandomAddress(advertisingHandle: set.handle, randomAddress: BDADDR(address)))
            }
            set.ownAddress = address
            try await enable(set, true)
        }
    }
}

extension Host {
    /// Configures and enables advertising.
    ///
    /// - Throws: `HostError.misuse(.tooLong)` if the data does not fit, `.misuse(.unsupported)`, `.peer(.rejected)`.
    public func advertise(_ settings: AdvertisingSettings) async throws -> AdvertisingSet { try await advertising.start(settings) }
}
