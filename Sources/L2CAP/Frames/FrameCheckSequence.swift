import BBPackets

/// The 16-bit FCS of S-frames and I-frames: x16 + x15 + x2 + 1, least significant bit first, initial value 0. Core Vol 3, Part A, 3.3.5.
public struct L2CAPFrameCheckSequence: Sendable {
    public static let octets = 2
    public private(set) var value: UInt16 = 0

    public init() {}

    private static let table: [UInt16] = (0..<256).map { octet in
        (0..<8).reduce(UInt16(octet)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xA001 : value >> 1 }
    }

    public mutating func add(_ octet: UInt8) { value = value >> 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: value) ^ octet)] }

    public mutating func add(_ octets: some Sequence<UInt8>) { for octet in octets { add(octet) } }

    /// The check sequence of a PDU on a channel: over its basic header, which counts the sequence itself, and the octets before the sequence.
    public static func of(_ body: some Collection<UInt8>, on channel: UInt16) -> UInt16 {
        of(L2CAPHeader(length: UInt16(truncatingIfNeeded: body.count + octets), channel: channel), body)
    }

    /// Returns the FCS of a PDU: its basic header and the octets before the FCS.
    public static func of(_ header: L2CAPHeader, _ octets: some Sequence<UInt8>) -> UInt16 {
        var writer = ByteWriter(reserving: L2CAPHeader.octets)
        header.encode(into: &writer)
        var check = L2CAPFrameCheckSequence()
        check.add(writer.bytes)
        check.add(octets)
        return check.value
    }
}
