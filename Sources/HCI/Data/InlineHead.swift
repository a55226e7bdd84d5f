import BBPackets

/// Up to three octets in front of a value, such as ATT opcode and handle, stored without an array.
public struct InlineHead: Sendable {
    public private(set) var count = 0
    private var octets: (UInt8, UInt8, UInt8) = (0, 0, 0)

    public init() {}

    public init(opcode: UInt8, handle: UInt16) {
        count = 3
        octets = (opcode, UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8))
    }

    /// The length of an SDU, which its first K-frame begins with. Core Vol 3, Part A, 3.4.3.
    public init(sduLength: UInt16) {
        count = 2
        octets = (UInt8(truncatingIfNeeded: sduLength), UInt8(truncatingIfNeeded: sduLength >> 8), 0)
    }

    @inline(__always) func write(to packet: inout ByteWriter) {
        guard count > 0 else { return }
        packet.u8(octets.0)
        packet.u8(octets.1)
        if count == 3 { packet.u8(octets.2) }
    }
}
