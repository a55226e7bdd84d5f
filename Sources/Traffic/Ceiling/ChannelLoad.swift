import BBPackets

/// SDUs on credit-based channels of a link, which take turns K-frame by K-frame. Core Vol 3, Part A, 3.4.3.
public struct ChannelLoad: Sendable, Hashable {
    /// Number of channels.
    public var count: Int
    /// Octets of an SDU.
    public var sdu: Int
    /// Maximum octets of a K-frame's payload, which in the first one include the SDU length.
    public var mps: Int
    /// The channels begin together and are never short of credits, so that their first K-frames follow one another, and so on. Otherwise
    /// the order of K-frames with different lengths is unknown.
    public var isInStep = true

    /// Octets of each SDU before the value: the ATT header on Enhanced ATT bearers.
    public var header = 0

    /// - Parameter sdu: octets of an SDU; with a header, at most those of the longest attribute value. Core Vol 3, Part F, 3.2.9.
    public init(count: Int = 1, sdu: Int, mps: Int, header: Int = 0) {
        let sdu = header > 0 ? min(sdu, header + AttributeValueLength.longest) : sdu
        (self.count, self.sdu, self.mps, self.header) = (count, sdu, mps, header)
    }

    /// Octets of the SDU length in the first K-frame.
    public static let lengthOctets = 2

    /// True if the pattern of link layer packets is known.
    var isRegular: Bool { isInStep || count == 1 || payloads(ofSDU: sdu).count == 1 }

    /// Octets of the value in an SDU of full length.
    var valueOctets: Int { sdu - header }

    /// Payloads of the K-frames of an SDU with a value, in order.
    public func payloads(ofValue octets: Int) -> [Int] { payloads(ofSDU: octets + header) }

    /// Payloads of an SDU's K-frames, in order.
    public func payloads(ofSDU octets: Int) -> [Int] {
        let whole = Self.lengthOctets + octets
        return stride(from: 0, to: whole, by: max(1, mps)).map { min(mps, whole - $0) }
    }
}
