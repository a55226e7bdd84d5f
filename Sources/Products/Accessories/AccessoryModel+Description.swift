import BBHost
import BBPackets

/// A device played by its description: its services in order, its values, and what its maker declares.
extension AccessoryModel {
    /// The services that every database of the host begins with.
    private static let generic: Set<BluetoothUUID> = [.genericAccess, .genericAttribute]

    init(_ description: DeviceDescription) {
        let services = description.services.filter { !Self.generic.contains($0.uuid) }.map { service in
            ServiceDefinition.Sketch(
                uuid: service.uuid, isPrimary: service.isPrimary,
                entries: service.characteristics.map { Self.entry($0, description.declares.protects) })
        }
        self.init(name: description.playedName, appearance: description.appearance, services: services)
        advertising = (
            AdvertisingData(octets: description.advertising.data), AdvertisingData(octets: description.advertising.response ?? [])
        )
        for sender in description.declares.sends {
            guard let found = description.characteristic(sender.characteristic) else { continue }
            let kind: AttributeValueKind = found.properties & 0x10 != 0 ? .notification : .indication
            let value = found.value ?? [0]
            if let stimulus = sender.stimulus {
                reactions.append(Reaction(stimulus: stimulus, characteristic: sender.characteristic, kind: kind, value: value))
            } else {
                // Half the declared time, so that none is late.
                let period = max(Microseconds.milliseconds(50), Microseconds(sender.within.rawValue / 2))
                tellings.append(Telling(characteristic: sender.characteristic, kind: kind, period: period, value: { _ in value }))
            }
        }
    }

    private static func entry(
        _ found: DeviceDescription.Characteristic, _ protects: [DeviceDescription.Protected]
    ) -> ServiceDefinition.Sketch.Entry {
        var properties = CharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: found.properties))
        if found.count(of: .extendedProperties) == 0 { properties.remove(.extended) }
        var entry = ServiceDefinition.Sketch.Entry(uuid: found.uuid, properties: properties, value: found.value ?? [])
        var permissions: AttributePermissions = []
        if properties.contains(.read) { permissions.insert(.read) }
        if !properties.isDisjoint(with: [.write, .writeWithoutResponse]) { permissions.insert(.write) }
        if let error = found.protection ?? found.error { permissions.formUnion(protection(error)) }
        for rule in protects where rule.characteristic == found.uuid {
            let isAuthenticated = rule.needs == .authentication
            if rule.needs == .longKey { entry.keySize = 16 }
            if rule.access.contains(.read) { permissions.insert(isAuthenticated ? .readAuthenticated : .readEncrypted) }
            if rule.access.contains(.write) { permissions.insert(isAuthenticated ? .writeAuthenticated : .writeEncrypted) }
            if rule.access.contains(.subscribe) {
                entry.configurationPermissions.insert(isAuthenticated ? .writeAuthenticated : .writeEncrypted)
            }
        }
        entry.permissions = permissions
        entry.descriptors = found.descriptors.filter { $0.uuid != .clientConfiguration }.map { ($0.uuid, $0.value ?? []) }
        return entry
    }

    /// The protection of a value whose read was refused with an error before pairing. Core Vol 3, Part F, 3.4.1.1.
    private static func protection(_ error: UInt8) -> AttributePermissions {
        switch error {
        case 0x08: .readAuthorized
        case 0x05, 0x0C, 0x0F: .readEncrypted
        default: []
        }
    }
}

extension DeviceDescription {
    /// The database with which a host begins that plays the device.
    public var database: GATTDatabase {
        GATTDatabase(deviceName: playedName, appearance: appearance, isCacheable: characteristic(.clientSupportedFeatures) != nil)
    }

    /// The Device Name, or the advertised one.
    var playedName: String {
        let value = characteristic(.deviceName)?.value
        return value.flatMap { String(validating: $0, as: UTF8.self) } ?? device.name ?? ""
    }

    package var appearance: UInt16 {
        guard let value = characteristic(.appearance)?.value, value.count == 2 else { return 0 }
        return UInt16(value[0]) | UInt16(value[1]) << 8
    }

    package func characteristic(_ uuid: BluetoothUUID) -> Characteristic? {
        services.lazy.flatMap(\.characteristics).first { $0.uuid == uuid }
    }
}
