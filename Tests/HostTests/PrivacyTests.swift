import BBBenchTesting
import BBBluetoothCrypto
import BBHCI
import BBPackets
import BBSimulation
import BBTiming
import Testing

@testable import BBHost

/// Core Vol 3, Part C, 10.7: a host whose controller does not support privacy, and peers with private addresses.
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

    private static func start(_ world: World, features: LEFeatures = [.leEncryption]) async throws -> FakeController {
        let controller = FakeController(world)
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

    /// Commands of one change, with advertising and scanning paused around it.
    static let activities: [(name: String, isExtended: Bool, advertises: Bool, scans: Bool)] = [
        ("nothing", false, false, false), ("legacy advertising", false, true, false), ("scanning", false, false, true),
        ("an advertising set", true, true, false), ("both", true, true, true),
    ]

    @Test(arguments: activities)
    func anAddressLastsItsTimeAndNoLonger(name: String, isExtended: Bool, advertises: Bool, scans: Bool) throws {
        try World.run { world in
            let controller = try await Self.start(world, features: isExtended ? [.leEncryption, .leExtendedAdvertising] : [.leEncryption])
            let host = controller.host
            var settings = PrivacySettings()
            settings.lifetime = .seconds(60)
            try await host.enablePrivacy(settings)
            if advertises { _ = try await host.advertise(AdvertisingSettings()) }
            if scans { _ = try await host.scan() }
            let first = try #require(Self.addresses(controller.commands).last)
            controller.commands.removeAll()
            try await world.loop.sleep(for: .milliseconds(59_900))
            #expect(controller.commands.isEmpty)
            try await world.loop.sleep(for: .seconds(1))
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
            try await world.loop.sleep(for: .seconds(6000))
            #expect(Set(Self.addresses(controller.commands)).count == 101)
            #expect(host.counters.failedAddressChanges == 0)
        }
    }

    struct Report: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var address: DeviceAddress
        var isDeviceMode: Bool?
        var bondKey: [UInt8]? = PrivacyTests.key
        /// The address under which the bond was created.
        var met: DeviceAddress?
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
        Report(testDescription: "of a peer that bonded under it", address: identity, isDeviceMode: false, met: identity),
        Report(testDescription: "a private address of such a peer", address: privateAddress(7), isDeviceMode: false, met: identity),
        Report(testDescription: "of a peer without IRK", address: identity, isDeviceMode: false, bondKey: nil),
        Report(testDescription: "a private address of a peer without IRK", address: privateAddress(7), bondKey: nil, isKnown: false),
    ]

    /// Core Vol 6, Part B, 1.3.2.3 and 4.7, for reports and connections.
    @Test(arguments: reports) func aPeerIsKnownByItsPrivateAddresses(_ row: Report) throws {
        try World.run { world in
            let controller = try await Self.start(world)
            let host = controller.host
            var bond = Self.bonded(with: row.bondKey)
            bond.addressOnAir = row.met
            host.keys.add(bond)
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
            try await world.loop.sleep(for: .milliseconds(1))
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
            try await world.loop.sleep(for: .milliseconds(10))
            #expect(connection.isConnected == row.isReported)
        }
    }

    private final class Seen { var reports: [AdvertisingReport] = [] }

    @Test func aCentralFindsABondedPeerUnderItsPrivateAddress() throws {
        try World.run { world in
            let controller = try await Self.start(world)
            controller.host.keys.add(Self.bonded())
            let address = Self.privateAddress(99)
            for (delay, sender) in [(10, Self.privateAddress(99, [UInt8](0..<16))), (20, address)] {
                world.loop.schedule(after: .milliseconds(delay)) {
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
            let before = world.loop.now
            #expect(await failure { _ = try await controller.host.connect(to: Self.identity) } == .peer(.timedOut(.connection)))
            #expect(world.loop.now - before == .seconds(10))
        }
    }

    /// The peer is found by its private address, with the controller's resolving list or by the host.
    @Test(arguments: [(true, true), (true, false), (false, true), (false, false)])
    func twoThatHideMeetAgain(hasResolvingList: Bool, isExtended: Bool) throws {
        func configure(_ configuration: inout ControllerConfiguration) {
            if !hasResolvingList { configuration.features.remove(.llPrivacy) }
            if !isExtended { configuration.features.remove(.leExtendedAdvertising) }
        }
        try SimulatedHosts.run(configure: configure) { world in
            world.peripheral.pairingSettings = PairingSettings()
            let (first, _) = try await world.link()
            try await first.pair()
            // The last keys arrive, then the link ends.
            try await world.loop.sleep(for: .milliseconds(500))
            try await first.disconnect()
            try await world.loop.sleep(for: .milliseconds(500))
            for host in [world.central, world.peripheral] { try await host.enablePrivacy() }
            _ = try await world.peripheral.advertise(AdvertisingSettings())
            let seen = Seen()
            let scan = try await world.central.scan { seen.reports.append($0) }
            try await world.loop.sleep(for: .seconds(1))
            try await scan.stop()
            let report = try #require(seen.reports.first)
            #expect(report.identity == PeerIdentity(SimulatedHosts.peripheralAddress))
            #expect((report.addressType == .publicIdentity) == hasResolvingList)
            let second = try await world.central.connect(to: SimulatedHosts.peripheralAddress)
            let far = try await world.peripheral.nextIncomingConnection()
            #expect(second.peer == PeerIdentity(SimulatedHosts.peripheralAddress))
            #expect(far.peer == PeerIdentity(SimulatedHosts.centralAddress))
            #expect(second.addresses.peer == world.peripheral.privateAddress && far.addresses.peer == world.central.privateAddress)
            try await second.encrypt()
            #expect(second.security == .encrypted)
        }
    }

    struct Target: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// The peer's Central Address Resolution value; nil if the characteristic is missing.
        var characteristic: [UInt8]?
        var isAsked = true
        var resolves = false
    }

    static let targets = [
        Target(testDescription: "not asked", characteristic: [1], isAsked: false), Target(testDescription: "without the characteristic"),
        Target(testDescription: "no", characteristic: [0]), Target(testDescription: "yes", characteristic: [1], resolves: true),
        Target(testDescription: "reserved", characteristic: [2]), Target(testDescription: "too long", characteristic: [1, 0]),
    ]

    /// Core Vol 3, Part C, 12.4: directed advertising to a private address only if the peer supports address resolution.
    @Test(arguments: targets) func directedAdvertisingIsForAnIdentityOrForOneOfItsPrivateAddresses(_ row: Target) throws {
        try SimulatedHosts.run { world in
            if let value = row.characteristic {
                world.central.database.add(
                    ServiceDefinition(
                        0xFFF7, characteristics: [CharacteristicDefinition(.centralAddressResolution, properties: .read, value: value)]))
            }
            world.peripheral.pairingSettings = PairingSettings()
            let (near, far) = try await world.link()
            try await near.pair()
            try await world.loop.sleep(for: .milliseconds(500))
            if row.isAsked { #expect(try await far.readCentralAddressResolution() == row.resolves) }
            let bond = try #require(far.bond)
            #expect(bond.resolvesAddresses == (row.isAsked ? row.resolves : nil))
            let target = try #require(world.peripheral.directedAdvertising(to: bond, isHighDuty: true).peer)
            let key = UInt128(littleEndianOctets: try #require(bond.identityResolvingKey))
            #expect(row.resolves ? target.resolves(with: key) : target == SimulatedHosts.centralAddress)
        }
    }

    static let refusals: [(name: String, activity: HostError.Activity)] = [
        ("scanning", .scanning), ("advertising", .advertising), ("hiding already", .privacy),
    ]

    /// A controller accepts neither an address nor a resolving list change while it is on the air. Core Vol 4, Part E, 7.8.4, 7.8.38 and
    /// 7.8.44.
    @Test(arguments: refusals) func whatIsOnTheAirCannotHide(name: String, activity: HostError.Activity) throws {
        try World.run { world in
            let controller = try await Self.start(world)
            switch activity {
            case .scanning: _ = try await controller.host.scan()
            case .advertising: _ = try await controller.host.advertise(AdvertisingSettings())
            default: try await controller.host.enablePrivacy()
            }
            controller.commands.removeAll()
            #expect(await failure { try await controller.host.enablePrivacy() } == .misuse(.busy(activity)))
            #expect(controller.commands.isEmpty)
        }
    }

    @Test func aPrivateAddressEndsWithPrivacy() throws {
        try World.run { world in
            let controller = try await Self.start(world)
            try await controller.host.enablePrivacy()
            #expect(controller.host.privateAddress != nil)
            try await controller.host.disablePrivacy()
            #expect(controller.host.privateAddress == nil)
            controller.commands.removeAll()
            try await world.loop.sleep(for: .seconds(1_000))
            #expect(controller.commands.isEmpty)
        }
    }

    /// Core Vol 6, Part B, 1.3.2.2: the two most significant bits are 0.
    @Test func nonResolvableAddressesAreNewEachTime() throws {
        try World.run { world in
            let host = try await Self.start(world).host
            let addresses = (0..<100).map { _ in host.drawNonResolvableAddress() }
            #expect(Set(addresses).count == 100 && addresses.allSatisfy { $0.kind == .random && $0.value >> 46 == 0 })
        }
    }

    /// Bonds without IRK, and those beyond its size, are not added to the controller's list.
    @Test(arguments: [0, 1, 2, 9]) func theResolvingListTakesWhatItHasRoomFor(size: Int) throws {
        try World.run { world in
            let controller = try await Self.start(world, features: [.leEncryption, .llPrivacy])
            controller.script[HCICommands.LEReadResolvingListSize.opcode] = { _ in
                [HCIPacket(completeOpcode: HCICommands.LEReadResolvingListSize.opcode, returns: [0, UInt8(size)])]
            }
            for number in 0..<4 {
                var bond = Bond(DeviceAddress(value: 0xB0 + UInt64(number)))
                if number != 1 { bond.identityResolvingKey = [UInt8](repeating: UInt8(number + 1), count: 16) }
                controller.host.keys.add(bond)
            }
            try await controller.host.enablePrivacy()
            let added = controller.commands.compactMap { try? $0.command(as: HCICommands.LEAddDeviceToResolvingList.self) }
            #expect(added.map(\.peerIdentityAddress.rawValue) == [0xB0, 0xB2, 0xB3].prefix(size).map { $0 })
            #expect(added.allSatisfy { $0.localIRK == controller.host.keys.identityResolvingKey })
        }
    }
}
