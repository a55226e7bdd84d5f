import BBHost
import BBPackets

/// A service as it was when the program added it. Its objects are used on the queue alone.
struct ServiceDraft {
    let service: CBMutableService
    let characteristics: [CBMutableCharacteristic]
    private let rows: [Row]

    private struct Row {
        var uuid: BluetoothUUID
        var properties: CBCharacteristicProperties
        var permissions: CBAttributePermissions
        var value: [UInt8]?
        var descriptors: [DescriptorDefinition]
    }

    init(_ service: CBMutableService) {
        self.service = service
        characteristics = (service.characteristics ?? []).compactMap { $0 as? CBMutableCharacteristic }
        rows = characteristics.map { characteristic in
            Row(
                uuid: characteristic.uuid.uuid, properties: characteristic.properties, permissions: characteristic.permissions,
                value: characteristic.value.map { [UInt8]($0) },
                descriptors: (characteristic.descriptors ?? []).compactMap { descriptor in
                    (descriptor as? CBMutableDescriptor).map { DescriptorDefinition($0.uuid.uuid, value: $0.octets) }
                })
        }
    }

    var identifier: ObjectIdentifier { ObjectIdentifier(service) }

    /// The service in the database of the host. A dynamic value is asked for with each request.
    func definition(includes: [PublishedService], server: PhoneServer, port: ServerPort) -> ServiceDefinition {
        let definitions = zip(rows, characteristics).map { row, characteristic in
            var definition = CharacteristicDefinition(
                row.uuid, properties: CharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: row.properties.rawValue)),
                permissions: row.permissions.attribute, value: row.value ?? [], descriptors: row.descriptors)
            if row.value == nil {
                definition.takesParts = true
                definition.onRead = { [unowned server] in server.requests.read($0) }
            }
            if !row.properties.isDisjoint(with: [.notifyEncryptionRequired, .indicateEncryptionRequired]) {
                definition.properties.insert(row.properties.contains(.notifyEncryptionRequired) ? .notify : .indicate)
                definition.configurationPermissions = [.read, .write, .writeEncrypted]
            }
            definition.onSubscribe = { [unowned server] access, bits in
                server.subscribed(characteristic, access, isOn: bits != 0, port)
            }
            return definition
        }
        return ServiceDefinition(service.uuid.uuid, isPrimary: service.isPrimary, includes: includes, characteristics: definitions)
    }
}

extension CBAttributePermissions {
    var attribute: AttributePermissions {
        var permissions: AttributePermissions = []
        if !isDisjoint(with: [.readable, .readEncryptionRequired]) { permissions.insert(.read) }
        if !isDisjoint(with: [.writeable, .writeEncryptionRequired]) { permissions.insert(.write) }
        if contains(.readEncryptionRequired) { permissions.insert(.readEncrypted) }
        if contains(.writeEncryptionRequired) { permissions.insert(.writeEncrypted) }
        return permissions
    }
}
