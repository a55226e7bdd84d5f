/// A coordinate, private key or shared secret on one of the two curves.
public protocol WideNumber: Sendable, Hashable {
    /// Most significant octet first, as in the specification.
    var octets: [UInt8] { get }
    /// Returns nil for a wrong number of octets. Most significant octet first.
    init?(octets: [UInt8])
}

extension WideNumber {
    /// Least significant octet first, as in PDUs.
    public var littleEndianOctets: [UInt8] { octets.reversed() }

    /// Returns nil for a wrong number of octets. Least significant octet first.
    public init?(littleEndianOctets octets: [UInt8]) { self.init(octets: octets.reversed()) }
}

/// A 192-bit number, for P-192.
public struct UInt192: WideNumber, Comparable {
    public var high: UInt64
    public var low: UInt128

    public init(high: UInt64, low: UInt128) {
        self.high = high
        self.low = low
    }

    /// The 24 octets, most significant first.
    public var octets: [UInt8] { withUnsafeBytes(of: high.bigEndian) { [UInt8]($0) } + low.octets }

    /// Returns nil unless there are 24 octets, most significant first.
    public init?(octets: [UInt8]) {
        guard octets.count == 24 else { return nil }
        self.init(high: octets[..<8].reduce(0) { $0 << 8 | UInt64($1) }, low: UInt128(octets: octets[8...]))
    }

    public static func < (a: UInt192, b: UInt192) -> Bool { (a.high, a.low) < (b.high, b.low) }
}

/// A 256-bit number: a coordinate or private key on P-256, or a shared secret.
public struct UInt256: WideNumber, Comparable {
    public var high: UInt128
    public var low: UInt128

    public init(high: UInt128, low: UInt128) {
        self.high = high
        self.low = low
    }

    /// The 32 octets, most significant first.
    public var octets: [UInt8] { high.octets + low.octets }

    /// Returns nil unless there are 32 octets, most significant first.
    public init?(octets: [UInt8]) {
        guard octets.count == 32 else { return nil }
        self.init(high: UInt128(octets: octets[..<16]), low: UInt128(octets: octets[16...]))
    }

    public static func < (a: UInt256, b: UInt256) -> Bool { (a.high, a.low) < (b.high, b.low) }
}
