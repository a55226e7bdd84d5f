import Crypto
import CryptoExtras

/// A 128-bit AES key, ready for repeated use. Numbers are written most significant octet first, as the specification prints them.
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
        // A key and a block of 16 octets are all that `permute` asks for.
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

    /// The number whose octets these are, most significant first; only the last 16 count.
    public init(octets: some Collection<UInt8>) {
        self = octets.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// The number whose octets these are, least significant first.
    public init(littleEndianOctets octets: some BidirectionalCollection<UInt8>) {
        self.init(octets: octets.reversed())
    }
}
