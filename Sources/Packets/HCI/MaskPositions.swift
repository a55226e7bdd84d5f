/// The position of a command in the Supported_Commands mask. Core Vol 4, Part E, 6.27.
public struct SupportedCommandsBit: Sendable, Hashable {
    public var octet: Int
    public var bit: Int

    @inlinable public init(octet: Int, bit: Int) {
        self.octet = octet
        self.bit = bit
    }

    /// Returns true if the bit is set in a mask of any length.
    @inlinable public func isSet(in mask: [UInt8]) -> Bool { mask.indices.contains(octet) && mask[octet] >> UInt8(bit) & 1 == 1 }
}

/// The Supported_Commands mask of Read_Local_Supported_Commands. Core Vol 4, Part E, 6.27.
public struct SupportedCommands: Sendable, Hashable {
    /// The mask, normally 64 octets.
    public var octets: [UInt8]

    public init(_ octets: [UInt8] = [UInt8](repeating: 0, count: 64)) { self.octets = octets }

    /// Returns true if the command's bit is set; false for a command without a bit.
    public func contains<Command: HCICommand>(_ command: Command.Type) -> Bool { contains(Command.supportedCommandsBit) }

    public func contains(_ bit: SupportedCommandsBit?) -> Bool { bit?.isSet(in: octets) ?? false }

    /// Sets a bit; nil changes nothing, because commands without a bit are always supported.
    public mutating func insert(_ bit: SupportedCommandsBit?) {
        guard let bit, octets.indices.contains(bit.octet) else { return }
        octets[bit.octet] |= 1 << UInt8(bit.bit)
    }
}

/// The mask bit that disables an event. Core Vol 4, Part E, 7.3.1, 7.3.69 and 7.8.1.
public enum EventMaskPosition: Sendable, Hashable {
    /// A bit of Set_Event_Mask.
    case page1(Int)
    /// A bit of Set_Event_Mask_Page_2.
    case page2(Int)
    /// A bit of LE_Set_Event_Mask; LE Meta must also be set on page 1.
    case le(Int)
    /// Command Complete, Command Status, Number Of Completed Packets, and vendor events.
    case unmaskable
}
