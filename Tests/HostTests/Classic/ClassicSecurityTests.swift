import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Pairing between two hosts on BR/EDR over the simulated air, with a user at both. Core Vol 3, Part C, 5.2.2.
@Suite struct ClassicSecurityTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var near = PairingSettings()
        var far = PairingSettings()
        var model: AssociationModel?
        var type: LinkKeyType
        var level: SecurityMode4Level
    }

    private static func row(
        _ name: String, _ near: IOCapability, _ far: IOCapability, _ model: AssociationModel?, _ type: LinkKeyType,
        _ level: SecurityMode4Level, _ change: (inout PairingSettings, inout PairingSettings) -> Void = { _, _ in }
    ) -> Row {
        var row = Row(testDescription: name, model: model, type: type, level: level)
        (row.near.ioCapability, row.far.ioCapability) = (near, far)
        row.near.asksForMITM = model != .justWorks
        change(&row.near, &row.far)
        return row
    }

    private static let rows: [Row] = [
        row(
            "numeric comparison", .displayYesNo, .displayYesNo, .numericComparison, .authenticatedCombinationP256, .secureConnections),
        row("the far side's passkey", .keyboardOnly, .displayOnly, .passkeyEntry, .authenticatedCombinationP256, .secureConnections),
        row("the near side's passkey", .displayOnly, .keyboardOnly, .passkeyEntry, .authenticatedCombinationP256, .secureConnections),
        row("just works", .noInputNoOutput, .displayYesNo, .justWorks, .unauthenticatedCombinationP256, .unauthenticated),
        row("P-192", .displayYesNo, .displayYesNo, .numericComparison, .authenticatedCombinationP192, .authenticated) {
            $1.supportsSecureConnections = false
        },
        row("a PIN", .displayYesNo, .displayYesNo, nil, .combination, .unauthenticated) {
            $1.supportsSimplePairing = false
            ($0.pin, $1.pin) = ([0x30, 0x30, 0x30, 0x30], [0x30, 0x30, 0x30, 0x30])
            $0.asksForMITM = false
        },
        row("out of band", .noInputNoOutput, .noInputNoOutput, .outOfBand, .authenticatedCombinationP256, .secureConnections),
    ]

    @Test(arguments: rows) func hostsPairAndComeBack(_ row: Row) throws {
        try ClassicHosts.run([row.near, row.far]) { hosts in
            let user = SimulatedPairingTests.User(hosts.loop)
            (hosts.near.pairingDialogue, hosts.far.pairingDialogue) = (user.dialogue, user.dialogue)
            if row.model == .outOfBand { hosts.near.pairingSettings?.classicOutOfBandData = try await hosts.far.makeClassicOutOfBandData() }
            let (near, far) = try await hosts.link()
            let told = Told(far)
            let result = try await near.pair()
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(told.results.count == 1)
            for result in [result] + told.results {
                #expect(result.model == row.model && result.level == row.level.linkSecurity && result.keySize == 16 && result.isBonded)
                #expect(result.isSecureConnections == (row.type.rawValue >= LinkKeyType.unauthenticatedCombinationP256.rawValue))
            }
            let key = try #require(hosts.near.keys[near.peer]?.linkKey)
            #expect(key.type == row.type && hosts.far.keys[far.peer]?.linkKey == key)
            #expect([near, far].allSatisfy { $0.securityLevel == row.level && $0.encryptionKeySize == 16 })
            try await near.disconnect()
            // With the stored key, without a question.
            (hosts.near.pairingSettings, hosts.far.pairingSettings) = (nil, nil)
            let (again, other) = try await hosts.link()
            #expect([again, other].allSatisfy { $0.securityLevel == .open && $0.encryptionKeySize == 0 })
            try await again.secure(to: row.level)
            try await hosts.loop.sleep(for: .seconds(1))
            #expect([again, other].allSatisfy { $0.securityLevel == row.level } && user.ends <= 2)
            #expect(hosts.near.keys[near.peer]?.linkKey == key)
        }
    }

    private final class Told {
        var results: [PairingResult] = []
        var failures: [HostError] = []

        init(_ connection: ClassicConnection) {
            connection.events.add { [unowned self] in
                switch $0 {
                case .paired(let result): results.append(result)
                case .pairingFailed(let error): failures.append(error)
                case .secured, .derived, .derivationFailed, .disconnected: break
                }
            }
        }
    }

    private static func settings(_ io: IOCapability) -> PairingSettings {
        var settings = PairingSettings()
        settings.ioCapability = io
        return settings
    }

    // MARK: Levels of services

    struct ServiceRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var psm: UInt16 = 0x1001
        /// Level required by the far device, and actions of the near device before it opens the channel.
        var wanted: SecurityMode4Level?
        var offered: SecurityMode4Level
        var result: ConnectionResult?
        var ends: SecurityMode4Level
    }

    private static let services = [
        ServiceRow(testDescription: "service discovery needs nothing", psm: 1, offered: .open, ends: .open),
        ServiceRow(testDescription: "other services need encryption", offered: .open, result: .refusedSecurityBlock, ends: .open),
        ServiceRow(testDescription: "and get it", offered: .unauthenticated, ends: .secureConnections),
        ServiceRow(testDescription: "level 4", wanted: .secureConnections, offered: .secureConnections, ends: .secureConnections),
        ServiceRow(testDescription: "a service for all", wanted: .open, offered: .open, ends: .open),
    ]

    @Test(arguments: services) func aServiceHasItsLevel(_ row: ServiceRow) throws {
        var protected = Self.settings(.displayYesNo)
        protected.asksForMITM = true
        try ClassicHosts.run([protected, protected]) { hosts in
            var arrived = 0
            hosts.far.listen(psm: row.psm, level: row.wanted) { _, connection in
                #expect(connection.address == hosts.near.controller.address.bdADDR)
                arrived += 1
            }
            let (near, far) = try await hosts.link()
            do {
                _ = try await near.openChannel(row.psm, level: row.offered)
                #expect(row.result == nil)
            } catch HostError.peer(.channel(.refused(let result))) {
                #expect(result == row.result)
            }
            #expect(arrived == (row.result == nil ? 1 : 0))
            try await hosts.loop.sleep(for: .seconds(1))
            #expect([near, far].allSatisfy { $0.securityLevel == row.ends })
        }
    }

    /// A request in clear for a protected service ends the link. Core Vol 3, Part C, 5.2.2.
    @Test(arguments: [(PSM.sdp, nil), (0x1001, .authenticationFailure)] as [(UInt16, ErrorCode?)])
    func aRequestInClearEndsTheLink(_ psm: UInt16, _ reason: ErrorCode?) throws {
        try ClassicHosts.run([PairingSettings(), PairingSettings()]) { hosts in
            hosts.far.listen(psm: psm) { _, _ in }
            let (near, _) = try await hosts.link()
            _ = try? await near.openChannel(psm, level: .open)
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(near.disconnectReason == reason)
        }
    }

    /// In Secure Connections Only mode every service but service discovery needs level 4, as acceptor and as initiator.
    @Test(arguments: [true, false]) func secureConnectionsOnlyRaisesEachService(_ isAcceptor: Bool) throws {
        var (only, weak) = (Self.settings(.displayYesNo), Self.settings(.displayYesNo))
        only.isSecureConnectionsOnly = true
        weak.supportsSecureConnections = false
        try ClassicHosts.run(isAcceptor ? [weak, only] : [only, weak]) { hosts in
            hosts.far.listen(psm: 0x1001, level: .authenticated) { _, _ in }
            let (near, _) = try await hosts.link()
            await #expect(throws: HostError.self) { _ = try await near.openChannel(0x1001, level: .authenticated) }
        }
    }

    /// Limited discoverable mode answers both access codes and is told by the class of device. Core Vol 3, Part C, 4.1.2.
    @Test(arguments: [true, false]) func limitedModeIsFoundByBothInquiries(_ isLimited: Bool) throws {
        try ClassicHosts.run { hosts in
            try await hosts.far.describeClassic(ClassicDescription(name: "far", classOfDevice: 0x24_0404))
            try await hosts.far.setScan(isDiscoverable: true, isConnectable: true, isLimited: true)
            if !isLimited { try await hosts.far.setScan(isDiscoverable: true, isConnectable: true) }
            for asksLimited in [true, false] {
                var settings = InquirySettings()
                settings.isLimited = asksLimited
                let found = try await hosts.near.inquire(settings).ended().map(\.classOfDevice)
                #expect(found == (asksLimited && !isLimited ? [] : [isLimited ? 0x24_2404 : 0x24_0404]))
            }
        }
    }

    /// A key that is too weak for a service is replaced by a stronger one on the same link.
    @Test func aLinkIsPairedAgainForMore() throws {
        try ClassicHosts.run([PairingSettings(), PairingSettings()]) { hosts in
            let (near, far) = try await hosts.link()
            try await near.secure(to: .unauthenticated)
            let first = hosts.near.keys[near.peer]?.linkKey
            let user = SimulatedPairingTests.User(hosts.loop)
            for host in [hosts.near, hosts.far] {
                (host.pairingSettings, host.pairingDialogue) = (Self.settings(.displayYesNo), user.dialogue)
            }
            hosts.far.listen(psm: 0x1001, level: .secureConnections) { _, _ in }
            _ = try await near.openChannel(0x1001, level: .secureConnections)
            #expect([near, far].allSatisfy { $0.securityLevel == .secureConnections })
            #expect(hosts.near.keys[near.peer]?.linkKey != first && user.compared.count == 2)
        }
    }

    // MARK: Failures

    struct FailureRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Change of the far device after pairing.
        var change: @Sendable (Host, PeerIdentity) -> Void
        var error: ErrorCode
        var isConnected: Bool
    }

    private static let failures = [
        FailureRow(
            testDescription: "the other side has lost its key", change: { $0.keys.remove($1) }, error: .pinOrKeyMissing, isConnected: true),
        FailureRow(
            testDescription: "the other side has another key",
            change: { $0.keys[$1]?.linkKey?.value[3] ^= 1 }, error: .authenticationFailure, isConnected: false),
    ]

    /// The failure is reported; the existing key is kept, and only an explicit pairing replaces it.
    @Test(arguments: failures) func aKeyThatFailsIsTold(_ row: FailureRow) throws {
        try ClassicHosts.run([PairingSettings(), PairingSettings()]) { hosts in
            let (first, others) = try await hosts.link()
            try await first.secure(to: .unauthenticated)
            let key = try #require(hosts.near.keys[first.peer]?.linkKey)
            try await first.disconnect()
            row.change(hosts.far, others.peer)
            let (near, _) = try await hosts.link()
            let told = Told(near)
            await #expect(throws: HostError.peer(.rejected("Authentication_Requested", row.error))) {
                try await near.secure(to: .unauthenticated)
            }
            #expect(told.failures.count == 1 && near.securityLevel == .open)
            #expect(hosts.near.keys[near.peer]?.linkKey == key)
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(near.isConnected == row.isConnected)
            let last = row.isConnected ? near : try await hosts.link().near
            _ = try await last.pair()
            #expect(last.securityLevel == .unauthenticated && hosts.near.keys[near.peer]?.linkKey != key)
        }
    }

    /// If the user rejects, or the host does not pair, both devices report it.
    @Test(arguments: [true, false]) func aRefusedPairingIsTold(pairs: Bool) throws {
        try ClassicHosts.run([PairingSettings(), pairs ? PairingSettings() : nil]) { hosts in
            hosts.far.pairingDialogue = .unattended(accepts: false)
            let (near, far) = try await hosts.link()
            let told = Told(far)
            await #expect(throws: HostError.self) { try await near.secure(to: .unauthenticated) }
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(told.failures.count == 1 && told.results.isEmpty && far.securityLevel == .open)
            #expect(hosts.near.keys.all.isEmpty && hosts.far.keys.all.isEmpty)
        }
    }

    // MARK: Finding

    @Test(arguments: InquirySettings.Mode.allCases) func devicesAreFound(mode: InquirySettings.Mode) throws {
        try ClassicHosts.run { hosts in
            let name = "caf\u{E9} \u{1F4E1}"
            try await hosts.far.describeClassic(ClassicDescription(name: name, classOfDevice: 0x24_0404, services: [0x110B, 0x111E]))
            var settings = InquirySettings()
            settings.mode = mode
            var heard: [InquiryResult] = []
            let found = try await hosts.near.inquire(settings) { heard.append($0) }.ended()
            let result = try #require(found.first)
            #expect(found == heard && found.count == 1 && result.address == hosts.farAddress && result.classOfDevice == 0x24_0404)
            #expect((result.rssi != nil) == (mode != .standard) && result.name == (mode == .extended ? name : nil))
            #expect(result.data?.serviceUUIDs ?? [0x110B, 0x111E] == [0x110B, 0x111E])
            _ = try await hosts.near.connectClassic(to: result.address)
            #expect(try await hosts.near.name(of: result.address, found: result) == name)
            let running = try await hosts.near.inquire()
            await #expect(throws: HostError.misuse(.busy(.inquiry))) { _ = try await hosts.near.inquire() }
            try await running.stop()
            #expect(try await running.ended().isEmpty)
        }
    }
}
