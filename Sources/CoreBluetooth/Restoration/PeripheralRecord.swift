import BBPackets
import Foundation

/// A peripheral and its attributes as one program knew them.
struct PeripheralRecord {
    struct Descriptor {
        var uuid: CBUUID
        var handle: UInt16
    }

    struct Characteristic {
        var uuid: CBUUID
        var properties: CBCharacteristicProperties
        var handle: UInt16
        var endHandle: UInt16
        var value: Data?
        var isNotifying: Bool
        var descriptors: [Descriptor]?
    }

    struct Service {
        var uuid: CBUUID
        var isPrimary: Bool
        var range: ClosedRange<UInt16>
        /// First handles; nil before discovery.
        var included: [UInt16]?
        var characteristics: [Characteristic]?
    }

    var identifier: UUID
    var name: String?
    var state: CBPeripheralState
    var mtu: Int
    var services: [Service]?
}

extension CBPeripheral {
    var record: PeripheralRecord {
        PeripheralRecord(identifier: identifier, name: name, state: wantedState, mtu: mtu, services: services?.map(\.record))
    }

    /// Recreates what the program knew when it ended.
    func restore(_ record: PeripheralRecord) {
        (name, state, mtu) = (record.name ?? name, record.state, record.mtu)
        services = record.services?.map { CBService($0, of: self) }
        for (service, known) in zip(services ?? [], record.services ?? []) {
            service.includedServices = known.included?.compactMap { handle in services?.first { $0.range.lowerBound == handle } }
        }
    }
}

extension CBService {
    fileprivate var record: PeripheralRecord.Service {
        PeripheralRecord.Service(
            uuid: uuid, isPrimary: isPrimary, range: range, included: includedServices?.map(\.range.lowerBound),
            characteristics: characteristics?.map(\.record))
    }

    fileprivate convenience init(_ record: PeripheralRecord.Service, of peripheral: CBPeripheral) {
        self.init(uuid: record.uuid, primary: record.isPrimary, range: record.range, peripheral: peripheral)
        characteristics = record.characteristics?.map { CBCharacteristic($0, of: self) }
    }
}

extension CBCharacteristic {
    fileprivate var record: PeripheralRecord.Characteristic {
        PeripheralRecord.Characteristic(
            uuid: uuid, properties: properties, handle: handle, endHandle: endHandle, value: value, isNotifying: isNotifying,
            descriptors: descriptors?.map { PeripheralRecord.Descriptor(uuid: $0.uuid, handle: $0.handle) })
    }

    fileprivate convenience init(_ record: PeripheralRecord.Characteristic, of service: CBService) {
        self.init(
            uuid: record.uuid, properties: record.properties, value: record.value, handle: record.handle, endHandle: record.endHandle)
        self.service = service
        isNotifying = record.isNotifying
        descriptors = record.descriptors?.map { known in
            let descriptor = CBDescriptor(uuid: known.uuid, handle: known.handle)
            descriptor.characteristic = self
            return descriptor
        }
    }
}
