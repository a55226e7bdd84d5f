// CryptoExtras offers both functions, too; it and the ASN.1 library below it would be 34 CPU seconds of every clean build.
internal import CCryptoBoringSSL

/// A 128-bit AES key, prepared for repeated use. Numbers have their most significant octet first, as in the specification.
public struct AESKey: Sendable {
    public let value: UInt128
    private let schedule: AES_KEY

    public init(_ value: UInt128) {
        self.value = value
        var schedule = AES_KEY()
        _ = CCryptoBoringSSL_AES_set_encrypt_key(value.octets, 128, &schedule)
        self.schedule = schedule
    }

    /// The security function e: AES-128 of one block. Core Vol 3, Part H, 2.2.1.
    public func encrypt(_ block: UInt128) -> UInt128 {
        var encrypted = [UInt8](repeating: 0, count: 16)
        withUnsafePointer(to: schedule) { CCryptoBoringSSL_AES_encrypt(block.octets, &encrypted, $0) }
        return UInt128(octets: encrypted)
    }

    /// AES-CMAC of a message. RFC 4493; Core Vol 3, Part H, 2.2.5.
    public func cmac(_ message: [UInt8]) -> UInt128 {
        var code = [UInt8](repeating: 0, count: 16)
        // It fails only if there is no memory.
        guard CCryptoBoringSSL_AES_CMAC(&code, value.octets, 16, message, message.count) == 1 else { return 0 }
        return UInt128(octets: code)
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
