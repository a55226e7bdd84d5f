import BBBluetoothCrypto
import BBHCI
import BBPackets
import BBTiming

/// Settings of host-based privacy, for controllers without it. Core Vol 3, Part C, 10.7.
public struct PrivacySettings: Sendable, Hashable {
    /// Lifetime of a private address, 1 s...1 h. Core Vol 4, Part E, 7.8.45.
    public var lifetime = Microseconds.seconds(900)
    /// True for device privacy mode: peers that have distributed an IRK are also accepted under their identity address. False for network
    /// privacy mode. Core Vol 6, Part B, 4.7.
    public var isDeviceMode = false

    public init() {}
}

/// The resolvable private addresses of the host, and the addresses of its peers. Core Vol 3, Part C, 10.7.
final class Privacy {
    private struct State {
        let settings: PrivacySettings
        /// Peers whose private addresses the controller resolves.
        let resolved: Set<DeviceAddress>
        var timer: Timer?
        var change: Activity<Void>?
    }

    private var state: State?
    private unowned let host: Host

    init(_ host: Host) { self.host = host }

    var isOn: Bool { state != nil }

    /// True for an identity address whose private addresses the controller resolves.
    func isResolved(_ device: DeviceAddress) -> Bool { state?.resolved.contains(device) == true }

    func enable(_ settings: PrivacySettings) async throws {
        try host.setup.check()
        guard !isOn else { throw HostError.misuse(.busy(.privacy)) }
        guard host.connecting.isIdle else { throw HostError.misuse(.busy(.connecting)) }
        guard host.scanning.isIdle else { throw HostError.misuse(.busy(.scanning)) }
        guard !host.advertising.isRunning else { throw HostError.misuse(.busy(.advertising)) }
        let resolved = try await fillResolvingList(settings)
        try await host.addresses.hide(behind: drawAddress())
        state = State(settings: settings, resolved: resolved)
        scheduleAddressChange()
    }

    /// Returns to the identity address, which is set in the controller if it is random.
    func disable() async throws {
        guard isOn else { return }
        guard host.connecting.isIdle else { throw HostError.misuse(.busy(.connecting)) }
        guard host.scanning.isIdle else { throw HostError.misuse(.busy(.scanning)) }
        guard !host.advertising.isRunning else { throw HostError.misuse(.busy(.advertising)) }
        ended()
        if host.controller.leFeatures.contains(.llPrivacy) {
            try await host.send(HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: 0))
            try await host.send(HCICommands.LEClearResolvingList())
        }
        if host.address.kind == .random { try await host.addresses.setRandom(host.address) }
    }

    /// The controller was reset, or the pipe has ended.
    func ended() {
        if let timer = state?.timer { host.loop.cancel(timer) }
        state?.change?.cancel()
        state = nil
        host.addresses.stopHiding()
    }

    /// Fills the resolving list. Core Vol 4, Part E, 7.8.38 to 7.8.44 and 7.8.77.
    private func fillResolvingList(_ settings: PrivacySettings) async throws -> Set<DeviceAddress> {
        guard host.controller.leFeatures.contains(.llPrivacy) else { return [] }
        try await host.send(HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: 0))
        try await host.send(HCICommands.LEClearResolvingList())
        let size = Int(try await host.send(HCICommands.LEReadResolvingListSize()).resolvingListSize)
        let own = host.pairing.identityResolvingKey()
        var resolved: Set<DeviceAddress> = []
        let hasPrivacyMode = host.controller.supports(HCICommands.LESetPrivacyMode.self)
        for bond in host.keys.all where resolved.count < size {
            guard let key = bond.identityResolvingKey, hasPrivacyMode || !bond.goesByIdentity else { continue }
            let (type, address) = (AddressType(rawValue: bond.identity.kind.rawValue), BDADDR(bond.identity))
            try await host.send(
                HCICommands.LEAddDeviceToResolvingList(
                    peerIdentityAddressType: type, peerIdentityAddress: address, peerIRK: key, localIRK: own))
            // Older controllers support network privacy mode only, and would ignore a peer that uses its identity address. Core Vol 6, Part
            // B, 4.7.
            if settings.isDeviceMode || bond.goesByIdentity, hasPrivacyMode {
                try await host.send(
                    HCICommands.LESetPrivacyMode(peerIdentityAddressType: type, peerIdentityAddress: address, privacyMode: .device))
            }
            resolved.insert(bond.identity)
        }
        try await host.send(HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: 1))
        return resolved
    }

    private func drawAddress() -> DeviceAddress { host.addresses.drawPrivate(of: host.pairing.identityResolvingKey()) }

    private func scheduleAddressChange(after delay: Microseconds? = nil) {
        guard let lifetime = state?.settings.lifetime else { return }
        state?.timer = host.loop.schedule(after: delay ?? lifetime) { [weak self] in
            guard let self, isOn else { return }
            // A controller rejects an address change while it initiates. Core Vol 4, Part E, 7.8.4.
            guard host.connecting.isIdle else { return scheduleAddressChange(after: .seconds(1)) }
            scheduleAddressChange()
            state?.change = host.loop.start { [weak self] in
                do { try await self?.changeAddress() } catch { self?.host.context.counters.failedAddressChanges += 1 }
            }
        }
    }

    /// Changes the private address. A controller rejects this while it advertises or scans with the old one. Core Vol 4, Part E, 7.8.4 and
    /// 7.8.52.
    func changeAddress() async throws {
        guard isOn else { return }
        let sets = try await host.advertising.pause()
        let scan = try await host.scanning.pause()
        let address = drawAddress()
        try await host.addresses.hide(behind: address)
        try await host.advertising.resume(sets, as: address)
        if let scan { try await host.scanning.resume(scan) }
    }

    // MARK: Peers

    /// False for the identity address of a peer with a known IRK in network privacy mode. Core Vol 6, Part B, 4.7.
    func admits(_ identity: PeerIdentity?, by address: DeviceAddress?) -> Bool {
        guard let state, !state.settings.isDeviceMode, let identity, identity.address == address else { return true }
        return host.keys[identity].map { $0.identityResolvingKey == nil || $0.goesByIdentity } ?? true
    }

    /// Current address of a bonded peer; found by scanning if it may be private.
    func currentAddress(of device: DeviceAddress, _ settings: ConnectSettings) async throws -> DeviceAddress {
        guard let bond = host.keys[PeerIdentity(device)], bond.identity == device else { return device }
        let known = bond.addressOnAir ?? device
        guard bond.identityResolvingKey != nil else { return known }
        guard host.scanning.isIdle, known != device || !isResolved(device) else { return device }
        let found = Promise<DeviceAddress>(on: host.loop)
        var scanning = ScanSettings()
        scanning.isActive = false
        scanning.phys = settings.phys.intersection([.le1M, .leCoded])
        scanning.usesExtendedCommands = settings.usesExtendedCommands
        let scan = try await host.scanning.start(scanning) { report in
            guard report.isConnectable, let address = report.address, report.identity == PeerIdentity(device) else { return }
            found.fulfil(address)
        }
        let address: DeviceAddress
        do { address = try await found.value(until: host.loop.now + settings.limit) } catch {
            await host.loop.cleanUp(within: Host.commandTimeOut) { try await scan.stop() }
            throw error is TimeOut ? HostError.peer(.timedOut(.connection)) : error
        }
        try await scan.stop()
        return address
    }
}

extension Host {
    /// Enables privacy: from now on the host uses a resolvable private address of its IRK, which changes as set. Bonded peers are added to
    /// a controller's resolving list, as many as fit.
    ///
    /// - Throws: `HostError.misuse(.notStarted)`, `.misuse(.busy)` while it advertises, scans, connects or has privacy enabled,
    ///   `.peer(.rejected)`.
    public func enablePrivacy(_ settings: PrivacySettings = PrivacySettings()) async throws { try await privacy.enable(settings) }

    /// Disables privacy: from now on the host uses its identity address; nothing without privacy.
    ///
    /// - Throws: `HostError.misuse(.busy)` while it advertises, scans or connects, `.peer(.rejected)`.
    public func disablePrivacy() async throws { try await privacy.disable() }

    /// Changes the private address before the end of its lifetime; nothing without privacy.
    ///
    /// - Throws: `.peer(.rejected)`.
    public func changePrivateAddress() async throws { try await privacy.changeAddress() }

    /// Advertising settings for one bonded peer: directed to a private address if the peer's controller resolves it, otherwise to its
    /// identity address. Core Vol 3, Part C, 9.3.3, 10.7.1.2 and 12.4.
    ///
    /// - Parameter isHighDuty: at most 1.28 s long.
    public func directedAdvertising(to bond: Bond, isHighDuty: Bool = false) -> AdvertisingSettings {
        var settings = AdvertisingSettings()
        settings.properties = isHighDuty ? [.legacy, .connectable, .directed, .highDutyCycle] : [.legacy, .connectable, .directed]
        settings.peer = bond.identity
        if bond.resolvesAddresses == true, let key = bond.identityResolvingKey {
            settings.peer = addresses.drawPrivate(of: key)
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
