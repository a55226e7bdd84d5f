import BBBTP
import BBHost
import BBPackets

/// The services that the tester declares before it starts the server.
final class GATTState {
    private let database: GATTDatabase
    private(set) var pending: [PendingService] = []
    private(set) var published: [PublishedService] = []
    /// Handle of the next attribute.
    private var next: UInt16
    /// Values of attributes that are not published yet, by handle.
    private var values: [UInt16: [UInt8]] = [:]
    private var keySizes: [UInt16: Int] = [:]
    private var last: UInt16 = 0

    struct PendingService {
        var handle: UInt16
        var definition: ServiceDefinition
        /// Handles of each characteristic's declaration and of its descriptors.
        var characteristics: [(declaration: UInt16, descriptors: [UInt16])] = []
    }

    init(_ database: GATTDatabase) {
        self.database = database
        next = (database.services.map(\.endHandle).max() ?? 0) + 1
    }

    private func take() -> UInt16 {
        defer { next += 1 }
        last = next
        return next
    }

    func addService(_ uuid: BluetoothUUID, isPrimary: Bool) -> UInt16 {
        let handle = take()
        pending.append(PendingService(handle: handle, definition: ServiceDefinition(uuid, isPrimary: isPrimary)))
        return handle
    }

    /// Includes a service that is published already.
    func include(_ service: UInt16) throws -> UInt16 {
        guard let index = pending.indices.last, pending[index].characteristics.isEmpty,
            let included = database.services.first(where: { $0.handle == service })
        else { throw BTPError.fail }
        pending[index].definition.includes.append(included)
        return take()
    }

    func addCharacteristic(_ uuid: BluetoothUUID, properties: UInt8, permissions: UInt8) throws -> UInt16 {
        guard let index = pending.indices.last else { throw BTPError.fail }
        let properties = CharacteristicProperties(rawValue: properties)
        var permissions = AttributePermissions(rawValue: UInt16(permissions))
        if properties.contains(.signedWrite) { permissions.insert(.writeSigned) }
        let definition = CharacteristicDefinition(uuid, properties: properties, permissions: permissions)
        pending[index].definition.characteristics.append(definition)
        let declaration = take()
        last = take()
        // The database adds the Client Characteristic Configuration by itself.
        if !properties.isDisjoint(with: [.notify, .indicate]) { next += 1 }
        pending[index].characteristics.append((declaration, []))
        return declaration
    }

    func addDescriptor(_ uuid: BluetoothUUID, permissions: UInt8) throws -> UInt16 {
        guard let index = pending.indices.last, let characteristic = pending[index].characteristics.indices.last else {
            throw BTPError.fail
        }
        if uuid == .clientConfiguration {
            guard next == last + 2 else { throw BTPError.fail }
            return last + 1
        }
        pending[index].definition.characteristics[characteristic].descriptors.append(
            DescriptorDefinition(uuid, permissions: AttributePermissions(rawValue: UInt16(permissions))))
        let handle = take()
        pending[index].characteristics[characteristic].descriptors.append(handle)
        return handle
    }

    /// Sets the value of an attribute; 0 stands for the last one that was added, a declaration for its value.
    ///
    /// - Returns: the handle of a published value.
    func set(_ attribute: UInt16, _ value: [UInt8]) throws -> UInt16? {
        var handle = attribute == 0 ? last : attribute
        let waiting = pending.flatMap(\.characteristics).contains { $0.declaration == handle }
        let isDeclaration = waiting || published.contains { $0.characteristics.contains { $0.declaration == handle } }
        if isDeclaration { handle += 1 }
        guard handle < next else { throw BTPError.fail }
        if let first = pending.first?.handle, handle >= first {
            values[handle] = value
            return nil
        }
        guard database[handle] != nil else { throw BTPError.fail }
        database[handle] = value
        return handle
    }

    func setKeySize(_ attribute: UInt16, _ size: UInt8) throws {
        guard (7...16).contains(size) else { throw BTPError.fail }
        keySizes[attribute == 0 ? last : attribute] = Int(size)
    }

    /// Publishes the declared services.
    ///
    /// - Parameter written: called with each value that a client writes.
    /// - Returns: the number of attributes.
    func start(_ written: @escaping (UInt16, [UInt8]) -> Void) -> Int {
        let first = pending.first?.handle ?? next
        for service in pending {
            var definition = service.definition
            for (index, handles) in service.characteristics.enumerated() {
                complete(&definition.characteristics[index], handles.declaration + 1, written)
                for (number, handle) in handles.descriptors.enumerated() {
                    definition.characteristics[index].descriptors[number].value = values[handle] ?? []
                }
            }
            published.append(database.add(definition))
        }
        pending = []
        values = [:]
        return Int(next - first)
    }

    private func complete(
        _ characteristic: inout CharacteristicDefinition, _ handle: UInt16, _ written: @escaping (UInt16, [UInt8]) -> Void
    ) {
        characteristic.value = values[handle] ?? []
        characteristic.minimumKeySize = keySizes[handle] ?? keySizes[handle - 1] ?? 7
        characteristic.onWrite = { [unowned database] _, span in
            let value = span.withUnsafeBytes { [UInt8]($0) }
            database[handle] = value
            written(handle, value)
            return nil
        }
    }

    func reset() {
        for service in published { database.remove(service) }
        (published, pending, values) = ([], [], [:])
    }
}

extension BTPHandlers {
    mutating func addGATTServer() {
        on(BTPCommands.GATTAddService.self) { server, command in
            BTPResponses.GATTAddService(serviceID: server.gatt.addService(command.uuid, isPrimary: command.type == 0))
        }
        on(BTPCommands.GATTAddIncludedService.self) { server, command in
            BTPResponses.GATTAddIncludedService(includeID: try server.gatt.include(command.serviceID))
        }
        on(BTPCommands.GATTAddCharacteristic.self) { server, command in
            BTPResponses.GATTAddCharacteristic(
                characteristicID: try server.gatt.addCharacteristic(
                    command.uuid, properties: command.properties, permissions: command.permissions))
        }
        on(BTPCommands.GATTAddDescriptor.self) { server, command in
            BTPResponses.GATTAddDescriptor(
                descriptorID: try server.gatt.addDescriptor(command.uuid, permissions: command.permissions))
        }
        does(BTPCommands.GATTSetValue.self) { server, command in
            guard let handle = try server.gatt.set(command.attributeID, command.data) else { return }
            server.sendValue(command.data, of: handle)
        }
        on(BTPCommands.GATTStartServer.self) { server, _ in
            let count = server.gatt.start { [weak server] handle, value in
                server?.send(BTPEvents.GATTAttributeValueChanged(handle: handle, data: value))
            }
            return BTPResponses.GATTStartServer(databaseOffset: 0, databaseCount: UInt8(clamping: count))
        }
        does(BTPCommands.GATTResetServer.self) { server, _ in server.gatt.reset() }
        does(BTPCommands.GATTSetRequiredKeySize.self) { try $0.gatt.setKeySize($1.attributeID, $1.keySize) }
    }
}

extension BTPServer {
    /// Notifies or indicates a new value to the clients that have subscribed to it.
    fileprivate func sendValue(_ value: [UInt8], of handle: UInt16) {
        for link in host.connections {
            let configuration = link.configuration(of: handle)
            if configuration & 1 != 0 { start { try await link.notify(handle, value) } }
            if configuration & 2 != 0 { start { try await link.indicate(handle, value) } }
        }
    }
}
