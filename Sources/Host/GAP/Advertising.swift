import BBBluetoothCrypto
import BBHCI
import BBPackets
import BBTiming

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
    /// Structures that follow the data in encrypted form, with a new randomizer whenever the data or the host's private address changes.
    /// The host does not know when a controller changes an address that it generates.
    public var encrypted: EncryptedAdvertisement?
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
    /// The advertising data without its encrypted part, and that part.
    fileprivate var plain: [UInt8]
    fileprivate var encrypted: EncryptedAdvertisement?
    /// The set uses the host's private address.
    fileprivate let isPrivate: Bool
    /// The address in its packets, if known to the host.
    fileprivate(set) var ownAddress: DeviceAddress?
    unowned let owner: Advertising
    private let loop: RunLoop
    fileprivate let end: Promise<HCIEvents.LEAdvertisingSetTerminated>
    fileprivate let connection: Promise<Connection>

    fileprivate init(
        _ owner: Advertising, on loop: RunLoop, _ settings: AdvertisingSettings, plain: [UInt8], isExtended: Bool, isPrivate: Bool,
        ownAddress: DeviceAddress?
    ) {
        (self.owner, self.loop) = (owner, loop)
        self.settings = settings
        (self.plain, encrypted) = (plain, settings.encrypted)
        self.isPrivate = isPrivate
        handle = settings.handle
        self.isExtended = isExtended
        self.ownAddress = ownAddress
        (end, connection) = (Promise(on: loop), Promise(on: loop))
    }

    public func stop() async throws { try await owner.stop(self) }
    /// Replaces the advertising data, also of a running set. A running set is disabled meanwhile if the data needs several commands. Core
    /// Vol 4, Part E, 7.8.54.
    public func setData(_ data: [UInt8]) async throws {
        plain = data
        try await owner.renewData(of: self)
    }

    /// Replaces the encrypted part of the advertising data; nil for none.
    public func setEncrypted(_ encrypted: EncryptedAdvertisement?) async throws {
        self.encrypted = encrypted
        try await owner.renewData(of: self)
    }

    /// Waits for LE_Advertising_Set_Terminated: a connection, or the duration or event limit.
    public func terminated(within limit: Microseconds) async throws -> HCIEvents.LEAdvertisingSetTerminated {
        do {
            return try await end.value(until: loop.now + limit)
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.event(HCIEvents.LEAdvertisingSetTerminated.name)))
        }
    }

    /// Waits for the connection that ends the set; it may have ended itself since.
    ///
    /// - Throws: `HostError.environment(.timedOut)`, or the reason why the host has failed.
    public func connected(within limit: Microseconds) async throws -> Connection {
        do {
            return try await connection.value(until: loop.now + limit)
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.incomingConnection))
        }
    }

    /// The set has ended without a connection.
    fileprivate func failed(_ error: HostError) {
        isRunning = false
        end.fail(error)
        connection.fail(error)
    }
}

/// The advertising sets of a host. Core Vol 3, Part C, 9.2 and 9.3.
final class Advertising {
    /// Data octets per extended data command.
    private static let fragmentLength = 251

    private var sets: [UInt8: AdvertisingSet] = [:]
    unowned let host: Host

    init(_ host: Host) { self.host = host }

    var isIdle: Bool { sets.isEmpty }
    var isRunning: Bool { sets.values.contains(where: \.isRunning) }

    func start(_ settings: AdvertisingSettings, _ started: @escaping (AdvertisingSet) -> Void) async throws -> AdvertisingSet {
        try host.setup.check()
        let needsExtended = !settings.properties.contains(.legacy) || settings.legacyType == nil
        return try await host.family.choose(settings.usesExtendedCommands, needsExtended: needsExtended) { isExtended in
            if isExtended, settings.usesExtendedCommands == nil { try await host.family.checkAdvertisingSets() }
            return try await start(settings, isExtended: isExtended, started)
        }
    }

    private func start(
        _ settings: AdvertisingSettings, isExtended: Bool, _ started: @escaping (AdvertisingSet) -> Void
    ) async throws -> AdvertisingSet {
        let limit = isExtended && !settings.properties.contains(.legacy) ? try await host.setup.maximumAdvertisingDataLength() : 31
        let plain = settings
        var settings = settings
        settings.data = host.advertisingEncryption.octets(plain.data, plain.encrypted)
        let longest = max(settings.data.count, settings.scanResponse.count)
        guard longest <= limit else { throw HostError.misuse(.tooLong(octets: longest, limit: limit)) }
        let type = settings.ownAddressType ?? host.addresses.type
        let isPrivate = host.privateAddress != nil && settings.ownAddressType == nil && settings.randomAddress == nil
        if isExtended, settings.ownAddressType == nil, type == .randomDevice {
            settings.randomAddress = settings.randomAddress ?? host.privateAddress ?? host.address
        }
        let random = settings.randomAddress ?? (isExtended ? nil : host.randomAddress)
        let set = AdvertisingSet(
            self, on: host.loop, settings, plain: plain.data, isExtended: isExtended, isPrivate: isPrivate,
            ownAddress: host.addresses.onAir(type, random: random, of: host.controller))
        if isExtended { try await prepareExtended(set, settings, type) } else { try await prepareLegacy(settings, type) }
        try await enable(set, true) { [self] in
            sets[settings.handle] = set
            started(set)
        }
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

    /// Enables or disables the set in the controller.
    ///
    /// - Parameter done: called with the answer, before the connection or the end of the set that the next packet may report.
    private func enable(_ set: AdvertisingSet, _ isOn: Bool, done: @escaping () -> Void = {}) async throws {
        guard set.isExtended else {
            try await host.send(HCICommands.LESetAdvertisingEnable(advertisingEnable: isOn ? 1 : 0)) { _ in done() }
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
                ])
        ) { _ in done() }
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

    /// Sends a set's data to the controller, the encrypted part with a new randomizer.
    fileprivate func renewData(of set: AdvertisingSet) async throws {
        try await setData(host.advertisingEncryption.octets(set.plain, set.encrypted), of: set)
    }

    private func setData(_ data: [UInt8], of set: AdvertisingSet) async throws {
        guard set.isExtended else {
            guard data.count <= 31 else { throw HostError.misuse(.tooLong(octets: data.count, limit: 31)) }
            try await host.send(HCICommands.LESetAdvertisingData(advertisingDataLength: UInt8(data.count), advertisingData: data))
            return
        }
        let parts = Self.fragments(data)
        // An enabled set takes its data in one command only. Core Vol 4, Part E, 7.8.54.
        guard parts.count > 1, set.isRunning, sets[set.handle] === set else { return try await send(parts, of: set) }
        do {
            try await enable(set, false)
            try await send(parts, of: set)
        } catch {
            if set.isRunning { try await enable(set, true) }
            throw error
        }
        if set.isRunning { try await enable(set, true) }
    }

    private func send(_ parts: [(AdvertisingDataOperation, [UInt8])], of set: AdvertisingSet) async throws {
        for (operation, part) in parts {
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
        // Until the answer, the controller may report a connection to the set.
        defer { forget(set) }
        try await enable(set, false) { [self] in forget(set) }
    }

    private func forget(_ set: AdvertisingSet) { if sets[set.handle] === set { sets[set.handle] = nil } }

    func ended(_ event: HCIEvents.LEAdvertisingSetTerminated) {
        guard let set = sets.removeValue(forKey: event.advertisingHandle) else { return }
        set.isRunning = false
        if event.status == .success, let connection = host.path.connection(event.connectionHandle) {
            if let own = set.ownAddress { connection.advertised(as: own) }
            set.connection.fulfil(connection)
        }
        set.end.fulfil(event)
        if event.status != .success { set.connection.fail(HostError.environment(.timedOut(.incomingConnection))) }
    }

    /// The address to which a peer has connected, if only one is advertised; with several, LE_Advertising_Set_Terminated tells which.
    var address: DeviceAddress? {
        let addresses = Set(sets.values.map(\.ownAddress))
        return addresses.count == 1 ? addresses.first ?? nil : nil
    }

    // MARK: Events

    /// A peer has connected to this device. Of an extended set, LE_Advertising_Set_Terminated tells it if there are several.
    func connected(_ connection: Connection) {
        if sets.count == 1, let (_, set) = sets.first { set.connection.fulfil(connection) }
        guard let set = sets[0], !set.isExtended else { return }
        set.isRunning = false
        sets[0] = nil
    }

    /// A time limit has ended legacy advertising, which has no event of its own.
    func legacyTimedOut(_ status: ErrorCode) {
        guard let set = sets[0], !set.isExtended else { return }
        set.isRunning = false
        sets[0] = nil
        set.end.fulfil(HCIEvents.LEAdvertisingSetTerminated(status: status))
        set.connection.fail(HostError.environment(.timedOut(.incomingConnection)))
    }

    /// The controller was reset, or the pipe has ended.
    func ended(_ error: HostError) {
        let ended = sets.sorted { $0.key < $1.key }
        sets.removeAll()
        for (_, set) in ended { set.failed(error) }
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
            // A randomizer that outlives an address links it to the next one. Supplement, Part A, 1.23.4.
            if set.encrypted != nil { try await renewData(of: set) }
            // It may have been stopped meanwhile.
            if set.isRunning { try await enable(set, true) }
        }
    }
}

extension Host {
    /// Configures and enables advertising.
    ///
    /// - Parameter started: called once the controller has accepted it, before a peer can connect.
    /// - Throws: `HostError.misuse(.tooLong)` if the data does not fit, `.misuse(.unsupported)`, `.peer(.rejected)`.
    public func advertise(
        _ settings: AdvertisingSettings, started: @escaping (AdvertisingSet) -> Void = { _ in }
    ) async throws -> AdvertisingSet {
        try await advertising.start(settings, started)
    }
}
