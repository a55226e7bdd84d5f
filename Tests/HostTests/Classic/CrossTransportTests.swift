import BBPackets
import BBSimulation
import BBTiming
import Testing

@testable import BBHost

/// One pairing is used on both transports, also after both controllers were powered off. Core Vol 3, Part C, 14.1; Part H, 2.4.2.4 and
/// 2.4.2.5.
@Suite struct CrossTransportTests {
    enum Corruption: Sendable, CaseIterable {
        case none, near, far
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isFirstLE: Bool
        var corruption = Corruption.none
    }

    private static let rows = [true, false].flatMap { isFirstLE in
        Corruption.allCases.map {
            Row(
                testDescription: "\(isFirstLE ? "LE gives BR/EDR" : "BR/EDR gives LE"), corrupted: \($0)", isFirstLE: isFirstLE,
                corruption: $0)
        }
    }

    private static let settings: PairingSettings = {
        var settings = PairingSettings()
        (settings.ioCapability, settings.asksForMITM, settings.supportsH7) = (.displayYesNo, true, true)
        settings.localKeys.insert(.linkKey)
        settings.peerKeys.insert(.linkKey)
        return settings
    }()

    @Test(arguments: rows) func aPairingServesTheOtherTransport(_ row: Row) throws {
        try ClassicHosts.run([Self.settings, Self.settings]) { hosts in
            if row.isFirstLE { try await Self.pairOnLE(hosts) } else { try await Self.pairOnBREDR(hosts) }
            let (near, far) = (try #require(hosts.near.keys.all.first), try #require(hosts.far.keys.all.first))
            #expect(near.identity == hosts.far.controller.address && far.identity == hosts.near.controller.address)
            #expect(near.linkKey == far.linkKey && near.linkKey?.type == .authenticatedCombinationP256)
            #expect(near.peerLongTermKey == far.localLongTermKey && near.peerLongTermKey?.size == 16)
            #expect(near.isAuthenticated && far.isSecureConnections && hosts.near.keys.all.count == 1)
            Self.corrupt(row.corruption, hosts)
            // Only stored data is left.
            for host in [hosts.near, hosts.far] {
                try await host.start()
                host.pairingSettings = nil
                host.pairingDialogue = PairingDialogue(
                    enterPasskey: { _, _ in Issue.record("asked") }, compare: { _, _, _ in Issue.record("asked") },
                    consent: { _, _ in Issue.record("asked") })
            }
            try await hosts.far.setScan(isDiscoverable: false, isConnectable: true)
            if row.isFirstLE {
                try await Self.returnOnBREDR(hosts, isCorrupted: row.corruption != .none)
            } else {
                try await Self.returnOnLE(hosts, isCorrupted: row.corruption != .none)
            }
        }
    }

    private static func corrupt(_ corruption: Corruption, _ hosts: ClassicHosts) {
        guard corruption != .none else { return }
        let host = corruption == .near ? hosts.near : hosts.far
        for var bond in host.keys.all {
            bond.linkKey?.value[7] ^= 0x10
            bond.localLongTermKey?.value[7] ^= 0x10
            bond.peerLongTermKey?.value[7] ^= 0x10
            host.keys.update(bond)
        }
    }

    // MARK: Pairing

    private static func pairOnLE(_ hosts: ClassicHosts) async throws {
        let set = try await hosts.far.advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("far")])))
        let link = try await hosts.near.connect(to: hosts.far.controller.address)
        #expect(try await link.pair().level == .secureConnections)
        try await hosts.loop.sleep(for: .seconds(1))
        try await link.disconnect()
        if set.isRunning { try await set.stop() }
    }

    private static func pairOnBREDR(_ hosts: ClassicHosts) async throws {
        let (near, far) = try await hosts.link()
        var derived: [PairingResult] = []
        for connection in [near, far] {
            connection.events.add { if case .derived(let result) = $0 { derived.append(result) } }
        }
        #expect(try await near.pair().level == .secureConnections)
        try await hosts.loop.sleep(for: .seconds(1))
        #expect(derived.count == 2 && derived.allSatisfy { $0.isBonded && $0.level == .secureConnections && $0.keySize == 16 })
        try await near.disconnect()
    }

    // MARK: Coming back

    private static func returnOnBREDR(_ hosts: ClassicHosts, isCorrupted: Bool) async throws {
        let (near, far) = try await hosts.link()
        guard isCorrupted else {
            try await near.secure(to: .secureConnections)
            try await hosts.loop.sleep(for: .seconds(1))
            #expect([near, far].allSatisfy { $0.securityLevel == .secureConnections && $0.encryptionKeySize == 16 })
            return
        }
        await #expect(throws: HostError.peer(.rejected("Authentication_Requested", .authenticationFailure))) {
            try await near.secure(to: .secureConnections)
        }
        #expect([near, far].allSatisfy { $0.securityLevel == .open })
    }

    private static func returnOnLE(_ hosts: ClassicHosts, isCorrupted: Bool) async throws {
        _ = try await hosts.far.advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("far")])))
        let link = try await hosts.near.connect(to: hosts.far.controller.address)
        guard isCorrupted else {
            try await link.encrypt()
            #expect(link.security == .secureConnections && link.encryptionKeySize == 16)
            return
        }
        await #expect(throws: HostError.self) { try await link.encrypt() }
        #expect(link.security == .none)
    }

    // MARK: Attributes

    /// A client has one configuration, on whichever transport it is written. Core Vol 3, Part G, 3.3.3.3.
    @Test func aConfigurationServesBothTransports() throws {
        try ClassicHosts.run([Self.settings, Self.settings]) { hosts in
            try await Self.pairOnBREDR(hosts)
            let published = hosts.far.database.add(
                ServiceDefinition(0xFFF0, characteristics: [CharacteristicDefinition(0xFFF1, properties: [.notify, .indicate])]))
            let configuration = try #require(published[0xFFF1]?.configuration)
            hosts.far.offerAttributesOverClassic()
            let (near, _) = try await hosts.link()
            let first = try await near.openAttributes()
            _ = try await hosts.far.advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("far")])))
            let link = try await hosts.near.connect(to: hosts.far.controller.address)
            // The address alone does not make it the same client.
            try await first.write(configuration, [1, 0])
            #expect(try await link.gatt.read(configuration) == [0, 0])
            try await link.encrypt()
            #expect(try await link.gatt.read(configuration) == [1, 0])
            let writes: [(GATTClient, GATTClient, UInt8)] = [(first, link.gatt, 0), (link.gatt, first, 2), (first, link.gatt, 1)]
            for (writer, reader, bits) in writes {
                try await writer.write(configuration, [bits, 0])
                #expect(try await reader.read(configuration) == [bits, 0])
            }
        }
    }

    // MARK: Keys that are not derived

    struct PolicyRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var first = CrossTransportTests.settings
        /// The second pairing, on BR/EDR.
        var second: PairingSettings?
        var derives = true
        /// True if the LTK of the first pairing is kept; nil if there was none.
        var isKept: Bool?
    }

    private static func row(_ name: String, derives: Bool, _ change: (inout PairingSettings) -> Void) -> PolicyRow {
        var row = PolicyRow(testDescription: name, derives: derives)
        change(&row.first)
        return row
    }

    private static let policies: [PolicyRow] = [
        row("not from P-192", derives: false) { $0.supportsSecureConnections = false },
        row("not without bonding", derives: false) { $0.isBonding = false },
        row("not where nobody wants an LTK", derives: false) { $0.localKeys = .idKey },
        row("an unauthenticated key stays one", derives: true) { ($0.ioCapability, $0.asksForMITM) = (.noInputNoOutput, false) },
        PolicyRow(testDescription: "a renewed key renews the LTK", second: CrossTransportTests.settings, isKept: false),
        {
            var weaker = CrossTransportTests.settings
            (weaker.ioCapability, weaker.asksForMITM) = (.noInputNoOutput, false)
            return PolicyRow(testDescription: "a weaker key replaces nothing", second: weaker, isKept: true)
        }(),
    ]

    @Test(arguments: policies) func whatBREDRGivesLE(_ row: PolicyRow) throws {
        try ClassicHosts.run([row.first, row.first]) { hosts in
            let (near, _) = try await hosts.link()
            let result = try await near.pair()
            try await hosts.loop.sleep(for: .seconds(1))
            let bond = hosts.near.keys.all.first
            #expect((bond?.peerLongTermKey != nil) == row.derives)
            #expect(hosts.far.keys.all.first?.localLongTermKey == bond?.peerLongTermKey)
            if row.derives { #expect(bond?.isAuthenticated == (result.model != .justWorks)) }
            guard let second = row.second else { return }
            for host in [hosts.near, hosts.far] { host.pairingSettings = second }
            _ = try await near.pair()
            try await hosts.loop.sleep(for: .seconds(1))
            let again = hosts.near.keys.all.first
            #expect((again?.peerLongTermKey == bond?.peerLongTermKey) == (row.isKept == true))
            #expect((again?.linkKey == bond?.linkKey) == (row.isKept == true) && again?.isAuthenticated == true)
            #expect(hosts.far.keys.all.first?.localLongTermKey == again?.peerLongTermKey)
        }
    }
}
