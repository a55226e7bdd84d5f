import BBBenchTesting
import BBPackets
import Testing

@testable import BBHost

/// Core Vol 3, Part C, 10.3.1 and Part F, 4: each protection on each link, for reading and writing.
@Suite struct AttributeProtectionTests {
    struct Link: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var access: @Sendable () -> AttributeAccess
        /// Response of the server, one letter per protection.
        var answers: String
    }

    /// Unprotected, encrypted, authenticated, Secure Connections, encrypted with 16 octets, authorized, encrypted and authorized, not permitted.
    static let protections: [(read: AttributePermissions, write: AttributePermissions, keySize: Int)] = [
        (.read, .write, 7), ([.read, .readEncrypted], [.write, .writeEncrypted], 7),
        ([.read, .readAuthenticated], [.write, .writeAuthenticated], 7),
        ([.read, .readSecureConnections], [.write, .writeSecureConnections], 7),
        (.read, .write, 16), ([.read, .readAuthorized], [.write, .writeAuthorized], 7),
        ([.read, .readEncrypted, .readAuthorized], [.write, .writeEncrypted, .writeAuthorized], 7), ([], [], 7),
    ]

    /// A: Insufficient Authentication, E: Insufficient Encryption, K: key too short, Z: Insufficient Authorization, N: not permitted, -: success.
    static let links = [
        Link(testDescription: "open, strangers", access: { AttributeAccess() }, answers: "-AAAAZAN"),
        Link(testDescription: "open, bonded", access: { AttributeAccess(isBonded: true) }, answers: "-EEEEZEN"),
        Link(testDescription: "encrypted", access: { AttributeAccess(security: .encrypted) }, answers: "--AA-ZZN"),
        Link(
            testDescription: "encrypted with 15 octets", access: { AttributeAccess(security: .encrypted, keySize: 15) }, answers: "--AAKZZN"
        ),
        Link(testDescription: "authenticated", access: { AttributeAccess(security: .authenticated) }, answers: "---A-ZZN"),
        Link(
            testDescription: "authenticated with 7 octets", access: { AttributeAccess(security: .authenticated, keySize: 7) },
            answers: "---AKZZN"),
        Link(testDescription: "Secure Connections", access: { AttributeAccess(security: .secureConnections) }, answers: "-----ZZN"),
    ]

    private func answer(_ response: [UInt8]?, isRead: Bool) -> String {
        guard let response, response.first == ATT.ErrorRsp.opcode, let error = try? ATT.ErrorRsp(bytes: response) else { return "-" }
        switch error.errorCode {
        case .insufficientAuthentication: return "A"
        case .insufficientEncryption: return "E"
        case .encryptionKeySizeTooShort: return "K"
        case .insufficientAuthorization: return "Z"
        case isRead ? .readNotPermitted : .writeNotPermitted: return "N"
        default: return "?"
        }
    }

    @Test(arguments: links) func everyProtection(_ link: Link) {
        let database = GATTDatabase()
        let service = database.add(
            ServiceDefinition(
                0xFFF0,
                characteristics: Self.protections.map {
                    var characteristic = CharacteristicDefinition(
                        0xFFF1, properties: [.read, .write], permissions: $0.read.union($0.write))
                    characteristic.minimumKeySize = $0.keySize
                    return characteristic
                }))
        let server = ATTServerTests.server(database)
        var reads = ""
        var writes = ""
        for characteristic in service.characteristics {
            let read = ATT.ReadReq(attributeHandle: characteristic.value).bytes
            reads += answer(server.receive(read.span.bytes, from: link.access()), isRead: true)
            let write = ATT.WriteReq(attributeHandle: characteristic.value, attributeValue: [1]).bytes
            writes += answer(server.receive(write.span.bytes, from: link.access()), isRead: false)
            let command = ATT.WriteCmd(attributeHandle: characteristic.value, attributeValue: [2]).bytes
            _ = server.receive(command.span.bytes, from: link.access())
            #expect(database[characteristic.value] == (writes.last == "-" ? [2] : []))
        }
        #expect(reads == link.answers)
        #expect(writes == link.answers)
        database.authorizes = { _ in .granted }
        let authorized = ATT.ReadReq(attributeHandle: service.characteristics[5].value).bytes
        #expect(answer(server.receive(authorized.span.bytes, from: link.access()), isRead: true) == "-")
    }
}
