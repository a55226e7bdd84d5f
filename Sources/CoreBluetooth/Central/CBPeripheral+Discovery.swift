import BBHost
import BBPackets
import Foundation

extension CBPeripheral {
    /// Finds primary services; those that the system uses itself are hidden.
    ///
    /// - Parameter serviceUUIDs: finds only these, with fewer requests; nil or empty for all.
    public func discoverServices(_ serviceUUIDs: [CBUUID]?) {
        needsDelegate("Discovering services", "peripheral:didDiscoverServices:")
        let (port, wanted) = (port, serviceUUIDs?.map(\.uuid) ?? [])
        perform("discoverServices") { peer in
            peer.run(for: port) { link in
                try await peer.services(wanted, over: link)
            } done: { peripheral, result in
                for service in (try? result.get()) ?? [] { peripheral.add(service) }
                if peripheral.services == nil, case .success = result { peripheral.services = [] }
                peripheral.delegate?.peripheral(peripheral, didDiscoverServices: result.failure)
            }
        }
    }

    public func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService) {
        let (port, wanted, remote) = (port, includedServiceUUIDs?.map(\.uuid) ?? [], service.remote)
        let failed: (CBPeripheral, any Error) -> Void = {
            $0.delegate?.peripheral($0, didDiscoverIncludedServicesFor: service, error: $1)
        }
        perform("discoverIncludedServices", of: service, failed: failed) { peer in
            peer.run(for: port, of: remote.handle) { link in
                try await peer.includedServices(wanted, in: remote, over: link)
            } done: { peripheral, result in
                if let found = try? result.get() {
                    service.includedServices = found.map { included in
                        peripheral.services?.first { $0.range.lowerBound == included.handle }
                            ?? CBService(included, isPrimary: false, peripheral)
                    }
                }
                peripheral.delegate?.peripheral(peripheral, didDiscoverIncludedServicesFor: service, error: result.failure)
            }
        }
    }

    /// A characteristic that is found again, also on a later connection, has its last value.
    public func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
        needsDelegate("Discovering characteristics", "peripheral:didDiscoverCharacteristicsForService:error:")
        let (port, wanted, remote) = (port, characteristicUUIDs?.map(\.uuid) ?? [], service.remote)
        let failed: (CBPeripheral, any Error) -> Void = {
            $0.delegate?.peripheral($0, didDiscoverCharacteristicsFor: service, error: $1)
        }
        perform("discoverCharacteristics", of: service, failed: failed) { peer in
            peer.run(for: port, of: remote.handle) { link in
                let found = try await peer.characteristics(wanted, in: remote, over: link)
                return found.map { ($0, peer.cache.values[$0.value]) }
            } done: { peripheral, result in
                if let found = try? result.get() { service.add(found) }
                peripheral.delegate?.peripheral(peripheral, didDiscoverCharacteristicsFor: service, error: result.failure)
            }
        }
    }

    public func discoverDescriptors(for characteristic: CBCharacteristic) {
        let (port, handles) = (port, characteristic.handles)
        let failed: (CBPeripheral, any Error) -> Void = {
            $0.delegate?.peripheral($0, didDiscoverDescriptorsFor: characteristic, error: $1)
        }
        perform("discoverDescriptors", of: characteristic.service, failed: failed) { peer in
            peer.run(for: port, of: handles.value) { link in
                try await peer.descriptors(of: handles, over: link)
            } done: { peripheral, result in
                if let found = try? result.get() {
                    characteristic.descriptors = found.map { remote in
                        let descriptor = CBDescriptor(uuid: CBUUID(remote.uuid), handle: remote.handle)
                        descriptor.characteristic = characteristic
                        return descriptor
                    }
                }
                peripheral.delegate?.peripheral(peripheral, didDiscoverDescriptorsFor: characteristic, error: result.failure)
            }
        }
    }

    private func add(_ remote: RemoteService) {
        if services?.contains(where: { $0.range.lowerBound == remote.handle }) == true { return }
        services = (services ?? []) + [CBService(remote, isPrimary: true, self)]
    }
}

extension CBService {
    convenience init(_ remote: RemoteService, isPrimary: Bool, _ peripheral: CBPeripheral) {
        let end = max(remote.handle, remote.endHandle)
        self.init(uuid: CBUUID(remote.uuid), primary: isPrimary, range: remote.handle...end, peripheral: peripheral)
    }

    var remote: RemoteService {
        RemoteService(uuid: uuid.uuid, handle: range.lowerBound, endHandle: range.upperBound, isPrimary: isPrimary)
    }

    func add(_ found: [(RemoteCharacteristic, value: [UInt8]?)]) {
        var all = characteristics ?? []
        for (remote, value) in found where !all.contains(where: { $0.handle == remote.value }) {
            let characteristic = CBCharacteristic(
                uuid: CBUUID(remote.uuid), properties: CBCharacteristicProperties(rawValue: UInt(remote.properties.rawValue)),
                value: value.map { Data($0) }, handle: remote.value, endHandle: remote.endHandle)
            characteristic.service = self
            all.append(characteristic)
        }
        characteristics = all
    }
}

extension CBCharacteristic {
    var handles: PhonePeer.CharacteristicHandles {
        let properties = CharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: properties.rawValue))
        return PhonePeer.CharacteristicHandles(value: handle, end: endHandle, properties: properties)
    }
}
