import BBBluetoothCrypto
import BBHost
import BBPackets
import Testing

@testable import BBProducts

/// The messages about a pairing that the tester or the device has ended: they name the PDU that was wrong.
struct PairingRecordTests {
    private static let request = SMP.PairingRequest(
        ioCapability: .noInputNoOutput, oobDataFlag: 0, authReq: [.bonding, .sc], maximumEncryptionKeySize: 16,
        initiatorKeyDistribution: [.encKey, .idKey], responderKeyDistribution: [.encKey, .idKey])

    private static func response(_ keys: KeyDistribution, io: IOCapability = .noInputNoOutput, isSecure: Bool = true) -> [UInt8] {
        SMP.PairingResponse(
            ioCapability: io, oobDataFlag: 0, authReq: isSecure ? [.bonding, .sc] : .bonding, maximumEncryptionKeySize: 16,
            initiatorKeyDistribution: keys, responderKeyDistribution: keys
        ).bytes
    }

    private static let key: [UInt8] = {
        let pair = try? P256KeyPair(privateKey: UInt256(high: 0, low: 5))
        return pair.map {
            SMP.PairingPublicKey(publicKeyX: $0.publicKey.x.littleEndianOctets, publicKeyY: $0.publicKey.y.littleEndianOctets).bytes
        } ?? []
    }()
    private static let offCurve = SMP.PairingPublicKey(
        publicKeyX: [UInt8](repeating: 1, count: 32), publicKeyY: [UInt8](repeating: 2, count: 32)
    ).bytes
    private static let irk = SMP.IdentityInformation(identityResolvingKey: [UInt8](repeating: 7, count: 16)).bytes
    private static let csrk = SMP.SigningInformation(signatureKey: [UInt8](repeating: 7, count: 16)).bytes
    private static let ltk = SMP.EncryptionInformation(longTermKey: [UInt8](repeating: 7, count: 16)).bytes
    private static let random = SMP.PairingRandom(randomValue: [UInt8](repeating: 7, count: 16)).bytes

    private static func address(_ value: UInt64, _ type: UInt8) -> [UInt8] {
        SMP.IdentityAddressInformation(addrType: type, bdADDR: BDADDR(rawValue: value)).bytes
    }

    struct Row: CustomTestStringConvertible {
        var testDescription: String
        var received: [[UInt8]]
        var fault: HostError.PeerFault
        var text: String
    }

    private static let invalid = HostError.PeerFault.pairingRefused(.invalidParameters)
    private static let unspecified = HostError.PeerFault.pairingRefused(.unspecifiedReason)

    static let rows: [Row] = [
        Row(testDescription: "off curve", received: [response(.idKey), offCurve], fault: invalid, text: "is not on the curve P-256"),
        Row(
            testDescription: "an identity address that is private",
            received: [response(.idKey), key, random, irk, address(0x40_0000_0000_01, 1)],
            fault: invalid, text: "its identity address 40:00:00:00:00:01, type 1, is neither public nor static random"),
        Row(
            testDescription: "an identity address of no type",
            received: [response(.idKey), key, random, irk, address(0xC0_0000_0000_01, 4)],
            fault: invalid, text: "type 4, is neither public nor static random"),
        Row(
            testDescription: "a key that was not promised", received: [response(.idKey), key, random, csrk], fault: unspecified,
            text: "it sends Signing_Information, which its Pairing_Response does not promise"),
        Row(
            testDescription: "keys out of their order", received: [response(.idKey), key, random, address(1, 0)], fault: unspecified,
            text: "it sends Identity_Address_Information where Identity_Information is due"),
        Row(
            testDescription: "keys in clear", received: [response([.encKey, .idKey], isSecure: false), random, ltk], fault: unspecified,
            text: "it sends Encryption_Information before the link is encrypted"),
        Row(
            testDescription: "a key twice", received: [response(.idKey), key, random, irk, address(1, 0), irk], fault: unspecified,
            text: "it sends Identity_Information a second time"),
        Row(
            testDescription: "a PDU out of its order", received: [response(.idKey), key, key], fault: unspecified,
            text: "its Pairing_Public_Key is invalid, or out of its order"),
        Row(
            testDescription: "nineteen rounds", received: [response(.idKey, io: .displayOnly), key] + Array(repeating: random, count: 19),
            fault: .pairingFailed(.unspecifiedReason), text: "Unspecified_Reason, after 19 of the 20 rounds of the passkey"),
        Row(
            testDescription: "a user", received: [response(.idKey, io: .displayOnly), key], fault: .pairingFailed(.unspecifiedReason),
            text: "its user may have declined, or was not there"),
    ]

    @Test(arguments: rows)
    func theMessageNamesThePDUThatWasWrong(_ row: Row) {
        let record = PairingRecord()
        record.add(.sent, Self.request.bytes)
        for pdu in row.received { record.add(.received, pdu) }
        let text = "\(record.failure(row.fault))"
        #expect(text.contains(row.text), "\(text)")
    }
}
