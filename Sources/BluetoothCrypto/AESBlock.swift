import Crypto
import CryptoExtras

/// A 128-bit AES key, prepared for repeated use. Numbers have their most significant octet first, as in the specification.
public struct AESKey: Sendable {
    public let value: UInt128
    let symmetric: SymmetricKey

    public init(_ value: UInt128) {
        self.value = value
        symmetric = SymmetricKey(data: value.octets)
    }

    /// The security function e: AES-128 of one block. Core Vol 3, Part H, 2.2.1.
    public func encrypt(_ block: UInt128) -> UInt128 {
        var octets = block.octets
        // `permute` fails only for other lengths than a 16-octet key and block.
        guard (try? AES.permute(&octets, key: symmetric)) != nil else { return 0 }
        return UInt128(octets: octets)
    }

    /// AES-CMAC of a message. RFC 4493; Core Vol 3, Part H, 2.2.5.
    public func cmac(_ message: [UInt8]) -> UInt128 {
        guard var cmac = try? AES.CMAC(key: symmetric) else { return 0 }
        message.withUnsafeBytes { cmac.update(bufferPointer: $0) }
        return UInt128(octets: cmac.finalize().withUnsafeBytes { [UInt8]($0) })
    }
}

extension UInt128 {
    /// The 16 octets, most significant first.
    public var octets: [UInt8] { withUnsafeBytes(of: bigEndian) { [UInt8]($0) } }
    /// The 16 octets in the order of most PDUs, least significant first.
    public var littleEndianOctets: [UInt8] { withUnsafeBytes(of: littleEndian) { [UInt8]($0) } }

    /// Creates the number from octets, most significant first; only the last 16 are used.
    public init(octets: some Collection<UInt8>) {
        self = octets.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// Creates the number from octets, least significant first.
    public init(littleEndianOctets octets: some BidirectionalCollection<UInt8>) {
        self.init(octets: octets.reversed())
    }
}
