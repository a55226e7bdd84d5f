import BBHost
import BBPackets
import Foundation

/// Discovery on the link to a peer. What the phone knows already needs no requests.
extension PhonePeer {
    /// The services that the system uses itself: Generic Access, Generic Attribute, HID, ANCS.
    private static let hidden: Set<BluetoothUUID> = [.genericAccess, .genericAttribute, 0x1812, PhoneNotifications.service]

    func services(_ wanted: [BluetoothUUID], over link: PhoneLink) async throws -> [RemoteService] {
        let found = try await allServices(wanted, over: link).filter { !Self.hidden.contains($0.uuid) }
        phone.directory.learned(found.map(\.uuid), of: identifier)
        return found
    }

    private func allServices(_ wanted: [BluetoothUUID], over link: PhoneLink) async throws -> [RemoteService] {
        if cache.known(wanted) == nil {
            if wanted.isEmpty {
                cache.learn(try await link.gatt.discoverServices())
                cache.isComplete = true
            } else {
                for uuid in wanted where !cache.searched.contains(uuid) {
                    cache.learn(try await link.gatt.discoverServices(uuid: uuid))
                    cache.searched.insert(uuid)
                }
            }
        }
        return cache.known(wanted) ?? []
    }

    func includedServices(_ wanted: [BluetoothUUID], in service: RemoteService, over link: PhoneLink) async throws -> [RemoteService] {
        let found: [RemoteService]
        if let known = cache.included[service.handle] {
            found = known
        } else {
            found = try await link.gatt.discoverIncludedServices(in: service)
            cache.included[service.handle] = found
        }
        return found.filter { wanted.isEmpty || wanted.contains($0.uuid) }
    }

    func characteristics(_ wanted: [BluetoothUUID], in service: RemoteService, over link: PhoneLink) async throws
        -> [RemoteCharacteristic]
    {
        let found: [RemoteCharacteristic]
        if let known = cache.characteristics[service.handle] {
            found = known
        } else {
            found = try await link.gatt.discoverCharacteristics(in: service)
            cache.characteristics[service.handle] = found
        }
        return found.filter { wanted.isEmpty || wanted.contains($0.uuid) }
    }

    func descriptors(of characteristic: CharacteristicHandles, over link: PhoneLink) async throws -> [RemoteDescriptor] {
        if let known = cache.descriptors[characteristic.value] { return known }
        guard characteristic.value < characteristic.end else { return [] }
        let found = try await link.gatt.discoverDescriptors(from: characteristic.value + 1, to: characteristic.end)
        cache.descriptors[characteristic.value] = found
        return found
    }

    // MARK: Changes

    /// Asks the device to report changes of its database, as a phone does on each connection, and compares its hash with that of the
    /// attributes from an earlier connection. Core Vol 3, Part G, 7.1 and 7.3.
    func watchChanges(_ link: PhoneLink) async {
        do {
            try await compareHash(link)
            try await discoverGeneric(link)
            listenForChanges(link)
            guard let changed = cache.generic(.serviceChanged) else { return }
            guard !cache.isSubscribed || link.bond == nil else { return }
            _ = try await link.gatt.subscribe(changed, .indication) { _, _, _ in }
            cache.isSubscribed = true
        } catch {
            // Without them the database counts as one that does not change.
        }
    }

    func listenForChanges(_ link: PhoneLink) {
        guard let characteristic = cache.generic(.serviceChanged), let gatt = try? link.gatt else { return }
        changeHandle = characteristic.value
        listen(to: characteristic.value, gatt)
    }

    /// A Service Changed value: the first and the last handle.
    func databaseChanged(_ value: RawSpan) {
        guard value.byteCount >= 4 else { return }
        let (start, end) = (value.u16(at: 0), value.u16(at: 2))
        changed(start...max(start, end))
    }

    private func compareHash(_ link: PhoneLink) async throws {
        guard let characteristic = cache.generic(.databaseHash), let kept = cache.hash else { return }
        if (try? await link.gatt.read(characteristic.value)) == kept { return }
        guard link.isConnected else { return }
        cache = AttributeCache()
        changed(1...UInt16.max)
    }

    private func discoverGeneric(_ link: PhoneLink) async throws {
        if !cache.knowsGeneric {
            for service in try await allServices([.genericAttribute], over: link) {
                _ = try await characteristics([], in: service, over: link)
            }
            cache.knowsGeneric = true
        }
        if let characteristic = cache.generic(.databaseHash), cache.hash == nil {
            cache.hash = try await link.gatt.read(characteristic.value)
        }
    }

    private func changed(_ range: ClosedRange<UInt16>) {
        endUse(of: cache.invalidate(range) + [range])
        for port in users { port.deliver(to: identifier) { $0.modified(range) } }
        guard let link else { return }
        add { [self] in await watchChanges(link) }
    }
}
