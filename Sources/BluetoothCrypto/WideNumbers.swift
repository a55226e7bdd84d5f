/// A coordinate, a private key or a shared secret on one of the two curves.
public protocol WideNumber: Sendable, Hashable {
    /// Most significant first, as the specification prints them.
    var octets: [UInt8] { get }
    /// Nil unless there are as many octets as the number has, most significant first.
    init?(octets: [UInt8])
}

extension WideNumber {
    /// Least significant first, as PDUs carry them.
    public var littleEndianOctets: [UInt8] { octets.reversed() }

    /// Nil unless there are as many octets as the number has, least significant first.
    public init?(littleEndianOctets octets: [UInt8]) { self.init(octets: octets.reversed()) }
}

/// A number of 192 bits, on P-192.
public struct UInt192: WideNumber, Comparable {
    public var high: UInt64
    public var low: UInt128

    public init(high: UInt64, low: UInt128) {
        self.high = high
        self.low = low
    }

    /// The 24 octets, most significant first.
    public var octets: [UInt8] { withUnsafeBytes(of: high.bigEndian) { [UInt8]($0) } + low.octets }

    /// Nil unless there are 24 octets, most significant first.
    public init?(octets: [UInt8]) {
        guard octets.count == 24 else { return nil }
        self.init(high: octets[..<8].reduce(0) { $0 << 8 | UInt64($1) }, low: UInt128(octets: octets[8...]))
    }

    public static func < (a: UInt192, b: UInt192) -> Bool { (a.high, a.low) < (b.high, b.low) }
}

/// A number of 256 bits: a coordinate or private key on P-256, or a shared secret.
public struct UInt256: WideNumber {
    public var high: UInt128
    public var low: UInt128

    public init(high: UInt128, low: UInt128) {
        self.high = high
        self.low = low
    }

    /// The 32 octets, most significant first.
    public var octets: [UInt8] { high.octets + low.octets }

    /// Nil unless there are 32 octets, most significant first.
    public init?(octets: [UInt8]) {
        guard octets.count == 32 else { return nil }
        self.init(high: UInt128(octets: octets[..<16]), low: UInt128(octets: octets[16...]))
    }
}
