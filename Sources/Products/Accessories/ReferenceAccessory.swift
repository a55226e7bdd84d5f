import BBBluetoothCrypto
import BBCases
import BBHost
import BBPackets
import BBTiming

/// The accessory of docs/guide/accessory.md on the bench's host.
final class ReferenceAccessory: Accessory {
    private let host: Host
    private let loop: RunLoop
    private let conduct: AccessoryConduct
    private var handles = Handles()
    private var tasks: [Activity<Void>] = []
    private let protected: ProtectedService
    private var listener: Listeners<(Connection) -> Void>.Token?

    private struct Handles {
        var long: UInt16 = 0
        var short: UInt16 = 0
        var notifier: UInt16 = 0
        var indicator: UInt16 = 0
        var controlPoint: UInt16 = 0
    }

    private static let longValue = (0..<300).map { UInt8($0 % 256) }

    init(_ host: Host, loop: RunLoop, conduct: AccessoryConduct) {
        self.host = host
        self.conduct = conduct
        self.loop = loop
        protected = ProtectedService(host, loop: loop, conduct: conduct)
    }

    /// Returns the profile's UUID with these four digits.
    static func uuid(_ digits: UInt16) -> BluetoothUUID {
        BluetoothUUID(long: 0xB1BE_0000_7E57_4ACC_9D3A_0B5E_55ED_0001 | UInt128(digits) << 96)
    }

    func start() async {
        if let mtu = conduct.mtu { host.setOfferedMTU(mtu) }
        host.database.choices = conduct.server
        publish()
        listener = host.newConnections.add { [self] link in
            if host.connections.count == 1 {
                restoreValues()
                protected.restore()
            }
            protected.connected(link)
            if conduct.asks { tasks.append(loop.start { [self] in try await conduct.ask(on: link, loop: loop) }) }
        }
        tasks.append(loop.start { [self] in try await serve() })
    }

    func stop() async {
        await protected.stop()
        for task in tasks { task.cancel() }
        for task in tasks { await task.ended() }
        tasks.removeAll()
        if let listener { host.newConnections.remove(listener) }
        listener = nil
    }

    // MARK: Service

    /// Advertises while it can take another connection.
    private func serve() async throws {
        var settings = AdvertisingSettings(
            data: AdvertisingData([
                .flags([.generalDiscoverable, .brEDRNotSupported]), .txPowerLevel(0), .services([BluetoothUUID(0x180F)], complete: false),
                .completeLocalName(TestCase.referenceName),
            ]),
            scanResponse: AdvertisingData([.services([Self.uuid(0)]), .manufacturerData(company: 0xFFFF, [1, 0])]))
        settings.intervalMin = (conduct.advertisingInterval ?? 100) * 8 / 5
        settings.intervalMax = settings.intervalMin
        try await ConnectableAdvertising(host: host, settings: settings, most: conduct.links).run()
    }

    private func restoreValues() {
        host.database[handles.long] = Self.longValue
        host.database[handles.short] = [0x2A]
    }

    private func publish() {
        let database = host.database
        addServices(conduct.servicesBefore, from: 0x0100)
        database.add(
            ServiceDefinition(
                BluetoothUUID(0x180A),
                characteristics: [
                    CharacteristicDefinition(BluetoothUUID(0x2A29), properties: .read, value: Array("Bluebench".utf8)),
                    CharacteristicDefinition(BluetoothUUID(0x2A24), properties: .read, value: Array("Reference 1".utf8)),
                ]))
        database.add(
            ServiceDefinition(
                BluetoothUUID(0x180F),
                characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A19), properties: [.read, .notify], value: [0x64])]))
        if conduct.hasControlPoints { publishControlPoints() }
        if conduct.hasSpareDeclarations { database.add(spareService) }
        if conduct.hasAllOfGenericAccess || conduct.protectsParameters { publishGenericAccess() }
        let service = database.add(testService)
        protected.publish()
        addServices(conduct.servicesAfter, from: 0x0200)
        handles.long = service[Self.uuid(2)]?.value ?? 0
        handles.short = service[Self.uuid(8)]?.value ?? 0
        handles.notifier = service[Self.uuid(4)]?.value ?? 0
        handles.indicator = service[Self.uuid(5)]?.value ?? 0
    }

    /// Replaces the Generic Access service by one with Peripheral Preferred Connection Parameters, Central Address Resolution, Resolvable
    /// Private Address Only, LE GATT Security Levels and Encrypted Data Key Material, and whose name and appearance can be written. Core Vol
    /// 3, Part C, 12.
    private func publishGenericAccess() {
        let database = host.database
        if let plain = database.services.first(where: { $0.uuid == .genericAccess }) { database.remove(plain) }
        let values: [(BluetoothUUID, [UInt8])] = [
            (.deviceName, Array(TestCase.referenceName.utf8)), (.appearance, [0, 0]), (0x2A04, [0x18, 0, 0x28, 0, 0, 0, 0x90, 0x01]),
            (.centralAddressResolution, [1]), (0x2AC9, [0]), (0x2BF5, [1, 1, 1, 2]),
        ]
        // Only name and appearance may be writable.
        let characteristics = values.enumerated().map {
            CharacteristicDefinition(
                $1.0, properties: $0 < 2 ? [.read, .write] : .read,
                permissions: conduct.protectsParameters && $1.0 == 0x2A04 ? [.read, .readEncrypted] : nil, value: $1.1)
        }
        var secrets = SecretSource(seed: 3, label: "advertising keys", on: loop)
        let keys = CharacteristicDefinition.encryptedDataKeyMaterial(AdvertisingKeyMaterial(drawnFrom: &secrets))
        database.add(ServiceDefinition(.genericAccess, characteristics: characteristics + [keys]))
    }

    /// Adds control points that support no command but Reset Energy Expended. Heart Rate Service 1.0, 3.3; Cycling Speed and Cadence
    /// Service 1.0, 3.4.
    private func publishControlPoints() {
        let database = host.database
        database.add(
            ServiceDefinition(
                0x180D,
                characteristics: [
                    CharacteristicDefinition(0x2A37, properties: .notify, permissions: []),
                    CharacteristicDefinition(
                        0x2A39, properties: .write,
                        onWrite: { _, value in Self.octets(value) == [1] ? nil : ATTErrorCode(0x80) }),
                ]))
        let cadence = database.add(
            ServiceDefinition(
                0x1816,
                characteristics: [
                    CharacteristicDefinition(
                        0x2A55, properties: [.write, .indicate],
                        onWrite: { [unowned self] access, value in
                            refuse(Self.octets(value).first ?? 0, on: access.connection)
                            return nil
                        })
                ]))
        handles.controlPoint = cadence[0x2A55]?.value ?? 0
    }

    /// Indicates Op Code Not Supported.
    private func refuse(_ opcode: UInt8, on link: Connection?) {
        guard let link else { return }
        tasks.append(loop.start { [self] in try? await link.indicate(handles.controlPoint, [0x10, opcode, 0x02]) })
    }

    private var spareService: ServiceDefinition {
        ServiceDefinition(
            Self.uuid(0x0300),
            characteristics: [
                CharacteristicDefinition(
                    Self.uuid(0x0301), properties: .read, value: [1],
                    descriptors: [DescriptorDefinition(BluetoothUUID(0x2900), value: [0, 0])]),
                CharacteristicDefinition(Self.uuid(0x0302), properties: [], value: [2]),
            ])
    }

    /// Adds services that are not part of docs/guide/accessory.md.
    private func addServices(_ count: Int, from first: UInt16) {
        for turn in 0..<UInt16(count) {
            host.database.add(
                ServiceDefinition(
                    Self.uuid(first + 2 * turn),
                    characteristics: [CharacteristicDefinition(Self.uuid(first + 2 * turn + 1), properties: .read, value: [UInt8(turn)])]))
        }
    }

    private var testService: ServiceDefinition {
        ServiceDefinition(
            Self.uuid(0),
            characteristics: [
                CharacteristicDefinition(Self.uuid(1), properties: .read, value: Array(0..<20)),
                CharacteristicDefinition(Self.uuid(2), properties: [.read, .write], value: Self.longValue, maximumLength: 512),
                CharacteristicDefinition(
                    Self.uuid(3), properties: [.write, .writeWithoutResponse],
                    onWrite: { [unowned self] access, value in
                        echo(access.connection, value)
                        return nil
                    }),
                CharacteristicDefinition(Self.uuid(4), properties: .notify, permissions: []),
                CharacteristicDefinition(Self.uuid(5), properties: .indicate, permissions: []),
                CharacteristicDefinition(
                    Self.uuid(6), properties: .write,
                    onWrite: { [unowned self] access, value in control(access.connection, Self.octets(value)) }),
                CharacteristicDefinition(Self.uuid(7), properties: .write),
                CharacteristicDefinition(Self.uuid(8), properties: [.read, .write], value: [0x2A], maximumLength: 8),
                CharacteristicDefinition(
                    Self.uuid(9), properties: .read, value: [1],
                    descriptors: [DescriptorDefinition(BluetoothUUID(0x2901), value: Array("Described".utf8))]),
            ])
    }

    // MARK: Behaviour

    private static func octets(_ span: RawSpan) -> [UInt8] { span.withUnsafeBytes { Array($0) } }

    private func echo(_ link: Connection?, _ value: RawSpan) {
        guard let link else { return }
        _ = link.tryNotify(handles.notifier, Array(Self.octets(value).prefix(link.values.longest)))
    }

    private func control(_ link: Connection?, _ value: [UInt8]) -> ATTErrorCode? {
        let lengths: [UInt8: Int] = [1: 3, 2: 3, 3: 9, 4: 3]
        guard let opcode = value.first else { return ATTErrorCode(0x0D) }
        guard let length = lengths[opcode] else { return ATTErrorCode(0x80) }
        guard value.count == length, let link else { return ATTErrorCode(0x0D) }
        tasks.append(loop.start { [self] in try await perform(opcode, Array(value.dropFirst()), on: link) })
        return nil
    }

    private func perform(_ opcode: UInt8, _ parameters: [UInt8], on link: Connection) async throws {
        func number(_ index: Int) -> UInt16 { UInt16(parameters[2 * index]) | UInt16(parameters[2 * index + 1]) << 8 }
        switch opcode {
        case 1:
            for turn in 0..<parameters[0] {
                try? await link.notify(handles.notifier, Array(Self.numbered(turn, parameters[1]).prefix(link.values.longest)))
            }
        case 2:
            for turn in 0..<parameters[0] { try? await link.indicate(handles.indicator, Self.numbered(turn, parameters[1])) }
        case 3:
            let request = ConnectionParameterRequest(
                intervalMin: number(0), intervalMax: number(1), latency: number(2), supervisionTimeout: number(3))
            try? await link.requestParameters(request)
        default:
            try await loop.sleep(for: .milliseconds(Int(number(0))))
            _ = try? await link.disconnect()
        }
    }

    private static func numbered(_ turn: UInt8, _ length: UInt8) -> [UInt8] {
        length == 0 ? [] : [turn] + [UInt8](repeating: 0, count: Int(length) - 1)
    }
}
