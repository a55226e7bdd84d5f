import BBBluetoothCrypto
import BBCases
import BBPackets
import BBTraffic

/// The identity addresses of devices and their resolving keys, as hosts and peers tell them. All adapters of a capture share them.
struct Identities {
    private var known: [(key: UInt128, address: DeviceAddress)] = []
    /// The last Identity_Information of each link.
    private var keys: [Int: UInt128] = [:]

    private static let most = 64

    /// Notes a device that a host adds to the resolving list.
    mutating func note(_ command: HCIPacket) {
        guard command.id == HCICommands.LEAddDeviceToResolvingList.id,
            let pdu = try? command.command(as: HCICommands.LEAddDeviceToResolvingList.self)
        else { return }
        add(Self.key(pdu.peerIRK), DeviceAddress(pdu.peerIdentityAddress, kind: pdu.peerIdentityAddressType.kind))
    }

    /// Notes the keys that a peer distributes on a link.
    mutating func note(_ pdu: DecodedLayer, link: Int) {
        if let information = pdu.content(as: SMP.IdentityInformation.self) {
            if keys.count >= Self.most { keys.removeAll() }
            keys[link] = Self.key(information.identityResolvingKey)
        } else if let address = pdu.content(as: SMP.IdentityAddressInformation.self), let key = keys.removeValue(forKey: link) {
            add(key, DeviceAddress(address.bdADDR, kind: address.addrType == 0 ? .public : .random))
        }
    }

    /// A tool that hides keys writes zeros.
    private mutating func add(_ key: UInt128, _ address: DeviceAddress) {
        guard key != 0, !known.contains(where: { $0.key == key && $0.address == address }) else { return }
        if known.count >= Self.most { known.removeFirst() }
        known.append((key, address))
    }

    private static func key(_ octets: [UInt8]) -> UInt128 { octets.reversed().reduce(0) { $0 << 8 | UInt128($1) } }

    /// The identity address of a private address, by the keys in the capture.
    func identity(of address: DeviceAddress) -> DeviceAddress? {
        guard !known.isEmpty, address.isResolvable else { return nil }
        return known.first { address.resolves(with: $0.key) }?.address
    }
}

extension DeviceAddress {
    /// True for a resolvable private address. Core Vol 6, Part B, 1.3.2.2.
    var isResolvable: Bool { kind == .random && value >> 46 == 1 }
}
