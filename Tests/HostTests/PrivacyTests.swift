import BenchTesting
import BluetoothCrypto
import HCI
import Packets
import Testing
import Timing

@testable import Host

/// Core Vol 3, Part C, 10.7: a host whose controller does not hide it, and peers that hide.
@Suite struct PrivacyTests {
    private static let identity = DeviceAddress(value: 0xA0_B0C0_D0E0)
    private static let key = [UInt8](0x50..<0x60)

    private static func bonded(with key: [UInt8]? = key) -> Bond {
        var bond = Bond(identity)
        bond.identityResolvingKey = key
        return bond
    }

    private static func privateAddress(_ prand: UInt32, _ key: [UInt8] = key) -> DeviceAddress {
        .resolvable(irk: UInt128(littleEndianOctets: key), prand: prand)
    }

    private static func start(_ loop: RunLoop, features: LEFeatures = [.leEncryption]) async throws -> FakeController {
        let controller = FakeController(loop: loop)
        controller.leFeatures = features
        try await controller.host.start()
        controller.commands.removeAll()
        return controller
    }

    private static func addresses(_ commands: [HCIPacket]) -> [DeviceAddress] {
        commands.compactMap {
            (try? $0.command(as: HCICommands.LESetRandomAddress.self)).map { DeviceAddress($0.randomAddress, kind: .random) }
        }
    }

    /// The commands of one change, with what advertises and scans paused around it.
    static let activities: [(name: String, isExtended: Bool, advertises: Bool, scans: Bool)] = [
        ("nothing", false, false, false), ("legacy advertising", false, true, false), ("scanning", false, false, true),
        ("an advertising set", true, true, false), ("both", true, true, true),
    ]

    @Test(arguments: activities)
    func anAddressLastsItsTimeAndNoLonger(name: String, isExtended: Bool, advertises: Bool, scans: Bool) throws {
        let loop = RunLoop()
        try loop.run {
            let controller = try await Self.start(loop, features: isExtended ? [.leEncryption, .leExtendedAdvertising] : [.leEncryption])
            let host = controller.host
            var settings = PrivacySettings()
            settings.lifetime = .seconds(60)
            try await host.enablePrivacy(settings)
            if advertises { _ = try await host.advertise(AdvertisingSettings()) }
            if scans { _ = try await host.scan() }
            let first = try #require(Self.addresses(controller.commands).last)
            controller.commands.removeAll()
            try await loop.sleep(for: .milliseconds(59_900))
            #expect(controller.commands.isEmpty)
            try await loop.sleep(for: .seconds(1))
            let enabling = [
                advertises
                    ? (isExtended ? HCICommands.LESetExtendedAdvertisingEnable.opcode : HCICommands.LESetAdvertisingEnable.opcode) : nil,
                scans ? (isExtended ? HCICommands.LESetExtendedScanEnable.opcode : HCICommands.LESetScanEnable.opcode) : nil,
            ].compactMap { $0 }
            let inSet = isExtended && advertises ? [HCICommands.LESetAdvertisingSetRandomAddress.opcode] : []
            #expect(controller.opcodes == enabling + [HCICommands.LESetRandomAddress.opcode] + inSet + enabling)
            let second = try #require(Self.addresses(controller.commands).last)
            let own = UInt128(littleEndianOctets: try #require(host.keys.identityResolvingKey))
            #expect(first != second && first.resolves(with: own) && second.resolves(with: own))
            #expect(host.privateAddress == second && host.address != second)
            try await loop.sleep(for: .seconds(6000))
            #expect(Set(Self.addresses(controller.commands)).count == 101)
            #expect(host.counters.failedAddressChanges == 0)
        }
    }

    struct Report: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var address: DeviceAddress
        var isDeviceMode: Bool?
        var bondKey: [UInt8]? = PrivacyTests.key
        var isReported = true
        var isKnown = true
    }

    static let reports = [
        Report(testDescription: "a private address", address: privateAddress(7)),
        Report(testDescription: "another one", address: privateAddress(0x3F_FFF0), isDeviceMode: false),
        Report(testDescription: "somebody else's", address: privateAddress(7, [UInt8](0..<16)), isKnown: false),
        Report(testDescription: "the identity address", address: identity),
        Report(testDescription: "the identity address in device mode", address: identity, isDeviceMode: true),
        Report(testDescription: "the identity address in network mode", address: identity, isDeviceMode: false, isReported: false),
        Report(testDescription: "of a peer without IRK", address: identity, isDeviceMode: false, bondKey: nil),
        Report(testDescription: "a private address of a peer without IRK", address: privateAddress(7), bondKey: nil, isKnown: false),
    ]

    /// Core Vol 6, Part B, 1.3.2.3 and 4.7, for reports and for connections.
    @Test(arguments: reports) func aPeerIsKnownByItsPrivateAddresses(_ row: Report) throws {
        let loop = RunLoop()
        try loop.run {
            let controller = try await Self.start(loop)
            let host = controller.host
            host.keys.add(Self.bonded(with: row.bondKey))
            if let isDeviceMode = row.isDeviceMode {
                var settings = PrivacySettings()
                settings.isDeviceMode = isDeviceMode
                try await host.enablePrivacy(settings)
            }
            let seen = Seen()
            let scan = try await host.scan { seen.reports.append($0) }
            controller.emit(
                HCIPacket(
                    event: HCIEvents.LEAdvertisingReport(reports: [
                        .init(
                            eventType: .advInd, addressType: AddressType(rawValue: row.address.kind.rawValue), address: BDADDR(row.address),
                            rssi: -40)
                    ])))
            try await loop.sleep(for: .milliseconds(1))
            try await scan.stop()
            #expect(seen.reports.map(\.identity) == (row.isReported ? [row.isKnown ? PeerIdentity(Self.identity) : nil] : []))
            controller.emit(
                HCIPacket(
                    event: HCIEvents.LEConnectionComplete(
                        connectionHandle: 0x40, role: .peripheral, peerAddressType: AddressType(rawValue: row.address.kind.rawValue),
                        peerAddress: BDADDR(row.address), connectionInterval: 24, supervisionTimeout: 200)))
            let connection = try await host.nextIncomingConnection()
            #expect((connection.bond != nil) == row.isKnown)
            #expect(connection.peer.address == (row.isKnown ? Self.identity : row.address) && connection.addresses.peer == row.address)
            try await loop.sleep(for: .milliseconds(10))
            #expect(connection.isConnected == row.isReported)
        }
    }

    private final class Seen { var reports: [AdvertisingReport] = [] }

    @Test func aCentralFindsABondedPeerUnderItsPrivateAddress() throws {
        let loop = RunLoop()
        try loop.run {
            let controller = try await Self.start(loop)
            controller.host.keys.add(Self.bonded())
            let address = Self.privateAddress(99)
            for (delay, sender) in [(10, Self.privateAddress(99, [UInt8](0..<16))), (20, address)] {
                loop.schedule(after: .milliseconds(delay)) {
                    controller.emit(
                        HCIPacket(
                            event: HCIEvents.LEAdvertisingReport(reports: [
                                .init(eventType: .advInd, addressType: .randomDevice, address: BDADDR(sender), rssi: -40)
                            ])))
                }
            }
            controller.script[HCICommands.LECreateConnection.opcode] = { [unowned controller] _ in
                controller.loop.schedule(after: 10) {
                    controller.emit(
                        HCIPacket(
                            event: HCIEvents.LEConnectionComplete(
                                connectionHandle: 0x40, role: .central, peerAddressType: .randomDevice, peerAddress: BDADDR(address),
                                connectionInterval: 24, supervisionTimeout: 200)))
                }
                return [HCIPacket(statusOpcode: HCICommands.LECreateConnection.opcode, .success)]
            }
            let connection = try await controller.host.connect(to: Self.identity)
            #expect(connection.peer.address == Self.identity && connection.addresses.peer == address)
            let command = try #require(controller.commands.compactMap { try? $0.command(as: HCICommands.LECreateConnection.self) }.last)
            #expect(command.peerAddress == BDADDR(address) && command.peerAddressType == .randomDevice)
            let before = loop.now
            #expect(await failure { _ = try await controller.host.connect(to: Self.identity) } == .peer(.timedOut(.connection)))
            #expect(loop.now - before == .seconds(10))
        }
    }

    @Test func directedAdvertisingIsForAnIdentityOrForOneOfItsPrivateAddresses() throws {
        let loop = RunLoop()
        try loop.run {
            let host = try await Self.start(loop).host
            let bond = Self.bonded()
            #expect(host.directedAdvertising(to: bond).peer == Self.identity)
            let target = try #require(host.directedAdvertising(to: bond, isHighDuty: true, resolves: true).peer)
            #expect(target.resolves(with: UInt128(littleEndianOctets: Self.key)))
            #expect(host.directedAdvertising(to: Self.bonded(with: nil), resolves: true).peer == Self.identity)
        }
    }
}
