import BBBluetoothCrypto
import BBHCI
import BBPackets

/// The addresses of the host. Core Vol 6, Part B, 1.3.
final class OwnAddresses {
    /// The address that the host selects at its start.
    var choice = OwnAddress.automatic
    /// Public addresses of other devices in the run, which this host must not use.
    var others: Set<BDADDR> = []
    /// The host's address, used unless settings name another.
    private(set) var current = DeviceAddress(value: 0)
    /// The last random address set in the controller.
    private(set) var random: DeviceAddress?
    /// The resolvable private address on the air; nil while privacy is disabled.
    private(set) var `private`: DeviceAddress?
    private let commands: CommandClient
    /// Source of private addresses. It is a stream of its own, because an address on the air reveals most of a random number.
    private var secrets: SecretSource

    init(_ commands: CommandClient, _ secrets: SecretSource) { (self.commands, self.secrets) = (commands, secrets) }

    /// Selects the own address. A controller without a public address rejects commands that need one, and a shared address would be
    /// mistaken for another device's. Core Vol 4, Part E, 7.4.6 and 7.8.5.
    func choose(for controller: ControllerInformation) async throws {
        let context = commands.path.context
        let own = controller.address.bdADDR
        let isAutomatic = choice == .automatic
        let doubt = PublicAddressDoubt(
            own, others: others, origin: context.knowledge?.originOfSharedAddress(own), isKnownShared: context.workarounds.hasSharedAddress)
        let chosen = isAutomatic && doubt != nil ? OwnAddress.drawn : choice
        current = chosen.address(ofPublic: own) { secrets.next() }
        guard current.kind == .random else { return }
        if isAutomatic, let doubt { context.learned.note(doubt.kind, "\(doubt.text(own)): it goes by a static random address") }
        try await setRandom(current)
    }

    func setRandom(_ address: DeviceAddress) async throws {
        try await commands.send(HCICommands.LESetRandomAddress(randomAddress: BDADDR(address))) { [self] _ in random = address }
    }

    /// Goes by another random address from now on; connections keep theirs.
    func take(_ address: DeviceAddress) async throws {
        try await setRandom(address)
        current = address
    }

    /// The random address in the controller; a reset clears it.
    var currentRandom: DeviceAddress? { random ?? (current.kind == .random ? current : nil) }

    func drawStatic() -> DeviceAddress { OwnAddress.staticAddress(from: secrets.next()) }

    /// A resolvable private address. At least one bit of its random part is set, and at least one is clear. Core Vol 6, Part B, 1.3.2.2.
    func drawPrivate(of key: [UInt8]) -> DeviceAddress {
        let bits = UInt32(truncatingIfNeeded: secrets.next()) & 0x3F_FFFF
        let prand = bits == 0 || bits == 0x3F_FFFF ? 1 : bits
        return DeviceAddress.resolvable(irk: UInt128(littleEndianOctets: key), prand: prand)
    }

    /// A non-resolvable private address. At least one bit of its random part is set, and at least one is clear. Core Vol 6, Part B, 1.3.2.2.
    func drawNonResolvable() -> DeviceAddress {
        let bits = secrets.next() & 0x3FFF_FFFF_FFFF
        return DeviceAddress(value: bits == 0 || bits == 0x3FFF_FFFF_FFFF ? 1 : bits, kind: .random)
    }

    /// Uses a private address.
    func hide(behind address: DeviceAddress) async throws {
        try await commands.send(HCICommands.LESetRandomAddress(randomAddress: BDADDR(address))) { [self] _ in
            (random, `private`) = (address, address)
        }
    }

    func stopHiding() { `private` = nil }

    /// Own address type for the host's address or private address.
    var type: OwnAddressType { current.kind == .public && `private` == nil ? .publicDevice : .randomDevice }

    /// Address in packets of this host's controller; nil if the controller generates private ones. Core Vol 4, Part E, 7.8.12.
    func onAir(_ type: OwnAddressType, random: DeviceAddress?, of controller: ControllerInformation) -> DeviceAddress? {
        switch type {
        case .publicDevice: controller.address
        case .randomDevice: random
        default: nil
        }
    }
}

extension Host {
    /// The address that the host selects at its start.
    public var addressChoice: OwnAddress {
        get { addresses.choice }
        set { addresses.choice = newValue }
    }
    /// Public addresses of other devices in the run, which this host must not use.
    public var othersAddresses: Set<BDADDR> {
        get { addresses.others }
        set { addresses.others = newValue }
    }
    /// The host's address, used unless settings name another.
    public var address: DeviceAddress { addresses.current }
    /// The last random address set in the controller.
    public var randomAddress: DeviceAddress? { addresses.random }
    /// The resolvable private address in use; nil while privacy is disabled.
    public var privateAddress: DeviceAddress? { addresses.private }

    /// Sets the random address for random own address types. Core Vol 4, Part E, 7.8.4.
    public func setRandomAddress(_ address: DeviceAddress) async throws { try await addresses.setRandom(address) }

    /// Goes by another random address from now on, as another device would; connections keep the address with which they began. The
    /// controller refuses it while it advertises, scans or initiates. Core Vol 4, Part E, 7.8.4.
    public func takeAddress(_ address: DeviceAddress) async throws { try await addresses.take(address) }

    /// A new non-resolvable private address. Core Vol 6, Part B, 1.3.2.2.
    public func drawNonResolvableAddress() -> DeviceAddress { addresses.drawNonResolvable() }

    /// A new static random address. Core Vol 6, Part B, 1.3.2.1.
    public func drawStaticAddress() -> DeviceAddress { addresses.drawStatic() }
}
