import BBBluetoothCrypto
import BBPackets

/// Keys to be distributed by each device, and their strength.
struct KeyExchange {
    var role: PairingRole
    /// Keys sent and keys received by this device.
    var sentKeys: KeyDistribution
    var expectedKeys: KeyDistribution
    var strength: KeyStrength
    var setup: PairingSetup
}

/// Phase 3: on the encrypted link the responder distributes its keys, then the initiator, each in the order LTK, IRK, CSRK. Core Vol 3,
/// Part H, 2.4.3 and 3.6.1.
struct KeyDistributionPhase {
    enum Action: Equatable {
        case send([UInt8])
        /// All keys have been sent and received.
        case completed
        case fail(PairingFailedReason)
    }

    /// Keys of both devices, as far as known.
    struct Keys: Equatable {
        var localLongTermKey: LongTermKey?
        var peerLongTermKey: LongTermKey?
        var localSigningKey: SigningKey?
        var peerSigningKey: SigningKey?
        var identityResolvingKey: [UInt8]?
        var identity: DeviceAddress?
    }

    private(set) var keys = Keys()
    private let terms: KeyExchange
    /// Opcodes of the PDUs that the peer has not sent yet, the next one first.
    private var expected: [UInt8]
    private var hasSent = false
    private var size: Int { terms.strength.size }

    /// - Parameter longTermKey: LTK from Secure Connections pairing; it is not distributed.
    init(_ terms: KeyExchange, longTermKey: LongTermKey?) {
        self.terms = terms
        expected = Self.opcodes(of: terms.expectedKeys)
        if terms.strength.isSecureConnections { (keys.localLongTermKey, keys.peerLongTermKey) = (longTermKey, longTermKey) }
    }

    private static func opcodes(of keys: KeyDistribution) -> [UInt8] {
        (keys.contains(.encKey) ? [SMP.EncryptionInformation.opcode, SMP.CentralIdentification.opcode] : [])
            + (keys.contains(.idKey) ? [SMP.IdentityInformation.opcode, SMP.IdentityAddressInformation.opcode] : [])
            + (keys.contains(.signKey) ? [SMP.SigningInformation.opcode] : [])
    }

    mutating func start() -> [Action] {
        terms.role == .responder || expected.isEmpty ? send() : []
    }

    private mutating func send() -> [Action] {
        hasSent = true
        return distribute().map { .send($0) } + (expected.isEmpty ? [.completed] : [])
    }

    private mutating func distribute() -> [[UInt8]] {
        var secrets = terms.setup.secrets.stream("keys")
        var pdus: [[UInt8]] = []
        if terms.sentKeys.contains(.encKey) {
            let value = secrets.key().shortened(to: size).littleEndianOctets
            let (diversifier, number) = (UInt16(truncatingIfNeeded: secrets.next()), secrets.next())
            keys.localLongTermKey = LongTermKey(value, encryptedDiversifier: diversifier, randomNumber: number, size: size)
            pdus += [
                SMP.EncryptionInformation(longTermKey: value).bytes, SMP.CentralIdentification(ediv: diversifier, rand: number).bytes,
            ]
        }
        if terms.sentKeys.contains(.idKey) {
            let identity = terms.setup.identity
            pdus += [
                SMP.IdentityInformation(identityResolvingKey: terms.setup.identityResolvingKey).bytes,
                SMP.IdentityAddressInformation(addrType: identity.kind.rawValue, bdADDR: BDADDR(rawValue: identity.value)).bytes,
            ]
        }
        if terms.sentKeys.contains(.signKey) {
            let value = secrets.key().littleEndianOctets
            keys.localSigningKey = SigningKey(value)
            pdus.append(SMP.SigningInformation(signatureKey: value).bytes)
        }
        return pdus
    }

    mutating func received(_ message: SMP.Message, opcode: UInt8) -> [Action] {
        guard expected.first == opcode else { return [.fail(.unspecifiedReason)] }
        if let reason = take(message) { return [.fail(reason)] }
        expected.removeFirst()
        guard expected.isEmpty else { return [] }
        return hasSent ? [.completed] : send()
    }

    private mutating func take(_ message: SMP.Message) -> PairingFailedReason? {
        switch message {
        case .encryptionInformation(let information):
            // Shortened to the agreed size in case the peer has not done so. Part H, 2.3.4.
            let key = UInt128(littleEndianOctets: information.longTermKey).shortened(to: size)
            // An all-zero key protects nothing.
            guard key != 0 else { return .keyRejected }
            keys.peerLongTermKey = LongTermKey(key.littleEndianOctets, size: size)
        case .centralIdentification(let identification):
            keys.peerLongTermKey?.encryptedDiversifier = identification.ediv
            keys.peerLongTermKey?.randomNumber = identification.rand
        case .identityInformation(let information): keys.identityResolvingKey = information.identityResolvingKey
        case .identityAddressInformation(let information):
            guard let identity = Self.identity(information) else { return .invalidParameters }
            keys.identity = identity
        case .signingInformation(let information): keys.peerSigningKey = SigningKey(information.signatureKey)
        default: return .unspecifiedReason
        }
        return nil
    }

    /// A public or static random address; nil for any other, which is no identity. Core Vol 3, Part H, 3.6.5.
    private static func identity(_ information: SMP.IdentityAddressInformation) -> DeviceAddress? {
        guard let kind = DeviceAddress.Kind(rawValue: information.addrType) else { return nil }
        let address = DeviceAddress(value: information.bdADDR.rawValue, kind: kind)
        return kind == .public || address.value >> 46 == 0b11 ? address : nil
    }

    /// The bond to be stored.
    var bond: Bond {
        var bond = Bond(
            keys.identity ?? terms.setup.peer, localLongTermKey: keys.localLongTermKey, peerLongTermKey: keys.peerLongTermKey,
            isAuthenticated: terms.strength.isAuthenticated, isSecureConnections: terms.strength.isSecureConnections)
        // An all-zero IRK means that the peer uses no resolvable private address. Core Vol 3, Part H, 2.4.2.1.
        bond.identityResolvingKey = keys.identityResolvingKey.flatMap { $0.contains { $0 != 0 } ? $0 : nil }
        (bond.localSigningKey, bond.peerSigningKey) = (keys.localSigningKey, keys.peerSigningKey)
        return bond
    }
}
