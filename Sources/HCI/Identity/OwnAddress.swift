import BBPackets

/// The device address to use on the air.
public enum OwnAddress: Sendable, Hashable {
    /// The public address, or a static address if there is none.
    case automatic
    /// A random static address.
    case drawn
    /// This static address.
    case fixed(DeviceAddress)

    /// True for a static random address: the two most significant bits are set, and the other bits are neither all zeros nor all ones. Core
    /// Vol 6, Part B, 1.3.2.1.
    public static func isStatic(_ address: DeviceAddress) -> Bool {
        let rest = address.value & 0x3FFF_FFFF_FFFF
        return address.kind == .random && address.value >> 46 == 0b11 && rest != 0 && rest != 0x3FFF_FFFF_FFFF
    }

    /// A static address made from 64 bits.
    public static func staticAddress(from bits: UInt64) -> DeviceAddress {
        let address = DeviceAddress(value: bits & 0x3FFF_FFFF_FFFF | 0xC000_0000_0000, kind: .random)
        return isStatic(address) ? address : DeviceAddress(value: 0xC000_0000_0001, kind: .random)
    }

    /// Parses `auto`, `random`, or a complete static address; nil otherwise.
    public init?(_ text: String) {
        switch text {
        case "auto": self = .automatic
        case "random": self = .drawn
        default:
            let octets = text.split(separator: ":", omittingEmptySubsequences: false)
            guard octets.count == 6, octets.allSatisfy({ $0.utf8.count == 2 }), let value = UInt64(octets.joined(), radix: 16) else {
                return nil
            }
            let address = DeviceAddress(value: value, kind: .random)
            guard Self.isStatic(address) else { return nil }
            self = .fixed(address)
        }
    }

    /// The address of a device whose controller returned `address` from Read_BD_ADDR; all zeros mean that it has no public address. Core
    /// Vol 4, Part E, 7.4.6.
    ///
    /// - Parameter bits: source of random bits for a static address.
    public func address(ofPublic address: BDADDR, drawnFrom bits: () -> UInt64) -> DeviceAddress {
        switch self {
        case .automatic where address != 0: DeviceAddress(address, kind: .public)
        case .automatic, .drawn: Self.staticAddress(from: bits())
        case .fixed(let address): address
        }
    }
}
