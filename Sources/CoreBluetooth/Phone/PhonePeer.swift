import Foundation
import Host
import Packets
import Timing

/// A device to which a phone has, or wants, a connection.
final class PhonePeer {
    /// The place of a characteristic in the database of its server.
    struct CharacteristicHandles {
        var value: UInt16
        /// Last handle that may be a descriptor.
        var end: UInt16
        var properties: CharacteristicProperties
    }

    let identifier: UUID
    /// The managers that use the connection.
    var users: [CentralPort] = []
    /// Those that want the connection again when it is lost.
    var reconnecting: [CentralPort] = []
    var link: Connection?
    /// The connection has been reported to the programs.
    private(set) var isReady = false
    private let phone: CBPhone
    private var jobs: [() async -> Void] = []
    private var isWorking = false
    private var commands: [(handle: UInt16, value: [UInt8], port: CentralPort)] = []
    /// Subscribed managers by value handle.
    private var subscribers: [UInt16: [CentralPort]] = [:]
    private var listeners: Set<UInt16> = []
    private var database: RemoteDatabase?

    /// The services that the system uses itself: Generic Access, Generic Attribute, HID, ANCS.
    private static let hidden: Set<BluetoothUUID> = [0x1800, 0x1801, 0x1812, ancs]
    private static let ancs = BluetoothUUID(long: 0x7905_F431_B5CE_4E99_A40F_4B1E_122D_00D0)

    init(_ identifier: UUID, _ phone: CBPhone) {
        self.identifier = identifier
        self.phone = phone
    }

    // MARK: The link

    /// Exchanges the MTU, reports the connection, then updates data length and PHY, as a phone does.
    func opened(_ link: Connection) {
        self.link = link
        phone.directory.connection(of: identifier, isUp: true)
        link.events.add { [weak self] event in self?.happened(event) }
        link.writable.add { [weak self] in self?.sendCommands() }
        add { [self] in
            _ = try? await link.gatt.exchangeMTU()
            guard link.isConnected else { return }
            isReady = true
            phone.connectionEvent(.peerConnected, identifier)
            for port in users { tellConnected(port) }
            _ = phone.loop.start { [self] in await tune(link) }
        }
        add { [self] in await watchChanges(link) }
    }

    private func tune(_ link: Connection) async {
        _ = try? await link.updateDataLength(txOctets: 251)
        guard link.isConnected else { return }
        _ = try? await link.updatePHY(tx: .le2M, rx: .le2M)
    }

    func tellConnected(_ port: CentralPort) {
        guard let mtu = link?.mtu else { return }
        let identifier = identifier
        port.deliver { $0.connected(identifier, mtu: mtu) }
    }

    private func happened(_ event: ConnectionEvent) {
        switch event {
        case .mtuChanged(let mtu):
            for port in users { port.deliver(to: identifier) { $0.mtu = mtu } }
        case .paired(let result): phone.directory.paired(identifier, as: result.peer)
        case .disconnected(let reason): ended(reason)
        default: break
        }
    }

    private func ended(_ reason: ErrorCode) {
        phone.directory.connection(of: identifier, isUp: false)
        jobs.removeAll()
        commands.removeAll()
        if isReady { phone.connectionEvent(.peerDisconnected, identifier) }
        phone.connecting.ended(self, reason)
    }

    func close() {
        guard let link else { return }
        self.link = nil
        jobs.removeAll()
        _ = phone.loop.start { [self] in
            _ = try? await link.disconnect()
            // Keeps this object until it has processed the disconnection.
            withExtendedLifetime(self) {}
        }
    }

    // MARK: Procedures

    /// Runs a procedure after those that were asked for before, pairs if the device demands it, and reports the result.
    func run<Value>(
        for port: CentralPort, _ procedure: @escaping (Connection) async throws -> Value,
        done: @escaping (CBPeripheral, Result<Value, any Error>) -> Void
    ) {
        add { [self] in
            guard let link else { return }
            let result = await outcome(of: procedure, over: link)
            guard link.isConnected else { return }
            let carried = Carried((result: result, done: done))
            port.deliver(to: identifier) { carried.value.done($0, carried.value.result) }
        }
    }

    private func outcome<Value>(of procedure: (Connection) async throws -> Value, over link: Connection) async -> Result<Value, any Error> {
        do {
            return .success(try await procedure(link))
        } catch HostError.peer(.att(_, _, let code)) where code == .insufficientAuthentication || code == .insufficientEncryption {
            do {
                try await link.secure(to: link.security == .none ? .encrypted : .authenticated)
                return .success(try await procedure(link))
            } catch {
                return .failure(error)
            }
        } catch {
            return .failure(error)
        }
    }

    private func add(_ job: @escaping () async -> Void) {
        jobs.append(job)
        guard !isWorking else { return }
        isWorking = true
        _ = phone.loop.start { [self] in
            while !jobs.isEmpty { await jobs.removeFirst()() }
            isWorking = false
        }
    }

    // MARK: Discovery

    /// The primary services, of a bonded device from the stored database while its hash is the same. Core Vol 3, Part G, 2.5.2.
    func services(_ wanted: [BluetoothUUID], over link: Connection) async throws -> [RemoteService] {
        var found: [RemoteService] = []
        if link.bond != nil {
            found = try await database(over: link).services.map(\.service).filter { wanted.isEmpty || wanted.contains($0.uuid) }
        } else if wanted.isEmpty {
            found = try await link.gatt.discoverServices()
        } else {
            for uuid in wanted { found += try await link.gatt.discoverServices(uuid: uuid) }
        }
        found.removeAll { Self.hidden.contains($0.uuid) }
        phone.directory.learned(found.map(\.uuid), of: identifier)
        return found
    }

    func characteristics(_ wanted: [BluetoothUUID], in service: RemoteService, over link: Connection) async throws
        -> [RemoteCharacteristic]
    {
        var found: [RemoteCharacteristic]
        if link.bond != nil, let stored = try await stored(service, over: link) {
            found = stored.characteristics.map(\.characteristic)
        } else {
            found = try await link.gatt.discoverCharacteristics(in: service)
        }
        if !wanted.isEmpty { found.removeAll { !wanted.contains($0.uuid) } }
        return found
    }

    func descriptors(of characteristic: CharacteristicHandles, over link: Connection) async throws -> [RemoteDescriptor] {
        if link.bond != nil {
            let all = try await database(over: link).services.flatMap(\.characteristics)
            if let entry = all.first(where: { $0.characteristic.value == characteristic.value }) { return entry.descriptors }
        }
        guard characteristic.value < characteristic.end else { return [] }
        return try await link.gatt.discoverDescriptors(from: characteristic.value + 1, to: characteristic.end)
    }

    private func stored(_ service: RemoteService, over link: Connection) async throws -> RemoteDatabase.Service? {
        try await database(over: link).services.first { $0.service.handle == service.handle }
    }

    /// The database of a bonded device, whose hash is compared once on each connection and after each change.
    private func database(over link: Connection) async throws -> RemoteDatabase {
        if let database { return database }
        let found = try await link.gatt.discoverDatabase()
        database = found
        return found
    }

    /// Asks the device to report changes of its database, as a phone does on each connection. Core Vol 3, Part G, 7.1.
    private func watchChanges(_ link: Connection) async {
        guard let service = try? await link.gatt.discoverServices(uuid: .genericAttribute).first,
            let changed = try? await link.gatt.discoverCharacteristics(in: service, uuid: .serviceChanged).first
        else { return }
        _ = try? await link.gatt.subscribe(changed, .indication) { [weak self] _, _, value in
            guard value.byteCount >= 4 else { return }
            let (start, end) = (value.u16(at: 0), value.u16(at: 2))
            self?.changed(start...max(start, end))
        }
    }

    private func changed(_ range: ClosedRange<UInt16>) {
        database = nil
        for port in users { port.deliver(to: identifier) { $0.modified(range) } }
    }

    // MARK: Values

    /// The configuration is written when the first manager subscribes and when the last one ends its subscription.
    func setNotify(
        _ isOn: Bool, _ characteristic: CharacteristicHandles, for port: CentralPort,
        done: @escaping (CBPeripheral, Result<Void, any Error>) -> Void
    ) {
        let handle = characteristic.value
        run(for: port) { [self] link in
            var subscribed = subscribers[handle] ?? []
            let before = subscribed.isEmpty
            subscribed.removeAll { $0 === port }
            if isOn { subscribed.append(port) }
            if before != subscribed.isEmpty {
                // A value may follow the response at once.
                if isOn { subscribers[handle] = subscribed }
                do { try await configure(characteristic, isOn, over: link) } catch {
                    if isOn { subscribers[handle] = nil }
                    throw error
                }
            }
            subscribers[handle] = subscribed
        } done: {
            done($0, $1)
        }
    }

    private func configure(_ characteristic: CharacteristicHandles, _ isOn: Bool, over link: Connection) async throws {
        let handle = characteristic.value
        guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
            throw HostError.peer(.att(request: .attWriteReq, handle: handle, .requestNotSupported))
        }
        let descriptors = try await descriptors(of: characteristic, over: link)
        guard let configuration = descriptors.first(where: { $0.uuid == .clientConfiguration }) else {
            throw HostError.peer(.att(request: .attWriteReq, handle: handle, .attributeNotFound))
        }
        if listeners.insert(handle).inserted {
            link.gatt.values(of: handle).add { [weak self] _, _, value in self?.received(handle, value.octets) }
        }
        let bits: UInt8 = !isOn ? 0 : characteristic.properties.contains(.notify) ? 1 : 2
        try await link.gatt.write(configuration.handle, [bits, 0])
    }

    private func received(_ handle: UInt16, _ value: [UInt8]) {
        for port in subscribers[handle] ?? [] { port.deliver(to: identifier) { $0.received(handle, value) } }
    }

    func command(_ handle: UInt16, _ value: [UInt8], for port: CentralPort) {
        commands.append((handle, value, port))
        sendCommands()
    }

    private func sendCommands() {
        while let command = commands.first, let link {
            let result = link.gatt.tryWriteCommand(command.handle, command.value)
            if result == .full { return }
            commands.removeFirst()
            command.port.deliver(to: identifier) { $0.commandLeft() }
        }
    }

    // MARK: Channels

    func openChannel(_ psm: CBL2CAPPSM, for port: CentralPort) {
        let phone = phone
        run(for: port) { link in
            do {
                return try await link.openChannel(psm, .phone)
            } catch HostError.peer(.channel) where link.security == .none {
                // The service may require encryption.
                try await link.secure(to: .encrypted)
                return try await link.openChannel(psm, .phone)
            }
        } done: { peripheral, result in
            let channel = (try? result.get()).map { CBL2CAPChannel($0, peer: peripheral, phone: phone) }
            peripheral.delegate?.peripheral(peripheral, didOpen: channel, error: result.failure)
        }
    }
}

extension CreditBasedChannelSettings {
    static let phone = CreditBasedChannelSettings(mtu: 2048, mps: 247, initialCredits: 16)
}
