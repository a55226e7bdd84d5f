/// The class request that carries a command in the legacy mode. Core Vol 4, Part B, 2.2.
public struct USBCommandAddress: Sendable, Equatable {
    /// The interface is the recipient, not the device.
    public var toInterface: Bool
    /// bRequest.
    public var request: UInt8
    /// wValue.
    public var value: UInt16

    public init(toInterface: Bool = false, request: UInt8 = 0, value: UInt16 = 0) {
        (self.toInterface, self.request, self.value) = (toInterface, request, value)
    }

    /// The SETUP stage. USB 2.0, 9.3.
    ///
    /// - Parameters:
    ///   - length: octets of the command.
    ///   - interface: the controller's first interface.
    public func setup(length: Int, interface: UInt8) -> [UInt8] {
        [
            toInterface ? 0x21 : 0x20, request, UInt8(value & 0xFF), UInt8(value >> 8), toInterface ? interface : 0, 0,
            UInt8(truncatingIfNeeded: length), UInt8(truncatingIfNeeded: length >> 8),
        ]
    }
}
