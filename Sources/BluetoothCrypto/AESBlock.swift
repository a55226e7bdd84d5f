internal import BBCLibCrypto

/// A 128-bit AES key. Numbers have their most significant octet first, as in the specification.
public struct AESKey: Sendable {
    public let value: UInt128

    public init(_ value: UInt128) { self.value = value }

    /// The security function e: AES-128 of one block. Core Vol 3, Part H, 2.2.1.
    public func encrypt(_ block: UInt128) -> UInt128 {
        var encrypted = [UInt8](repeating: 0, count: 16)
        var length: Int32 = 0
        let context = CipherContext()
        let isEncrypted =
            EVP_EncryptInit_ex(context.pointer, EVP_aes_128_ecb(), nil, value.octets, nil) == 1
            && EVP_EncryptUpdate(context.pointer, &encrypted, &length, block.octets, 16) == 1
        precondition(isEncrypted, "libcrypto does not provide AES-128")
        return UInt128(octets: encrypted)
    }

    /// AES-CMAC of a message. RFC 4493; Core Vol 3, Part H, 2.2.5.
    public func cmac(_ message: [UInt8]) -> UInt128 {
        var code = [UInt8](repeating: 0, count: 16)
        let result = EVP_Q_mac(nil, "CMAC", nil, "AES-128-CBC", nil, value.octets, 16, message, message.count, &code, 16, nil)
        precondition(result != nil, "libcrypto does not provide AES-CMAC")
        return UInt128(octets: code)
    }
}

/// State of a cipher in libcrypto.
struct CipherContext: ~Copyable {
    let pointer: OpaquePointer?

    init() { pointer = EVP_CIPHER_CTX_new() }

    deinit { EVP_CIPHER_CTX_free(pointer) }
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
