/// Length limits of attribute values. Core Vol 3, Part F, 3.2.9.
public enum AttributeValueLength {
    /// Octets of the longest attribute value, whatever the ATT_MTU.
    public static let longest = 512
    /// Opcode and handle of a write, notification or indication. Core Vol 3, Part F, 3.4.5 and 3.4.7.
    public static let header = 3

    /// Octets of the longest value in one write, notification or indication.
    ///
    /// - Parameter overhead: octets of the PDU besides the value.
    public static func longest(inMTU mtu: Int, overhead: Int = header) -> Int { max(0, min(longest, mtu - overhead)) }
}
