/// The 48-bit address in a PDU, without its type, which another field contains. Core Vol 4, Part E, 5.2.
public struct BDADDR: Sendable, Hashable, RawRepresentable, ExpressibleByIntegerLiteral {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue & 0xFFFF_FFFF_FFFF }
    @inlinable public init(_ rawValue: UInt64) { self.init(rawValue: rawValue) }
    @inlinable public init(integerLiteral value: UInt64) { self.init(rawValue: value) }
    /// Creates the address without its type.
    @inlinable public init(_ address: DeviceAddress) { self.init(rawValue: address.value) }
}

extension BDADDR: CustomStringConvertible {
    public var description: String { DeviceAddress(value: rawValue).description }
}

extension DeviceAddress {
    @inlinable public init(_ address: BDADDR, kind: Kind) { self.init(value: address.rawValue, kind: kind) }
    @inlinable public var bdADDR: BDADDR { BDADDR(self) }
}
