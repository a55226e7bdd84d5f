import BBPackets
import Testing

@testable import BBConformance

/// Content that reports redact, and content that they keep.
@Suite struct SecretsTests {
    private static let key = [UInt8](1...16)
    private static let other = [UInt8](33...48)
    private static let none = [UInt8](repeating: 0, count: 16)

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var packet: HCIPacket
        /// The captured packet.
        var hidden: HCIPacket
        /// Keys that texts redact from then on.
        var keys: [[UInt8]] = [key]

        /// - Parameter make: creates the packet with these keys.
        init(_ name: String, keys: [[UInt8]] = [key], _ make: ([UInt8], [UInt8]) -> HCIPacket) {
            (testDescription, packet, self.keys) = (name, make(key, other), keys)
            hidden = make(keys.contains(key) ? SecretsTests.none : key, keys.contains(other) ? SecretsTests.none : other)
        }
    }

    private static func smp(_ pdu: [UInt8], _ boundary: ACLHeader.Boundary = .first, channel: UInt8 = 6) -> HCIPacket {
        HCIPacket(acl: 0x40, boundary, [UInt8(pdu.count), 0, channel, 0] + pdu)
    }

    static let rows = [
        Row("LE_Enable_Encryption") { key, _ in
            HCIPacket(
                command: HCICommands.LEEnableEncryption(
                    connectionHandle: 0x40, randomNumber: 0, encryptedDiversifier: 0, longTermKey: key))
        },
        Row("LE_Long_Term_Key_Request_Reply") { key, _ in
            HCIPacket(command: HCICommands.LELongTermKeyRequestReply(connectionHandle: 0x40, longTermKey: key))
        },
        Row("LE_Add_Device_To_Resolving_List", keys: [key, other]) { key, other in
            HCIPacket(
                command: HCICommands.LEAddDeviceToResolvingList(
                    peerIdentityAddressType: .publicDevice, peerIdentityAddress: BDADDR(1), peerIRK: key, localIRK: other))
        },
        Row("LE_Generate_DHKey_Complete", keys: [key, other]) { key, other in
            HCIPacket(event: HCIEvents.LEGenerateDHKeyComplete(dhKey: key + other))
        },
        Row("Encryption_Information") { key, _ in smp(SMP.EncryptionInformation(longTermKey: key).bytes) },
        Row("Identity_Information") { key, _ in smp(SMP.IdentityInformation(identityResolvingKey: key).bytes) },
        Row("Signing_Information") { key, _ in smp(SMP.SigningInformation(signatureKey: key).bytes) },
        Row("sample data", keys: []) { key, other in HCIPacket(command: HCICommands.LEEncrypt(key: key, plaintextData: other)) },
        Row("a nonce", keys: []) { key, _ in smp(SMP.PairingRandom(randomValue: key).bytes) },
        Row("a value of an attribute", keys: []) { key, _ in smp([ATT.ReadRsp.opcode] + key, channel: 4) },
        Row("a part of a PDU", keys: []) { key, _ in smp([SMP.EncryptionInformation.opcode] + key.prefix(8)) },
    ]

    @Test(arguments: rows) func keysAreHidden(_ row: Row) {
        let secrets = Secrets()
        #expect(secrets.hide(row.packet) == row.hidden)
        for octets in [Self.key, Self.other] {
            for digits in [Hex.octets(octets), Hex.octets(octets.reversed())] {
                let isHidden = row.keys.contains(octets)
                #expect(
                    secrets.hide("<a>Key=\(digits) — \(digits)")
                        == (isHidden ? "<a>Key=(hidden) — (hidden)" : "<a>Key=\(digits) — \(digits)"))
            }
        }
    }

    /// A key of zeros is not redacted.
    @Test func noKeyIsLeft() {
        let packet = Self.smp(SMP.EncryptionInformation(longTermKey: Self.none).bytes)
        let secrets = Secrets()
        #expect(secrets.hide(packet) == packet)
        #expect(secrets.hide(Hex.octets(Self.none)) == Hex.octets(Self.none))
    }
}
