import BBBenchTesting
import BBBluetoothCrypto
import BBHCI
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Core Vol 3, Part C, 10.10 and 12.6; Supplement, Part A, 1.23: encrypted advertising data and its key material.
@Suite struct AdvertisingEncryptionTests {
    private static func material(_ octet: UInt8) -> AdvertisingKeyMaterial? {
        AdvertisingKeyMaterial(octets: [UInt8](repeating: octet, count: AdvertisingKeyMaterial.length))
    }

    private static let hidden = AdvertisingData([.completeLocalName("Bench")])
    private static let other = AdvertisingData([.completeLocalName("Board")])

    /// The advertising data in the commands of a host.
    private static func data(_ commands: [HCIPacket]) -> [[UInt8]] {
        commands.compactMap { packet in
            (try? packet.command(as: HCICommands.LESetAdvertisingData.self))?.advertisingData
                ?? (try? packet.command(as: HCICommands.LESetExtendedAdvertisingData.self))?.advertisingData
        }
    }

    /// Supplement, Part A, 1.23.4: a new randomizer with the payload, and with the address, before that is on the air.
    @Test(arguments: [false, true]) func eachChangeHasARandomizerOfItsOwn(isExtended: Bool) throws {
        let material = try #require(Self.material(0x5A))
        try World.run { world in
            let controller = FakeController(world)
            controller.leFeatures = isExtended ? [.leEncryption, .leExtendedAdvertising] : [.leEncryption]
            let host = controller.host
            try await host.start()
            var privacy = PrivacySettings()
            privacy.lifetime = .seconds(60)
            try await host.enablePrivacy(privacy)
            var settings = AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable)]))
            settings.encrypted = EncryptedAdvertisement(Self.hidden, material: material)
            let set = try await host.advertise(settings)
            try await set.setEncrypted(EncryptedAdvertisement(Self.other, material: material))
            try await set.setData(settings.data)
            try await world.loop.sleep(for: .seconds(61))
            let sent = Self.data(controller.commands).map { AdvertisingData(octets: $0) }
            #expect(sent.count == 4)
            let sealed = try sent.map { try #require($0.encrypted.first) }
            #expect(sent.allSatisfy { $0.flags == .generalDiscoverable && $0.encrypted.count == 1 })
            #expect(Set(sealed.map { [UInt8]($0.prefix(AdvertisingCipher.randomizerLength)) }).count == 4)
            let payloads = sealed.map { host.decryptAdvertising($0, with: material) }
            #expect(payloads == [Self.hidden, Self.other, Self.other, Self.other].map(\.octets))
            let last = try #require(controller.opcodes.last)
            #expect([HCICommands.LESetAdvertisingEnable.opcode, HCICommands.LESetExtendedAdvertisingEnable.opcode].contains(last))
            try await set.setEncrypted(nil)
            #expect(Self.data(controller.commands).last.map { AdvertisingData(octets: $0).octets } == settings.data)
        }
    }

    @Test func dataThatDoesNotFitIsNotSent() throws {
        let material = try #require(Self.material(0x5A))
        try World.run { world in
            let controller = FakeController(world)
            try await controller.host.start()
            var settings = AdvertisingSettings()
            settings.encrypted = EncryptedAdvertisement(AdvertisingData([.completeLocalName("a name of 20 octets.")]), material: material)
            await #expect(throws: HostError.misuse(.tooLong(octets: 33, limit: 31))) { _ = try await controller.host.advertise(settings) }
        }
    }

    /// Key material known to the scanner: of the advertiser, wrong, none.
    static let known: [(name: String, octet: UInt8?, isDecrypted: Bool)] = [
        ("its own", 0x5A, true), ("another", 0x5B, false), ("none", nil, false),
    ]

    @Test(arguments: known) func aScannerDecryptsWithTheKeysThatItKnows(name: String, octet: UInt8?, isDecrypted: Bool) throws {
        let material = try #require(Self.material(0x5A))
        try SimulatedHosts.run { hosts in
            var settings = AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable)]))
            settings.encrypted = EncryptedAdvertisement(Self.hidden, material: material)
            let set = try await hosts.peripheral.advertise(settings)
            hosts.central.setAdvertisingKeys(octet.flatMap { Self.material($0) }, of: PeerIdentity(SimulatedHosts.peripheralAddress))
            var reports: [AdvertisingReport] = []
            let scan = try await hosts.central.scan { if !$0.isScanResponse { reports.append($0) } }
            try await hosts.loop.sleep(for: .milliseconds(500))
            try await scan.stop()
            try await set.stop()
            #expect(!reports.isEmpty && reports.allSatisfy { $0.data.encrypted.count == 1 && $0.data.localName == nil })
            #expect(reports.allSatisfy { $0.decrypted?.localName == (isDecrypted ? "Bench" : nil) })
        }
    }

    // MARK: Key material

    struct Reader: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var security: LinkSecurity
        var decision: AttributeAuthorization
        /// The error code of the response; nil for the value.
        var error: ATTErrorCode?
    }

    static let readers = [
        Reader(testDescription: "in clear", security: .none, decision: .granted, error: .insufficientAuthentication),
        Reader(testDescription: "encrypted", security: .encrypted, decision: .granted, error: .insufficientAuthentication),
        Reader(testDescription: "not authorized", security: .authenticated, decision: .refused, error: .insufficientAuthorization),
        Reader(testDescription: "authorized", security: .authenticated, decision: .granted),
        Reader(testDescription: "with Secure Connections", security: .secureConnections, decision: .granted),
        Reader(testDescription: "authorized later", security: .authenticated, decision: .later),
    ]

    @Test(arguments: readers) func keysAreForAuthenticatedAndAuthorizedClients(_ row: Reader) throws {
        let material = try #require(Self.material(0x5A))
        let database = GATTDatabase(deviceName: "bench", advertisingKeys: material)
        let handle = try #require(database.advertisingKeysHandle)
        var decision = row.decision
        database.authorizes = { _ in decision }
        let server = ATTServerTests.server(database)
        server.mtu = 64
        let access = AttributeAccess(security: row.security)
        let value = [ATT.ReadRsp.opcode] + material.octets
        func answer(to request: [UInt8]) -> [UInt8]? { server.receive(request.span.bytes, from: access) }
        func refusal(of opcode: UInt8, _ handle: UInt16, _ code: ATTErrorCode) -> [UInt8] {
            ATT.ErrorRsp(requestOpcodeInError: ATTOpcode(rawValue: opcode), attributeHandleInError: handle, errorCode: code).bytes
        }
        let first = answer(to: ATT.ReadReq(attributeHandle: handle).bytes)
        if row.decision == .later {
            let waiting = try #require(server.waiting)
            #expect(first == nil)
            decision = .granted
            #expect(server.answer(waiting, access) == value)
        } else {
            #expect(first == row.error.map { refusal(of: ATT.ReadReq.opcode, handle, $0) } ?? value)
            let configured = answer(to: ATT.WriteReq(attributeHandle: handle + 1, attributeValue: [2, 0]).bytes)
            #expect(configured == row.error.map { refusal(of: ATT.WriteReq.opcode, handle + 1, $0) } ?? ATT.WriteRsp().bytes)
        }
        let written = answer(to: ATT.WriteReq(attributeHandle: handle, attributeValue: [1]).bytes)
        #expect(written == refusal(of: ATT.WriteReq.opcode, handle, .writeNotPermitted))
    }

    @Test(arguments: [false, true]) func aClientLearnsKeysAndTheirChanges(isHidden: Bool) throws {
        let database = GATTDatabase(deviceName: "bench", advertisingKeys: Self.material(0x5A))
        try SimulatedHosts.run(database: database) { hosts in
            let link = try await hosts.link().central
            hosts.peripheral.quirks.ignoresPermissions = true
            hosts.peripheral.quirks.advertising.hidesNewKeys = isHidden
            _ = try await hosts.central.learnAdvertisingKeys(over: link)
            let before = hosts.central.advertisingEncryption[link.peer]?.octets
            _ = try await link.gatt.exchangeMTU(64)
            if let next = Self.material(0x5B) { await hosts.peripheral.publishAdvertisingKeys(next) }
            let after = hosts.central.advertisingEncryption[link.peer]?.octets
            #expect(before == Self.material(0x5A)?.octets)
            #expect(after == Self.material(isHidden ? 0x5A : 0x5B)?.octets)
        }
    }
}
