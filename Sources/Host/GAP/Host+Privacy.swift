import BluetoothCrypto
import HCI
import Packets
import Timing

/// Settings of host-based privacy, for controllers without it. Core Vol 3, Part C, 10.7.
public struct PrivacySettings: Sendable, Hashable {
    /// Lifetime of a private address, 1 s...1 h. Core Vol 4, Part E, 7.8.45.
    public var lifetime = Microseconds.seconds(900)
    /// True for device privacy mode: peers that have distributed an IRK are also accepted under their identity address. False for network
    /// privacy mode. Core Vol 6, Part B, 4.7.
    public var isDeviceMode = false

    public init() {}
}

/// State of a host with privacy enabled.
final class HostPrivacy {
    let settings: PrivacySettings
    /// The resolvable private address in use.
    var address: DeviceAddress
    /// Peers whose private addresses the controller resolves.
    let resolved: Set<DeviceAddress>
    var timer: Timer?
    var change: Activity<Void>?

    init(_ settings: PrivacySettings, address: DeviceAddress, resolved: Set<DeviceAddress>) {
        self.settings = settings
        self.address = address
        self.resolved = resolved
    }
}

extension Host {
    /// The resolvable private address in use; nil while privacy is disabled.
    public var privateAddress: DeviceAddress? { privacy?.address }

    /// Enables privacy: from now on the host uses a resolvable private address of its IRK, which changes as set. Bonded peers are added to
    /// a controller's resolving list, as many as fit.
    ///
    /// - Throws: `HostError.misuse(.notStarted)`, `.misuse(.busy)` while it advertises, scans, connects or has privacy enabled,
    ///   `.peer(.rejected)`.
    public func enablePrivacy(_ settings: PrivacySettings = PrivacySettings()) async throws {
        guard isStarted else { throw failure ?? HostError.misuse(.notStarted) }
        guard privacy == nil else { throw HostError.misuse(.busy(.privacy)) }
        guard connecting == nil else { throw HostError.misuse(.busy(.connecting)) }
        guard scans.isEmpty else { throw HostError.misuse(.busy(.scanning)) }
        guard !advertisingSets.values.contains(where: \.isRunning) else { throw HostError.misuse(.busy(.advertising)) }
        let resolved = try await fillResolvingList(settings)
        let privacy = HostPrivacy(settings, address: drawPrivateAddress(), resolved: resolved)
        try await setRandomAddress(privacy.address)
        self.privacy = privacy
        scheduleAddressChange()
    }

    func endPrivacy() {
        if let timer = privacy?.timer { loop.cancel(timer) }
        privacy?.change?.cancel()
        privacy = nil
    }

    /// Fills the resolving list. Core Vol 4, Part E, 7.8.38 to 7.8.44 and 7.8.77.
    private func fillResolvingList(_ settings: PrivacySettings) async throws -> Set<DeviceAddress> {
        guard controller.leFeatures.contains(.llPrivacy) else { return [] }
        try await send(HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: 0))
        try await send(HCICommands.LEClearResolvingList())
        let size = Int(try await send(HCICommands.LEReadResolvingListSize()).resolvingListSize)
        let own = ownIdentityResolvingKey()
        var resolved: Set<DeviceAddress> = []
        let hasPrivacyMode = controller.supports(HCICommands.LESetPrivacyMode.self)
        for bond in keys.all where resolved.count < size {
            guard let key = bond.identityResolvingKey, hasPrivacyMode || !bond.goesByIdentity else { continue }
            let (type, address) = (AddressType(rawValue: bond.identity.kind.rawValue), BDADDR(bond.identity))
            try await send(
                HCICommands.LEAddDeviceToResolvingList(
                    peerIdentityAddressType: type, peerIdentityAddress: address, peerIRK: key, localIRK: own))
            // Older controllers support network privacy mode only, and would ignore a peer that uses its identity address. Core Vol 6, Part
            // B, 4.7.
            if settings.isDeviceMode || bond.goesByIdentity, hasPrivacyMode {
                try await send(
                    HCICommands.LESetPrivacyMode(peerIdentityAddressType: type, peerIdentityAddress: address, privacyMode: .device))
            }
            resolved.insert(bond.identity)
        }
        try await send(HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: 1))
        return resolved
    }

    /// Core Vol 6, Part B, 1.3.2.2: the random part is neither all zeros nor all ones.
    private func drawPrivateAddress() -> DeviceAddress { Self.privateAddress(of: ownIdentityResolvingKey(), using: &addresses) }

    static func privateAddress(of key: [UInt8], using secrets: inout SecretSource) -> DeviceAddress {
        let bits = UInt32(truncatingIfNeeded: secrets.next()) & 0x3F_FFFF
        let prand = bits == 0 || bits == 0x3F_FFFF ? 1 : bits
        return DeviceAddress.resolvable(irk: UInt128(littleEndianOctets: key), prand: prand)
    }

    private func scheduleAddressChange(after delay: Microseconds? = nil) {
        guard let privacy else { return }
        privacy.timer = loop.schedule(after: delay ?? privacy.settings.lifetime) { [weak self] in
            guard let self, let privacy = self.privacy else { return }
            // A controller rejects an address change while it initiates. Core Vol 4, Part E, 7.8.4.
            guard connecting == nil else { return scheduleAddressChange(after: .seconds(1)) }
            scheduleAddressChange()
            privacy.change = loop.start { [weak self] in
                do { try await self?.changePrivateAddress() } catch { self?.context.counters.failedAddressChanges += 1 }
            }
        }
    }

    /// Changes the private address. A controller rejects this while it advertises or scans with the old one. Core Vol 4, Part E, 7.8.4 and
    /// 7.8.52.
    private func changePrivateAddress() async throws {
        guard let privacy else { return }
        let sets = advertisingSets.values.filter { $0.isRunning && $0.isPrivate }.sorted { $0.handle < $1.handle }
        let scan = scans.first { $0.isRunning }
        for set in sets { try await enable(set, false) }
        if let scan { try await enable(scan, false) }
        privacy.address = drawPrivateAddress()
        try await setRandomAddress(privacy.address)
        for set in sets where set.isRunning {
            if set.isExtended {
                try await send(
                    HCICommands.LESetAdvertisingSetRandomAddress(advertisingHandle: set.handle, randomAddress: BDADDR(privacy.address)))
            }
            set.ownAddress = privacy.address
            try await enable(set, true)
        }
        if let scan, scan.isRunning { try await enable(scan, true) }
    }

    // MARK: Peers

    /// Identity of the sender of a report, if there is a bond or the controller has resolved the address.
    func identity(of report: AdvertisingReport) -> PeerIdentity? {
        guard let address = report.address, !context.quirks.resolvesNoAddress else { return nil }
        if report.addressType == .publicIdentity || report.addressType == .randomIdentity { return PeerIdentity(address, isResolved: true) }
        return keys.identity(of: address)
    }

    /// False if a peer must be ignored: in network privacy mode, a peer with a known IRK that uses its identity address. Core Vol 6, Part
    /// B, 4.7.
    func isKnown(_ identity: PeerIdentity?, by address: DeviceAddress?) -> Bool {
        guard let privacy, !privacy.settings.isDeviceMode, let identity, identity.address == address else { return true }
        return keys[identity].map { $0.identityResolvingKey == nil || $0.goesByIdentity } ?? true
    }

    /// Current address of a bonded peer; found by scanning if it may be private.
    func currentAddress(of device: DeviceAddress, _ settings: ConnectSettings) async throws -> DeviceAddress {
        guard let bond = keys[PeerIdentity(device)], bond.identity == device else { return device }
        let known = bond.addressOnAir ?? device
        guard bond.identityResolvingKey != nil else { return known }
        guard scans.isEmpty, known != device || privacy?.resolved.contains(device) != true else { return device }
        let found = Promise<DeviceAddress>(on: loop)
        var scanning = ScanSettings()
        scanning.isActive = false
        scanning.phys = settings.phys.intersection([.le1M, .leCoded])
        scanning.usesExtendedCommands = settings.usesExtendedCommands
        let scan = try await self.scan(scanning) { report in
            guard report.isConnectable, let address = report.address, report.identity == PeerIdentity(device) else { return }
            found.fulfil(address)
        }
        let address: DeviceAddress
        do { address = try await found.value(until: loop.now + settings.limit) } catch {
            await loop.cleanUp(within: Host.commandTimeOut) { try await scan.stop() }
            throw error is TimeOut ? HostError.peer(.timedOut(.connection)) : error
        }
        try await scan.stop()
        return address
    }

    /// Advertising settings for one bonded peer: directed to a private address if the peer's controller resolves it, otherwise to its
    /// identity address. Core Vol 3, Part C, 9.3.3, 10.7.1.2 and 12.4.
    ///
    /// - Parameter isHighDuty: at most 1.28 s long.
    public func directedAdvertising(to bond: Bond, isHighDuty: Bool = false) -> AdvertisingSettings {
        var settings = AdvertisingSettings()
        settings.properties = isHighDuty ? [.legacy, .connectable, .directed, .highDutyCycle] : [.legacy, .connectable, .directed]
        settings.peer = bond.identity
        if bond.resolvesAddresses == true, let key = bond.identityResolvingKey {
            settings.peer = Self.privateAddress(of: key, using: &addresses)
        }
        return settings
    }
}

extension Connection {
    /// Reads the peer's Central Address Resolution and stores the result with the bond. A peer without the characteristic does not support
    /// it. Core Vol 3, Part C, 12.4.
    @discardableResult
    public func readCentralAddressResolution() async throws -> Bool {
        let resolves: Bool
        do {
            resolves = try await gatt.read(uuid: .centralAddressResolution).first?.value == [1]
        } catch HostError.peer(.att(_, _, .attributeNotFound)) {
            resolves = false
        }
        if var bond = provenBond {
            bond.resolvesAddresses = resolves
            context.keys.update(bond)
        }
        return resolves
    }
}
