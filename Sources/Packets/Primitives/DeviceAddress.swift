/// A Bluetooth device address with its type. Core Vol 6, Part B, 1.3.
public struct DeviceAddress: Sendable, Hashable {
    /// The type of the address: public or random, as in HCI and in TxAdd and RxAdd of the link layer.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        case `public` = 0
        case random = 1
    }

    /// The six octets as a number: the first octet in text form is the most significant.
    public var value: UInt64
    public var kind: Kind

    public init(value: UInt64, kind: Kind = .public) {
        self.value = value & 0xFFFF_FFFF_FFFF
        self.kind = kind
    }

    /// The six octets in the order of transmission, least significant first.
    public var octets: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) } }
}

extension DeviceAddress: CustomStringConvertible {
    public var description: String {
        let text = Hex.octets(octets.reversed(), separator: ":")
        return kind == .public ? text : text + " (random)"
    }
}

extension AddressType {
    /// The type without identity: an identity address is public or random, too.
    @inlinable public var kind: DeviceAddress.Kind { self == .publicDevice || self == .publicIdentity ? .public : .random }
}
