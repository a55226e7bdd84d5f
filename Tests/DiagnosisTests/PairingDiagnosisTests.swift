import BBBluetoothCrypto
import BBPackets
import Testing

@testable import BBDiagnosis

private let (out, back) = (true, false)
private let connected: (Double?, HCIPacket, Bool) = (0, .connected, back)

/// The features of a Pairing Request (1) or a Pairing Response (2), with the keys of the initiator and of the responder.
private func features(_ opcode: UInt8, _ requirements: UInt8, keys: UInt8 = 0) -> HCIPacket {
    .smp([opcode, 3, 0, requirements, 16, keys, keys])
}
private let (legacy, secure): (UInt8, UInt8) = (0x01, 0x09)

/// A public key, least significant octet first.
private func publicKey(_ secret: UInt128, isValid: Bool = true) -> HCIPacket {
    guard let key = try? P256KeyPair(privateKey: UInt256(high: 0, low: secret)).publicKey else { return .smp([0x0C]) }
    var octets = key.x.littleEndianOctets + key.y.littleEndianOctets
    if !isValid { octets[0] ^= 1 }
    return .smp([0x0C] + octets)
}

private func confirm(_ octet: UInt8) -> HCIPacket { .smp([0x03] + (0..<16).map { octet &+ $0 }) }
private func random(_ octet: UInt8) -> HCIPacket { .smp([0x04] + (0..<16).map { octet &+ $0 }) }
private func failed(_ reason: UInt8) -> HCIPacket { .smp([0x05, reason]) }

/// A legacy pairing up to the encryption, with these keys.
private func bonding(_ keys: UInt8) -> [(Double?, HCIPacket, Bool)] {
    [
        connected, (1, features(1, legacy, keys: keys), out), (nil, features(2, legacy, keys: keys), back), (nil, confirm(1), out),
        (nil, confirm(40), back), (nil, random(80), out), (nil, random(120), back), (nil, .encrypted, back),
    ]
}
/// The keys of one end.
private func keys(_ octet: UInt8, isOut: Bool) -> [(Double?, HCIPacket, Bool)] {
    [[0x06] + octets(octet, 16), [0x07] + octets(octet, 10)].map { (nil, .smp($0), isOut) }
}
private let identity: [(Double?, HCIPacket, Bool)] = [
    (nil, .smp([0x08] + octets(0, 16)), back), (nil, .smp([0x09, 0, 1, 2, 3, 4, 5, 6]), back),
]
private let encKey: UInt8 = 1

private let courses = [
    TestCourse(
        "a public key that is no point of the curve",
        [
            connected, (1, features(1, secure), out), (nil, features(2, secure), back), (nil, publicKey(5), out),
            (nil, publicKey(7, isValid: false), back), (nil, failed(8), out), (9, .left, back),
        ], "public-key-invalid", "pairing-failed"),
    TestCourse(
        "two public keys that a tool has hidden",
        [
            connected, (1, features(1, secure), out), (nil, features(2, secure), back), (nil, publicKey(5, isValid: false), out),
            (nil, publicKey(7, isValid: false), back), (nil, failed(8), out), (9, .left, back),
        ], "pairing-failed"),
    TestCourse(
        "a public key that comes back",
        [
            connected, (1, features(1, secure), out), (nil, features(2, secure), back), (nil, publicKey(5), out), (nil, publicKey(5), back),
            (nil, failed(8), out), (9, .left, back),
        ], "value-reflected", "pairing-failed"),
    TestCourse(
        "a confirm value that comes back",
        [
            connected, (1, features(1, legacy), out), (nil, features(2, legacy), back), (nil, confirm(1), out), (nil, confirm(1), back),
            (nil, failed(4), out), (9, .left, back),
        ], "value-reflected", "pairing-failed"),
    TestCourse(
        "a host that accepts Secure Connections alone",
        [connected, (1, features(1, secure), out), (nil, features(2, legacy), back), (nil, failed(8), out), (9, .left, back)],
        "legacy-pairing-refused", "pairing-failed"),
    TestCourse(
        "a host that refuses for another reason",
        [connected, (1, features(1, secure), out), (nil, features(2, legacy), back), (nil, failed(6), out), (9, .left, back)],
        "pairing-failed"),
    TestCourse("keys that come", bonding(encKey) + keys(1, isOut: back) + keys(2, isOut: out) + [(50, .left, back)]),
    TestCourse("keys of which one is missing", bonding(encKey) + keys(1, isOut: back) + [(50, .left, back)], "keys-missing"),
    TestCourse(
        "keys that are missing when the link ends", bonding(encKey) + keys(1, isOut: back) + [(9, .left, back)], "keys-missing-at-end"),
    TestCourse(
        "a resolving key of zeros", bonding(encKey) + keys(1, isOut: back) + identity + keys(2, isOut: out) + [(9, .left, back)],
        "zero-resolving-key"),
    TestCourse(
        "a pairing with a long time at the keys",
        [connected, (1, features(1, legacy), out), (nil, features(2, legacy), back)]
            + (1...4).map { (Double(10 * $0), .smp([0x0E, 1]), back) }
            + [
                (45, confirm(1), out), (46, confirm(40), back), (47, random(80), out), (48, random(120), back), (49, .encrypted, back),
                (60, .left, back),
            ]),
    TestCourse(
        "a pairing without a sign for as long",
        [connected, (1, features(1, legacy), out), (nil, features(2, legacy), back), (45, .att(0x1B, 3, 0, 1), back), (60, .left, back)],
        "pairing-abandoned"),
    TestCourse(
        "two devices whose keys have the same names",
        [connected] + keys(1, isOut: back) + [
            (3, .left, back), (4, .told([0x3E, 0x01, 0, 0x40, 0, 0, 0, 9, 2, 3, 4, 5, 6, 0x18, 0, 0, 0, 0xF4, 0x01, 0]), back),
            (5, .smp([0x06] + octets(8, 16)), back), (nil, .smp([0x07] + octets(1, 10)), back), (6, .left, back), (7, .connected, back),
            (8, .order(0x2019, [0x40, 0] + octets(1, 26)), out), (9, .left, back),
        ]),
]

@Suite struct PairingDiagnosisTests {
    @Test(arguments: courses) func pairingsAreExplained(_ course: TestCourse) throws {
        let found = try course.findings()
        #expect(found == course.expected)
    }
}
