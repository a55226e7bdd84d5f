/// Signatures and hashes of the attribute protocol.
public enum AttributeHashes {
    /// The Database Hash over the concatenated attributes of a server. Core Vol 3, Part G, 7.3.1.
    public static func databaseHash(_ attributes: [UInt8]) -> UInt128 { AESKey(0).cmac(attributes) }

    /// The 12-octet signature of a signed write: the counter, then the upper half of the MAC, each least significant octet first. Core Vol
    /// 3, Part F, 3.3.1 and Part H, 2.4.5.
    ///
    /// - Parameter message: opcode, handle and value as sent.
    public static func signature(csrk: UInt128, message: [UInt8], counter: UInt32) -> [UInt8] {
        let counterOctets = withUnsafeBytes(of: counter.littleEndian) { [UInt8]($0) }
        let mac = AESKey(csrk).cmac((message + counterOctets).reversed())
        return counterOctets + mac.octets[..<8].reversed()
    }
}
