/// Key material of encrypted advertising data. Core Vol 3, Part C, 12.6; Supplement to the Core Specification, Part A, 1.23.
public struct AdvertisingKeyMaterial: Sendable, Hashable {
    /// Octets of the value of Encrypted Data Key Material.
    public static let length = 24
    private static let keyLength = 16

    public let sessionKey: UInt128
    /// Initialization vector of eight octets in the order of the nonce, least significant first.
    public let iv: [UInt8]

    /// Returns nil unless there are 24 octets: the session key as AES takes it, most significant octet first, then the IV.
    public init?(octets: some Collection<UInt8>) {
        guard octets.count == Self.length else { return nil }
        sessionKey = UInt128(octets: octets.prefix(Self.keyLength))
        iv = [UInt8](octets.dropFirst(Self.keyLength))
    }

    public init(drawnFrom secrets: inout SecretSource) {
        sessionKey = secrets.key()
        iv = secrets.octets(Self.length - Self.keyLength)
    }

    /// The 24 octets: session key, then IV.
    public var octets: [UInt8] { sessionKey.octets + iv }
}

/// AES-CCM of encrypted advertising data: the randomizer takes the place of packet counter and direction bit. Supplement to the Core
/// Specification, Part A, 1.23.3.
public struct AdvertisingCipher {
    public static let randomizerLength = 5
    /// Octets that encryption adds: randomizer and MIC.
    public static let overhead = randomizerLength + LinkCipher.micLength
    /// The authenticated octet that is not encrypted.
    private static let additional: UInt8 = 0xEA
    private let cipher: LinkCipher

    public init(_ material: AdvertisingKeyMaterial) { cipher = LinkCipher(sessionKey: material.sessionKey, iv: material.iv) }

    /// Encrypts AD structures.
    ///
    /// - Parameter randomizer: five octets, least significant first; new for each payload and each random address.
    /// - Returns: the AD data: randomizer, encrypted payload, MIC.
    public func seal(_ payload: [UInt8], randomizer: [UInt8]) -> [UInt8] {
        let (counter, isLast) = Self.nonce(randomizer[...])
        var sealed = [UInt8]((randomizer + [UInt8](repeating: 0, count: Self.randomizerLength)).prefix(Self.randomizerLength))
        cipher.seal(payload.span.bytes, counter: counter, fromCentral: isLast, additional: Self.additional, into: &sealed)
        return sealed
    }

    /// Decrypts the AD data of an Encrypted Data structure; nil if it has no payload or its MIC is wrong.
    public func open(_ data: [UInt8]) -> [UInt8]? {
        guard data.count > Self.overhead else { return nil }
        let (counter, isLast) = Self.nonce(data.prefix(Self.randomizerLength))
        var payload: [UInt8] = []
        let isRight = cipher.open(
            [UInt8](data.dropFirst(Self.randomizerLength)).span.bytes, counter: counter, fromCentral: isLast, additional: Self.additional,
            into: &payload)
        return isRight ? payload : nil
    }

    /// Packet counter and direction bit of the nonce.
    private static func nonce(_ randomizer: ArraySlice<UInt8>) -> (counter: UInt64, isLast: Bool) {
        let number = randomizer.prefix(randomizerLength).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (number & 0x7F_FFFF_FFFF, number >> 39 == 1)
    }
}
