import BBPackets

extension GATTClient {
    /// Result of one discovery request: the items found with their handles, in ascending order, and the last handle searched.
    private typealias Step<Found> = (found: [Found], handles: [UInt16], last: UInt16)

    /// Repeats a discovery request from `start` to `end`. Throws a malformed error if the server's handles do not increase or are out of
    /// range.
    private func walk<Found>(from start: UInt16, to end: UInt16, step: (UInt16) async throws -> Step<Found>) async throws -> [Found] {
        var all: [Found] = []
        var next = start
        while next != 0, next <= end {
            do {
                let (found, handles, last) = try await step(next)
                try Self.check(handles, from: next, to: end, last: last)
                all += found
                next = last &+ 1
            } catch HostError.peer(.att(_, _, .attributeNotFound)) {
                break
            }
        }
        return all
    }

    /// Checks the handles of a response. Core Vol 3, Part F, 3.4.3.2, 3.4.3.4, 3.4.4.2 and 3.4.4.10.
    private static func check(_ handles: [UInt16], from start: UInt16, to end: UInt16, last: UInt16) throws {
        var next = UInt32(start)
        for handle in handles {
            guard handle >= next, handle <= end else { throw HostError.peer(.malformed(.searchStandsStill(from: start, last: handle))) }
            next = UInt32(handle) + 1
        }
        guard let highest = handles.last, last >= highest else {
            throw HostError.peer(.malformed(.searchStandsStill(from: start, last: last)))
        }
    }

    /// Discover All Primary Services. Core Vol 3, Part G, 4.4.1.
    public func discoverServices(isPrimary: Bool = true) async throws -> [RemoteService] {
        let type: BluetoothUUID = isPrimary ? .primaryService : .secondaryService
        let services = try await walk(from: 1, to: 0xFFFF) { start in
            let response: ATT.ReadByGroupTypeRsp = try await request(
                ATT.ReadByGroupTypeReq(startingHandle: start, endingHandle: 0xFFFF, attributeGroupType: type))
            let found = try response.attributeDataList.map { row in
                guard let uuid = BluetoothUUID(octets: row.attributeValue), row.endGroupHandle >= row.attributeHandle else {
                    throw HostError.peer(.malformed(.declaration(type, octets: row.attributeValue.count)))
                }
                return RemoteService(uuid: uuid, handle: row.attributeHandle, endHandle: row.endGroupHandle, isPrimary: isPrimary)
            }
            return (found, found.map(\.handle), response.attributeDataList.last?.endGroupHandle ?? 0)
        }
        if isPrimary, let link = bearer.client.link { link.host.learned(services.map(\.uuid), of: link.peer) }
        return services
    }

    /// Discover Primary Service by Service UUID. Core Vol 3, Part G, 4.4.2.
    public func discoverServices(uuid: BluetoothUUID) async throws -> [RemoteService] {
        try await walk(from: 1, to: 0xFFFF) { start in
            let response: ATT.FindByTypeValueRsp = try await request(
                ATT.FindByTypeValueReq(startingHandle: start, endingHandle: 0xFFFF, attributeType: 0x2800, attributeValue: uuid.declared))
            let found = response.handlesInformationList.map {
                RemoteService(uuid: uuid, handle: $0.foundAttributeHandle, endHandle: $0.groupEndHandle)
            }
            return (found, found.map(\.handle), found.last?.endHandle ?? 0)
        }
    }

    /// Find Included Services. Core Vol 3, Part G, 4.5.1. A 128-bit UUID is not in the declaration and is read from the included service.
    public func discoverIncludedServices(in service: RemoteService) async throws -> [RemoteService] {
        let rows = try await declarations(.include, in: service)
        var included: [RemoteService] = []
        for row in rows {
            guard row.value.count == 4 || row.value.count == 6 else {
                throw HostError.peer(.malformed(.declaration(.include, octets: row.value.count)))
            }
            let handle = UInt16(row.value[0]) | UInt16(row.value[1]) << 8
            let end = UInt16(row.value[2]) | UInt16(row.value[3]) << 8
            let octets = row.value.count == 6 ? [UInt8](row.value[4...]) : try await read(handle)
            guard let uuid = BluetoothUUID(octets: octets) else {
                throw HostError.peer(.malformed(.declaration(.include, octets: octets.count)))
            }
            included.append(RemoteService(uuid: uuid, handle: handle, endHandle: end))
        }
        return included
    }

    /// Discover All Characteristics of a Service, 4.6.1; with `uuid` Discover Characteristics by UUID, 4.6.2. Core Vol 3, Part G.
    public func discoverCharacteristics(in service: RemoteService, uuid: BluetoothUUID? = nil) async throws -> [RemoteCharacteristic] {
        let rows = try await declarations(.characteristic, in: service)
        var characteristics: [RemoteCharacteristic] = []
        for row in rows {
            guard row.value.count == 5 || row.value.count == 19, let uuid = BluetoothUUID(octets: [UInt8](row.value[3...])) else {
                throw HostError.peer(.malformed(.declaration(.characteristic, octets: row.value.count)))
            }
            let value = UInt16(row.value[1]) | UInt16(row.value[2]) << 8
            if let last = characteristics.indices.last { characteristics[last].endHandle = row.handle - 1 }
            characteristics.append(
                RemoteCharacteristic(
                    uuid: uuid, properties: CharacteristicProperties(rawValue: row.value[0]), declaration: row.handle, value: value,
                    endHandle: service.endHandle))
        }
        guard let uuid else { return characteristics }
        return characteristics.filter { $0.uuid == uuid }
    }

    /// Discover All Characteristic Descriptors. Core Vol 3, Part G, 4.7.1.
    public func discoverDescriptors(of characteristic: RemoteCharacteristic) async throws -> [RemoteDescriptor] {
        guard characteristic.value < characteristic.endHandle else { return [] }
        return try await discoverDescriptors(from: characteristic.value + 1, to: characteristic.endHandle)
    }

    /// The types of all attributes in a range.
    public func discoverDescriptors(from start: UInt16, to end: UInt16) async throws -> [RemoteDescriptor] {
        try await walk(from: start, to: end) { start in
            let response: ATT.FindInformationRsp = try await request(ATT.FindInformationReq(startingHandle: start, endingHandle: end))
            let found = response.informationData.map { RemoteDescriptor(uuid: $0.uuid, handle: $0.handle) }
            return (found, found.map(\.handle), found.last?.handle ?? 0)
        }
    }

    private func declarations(_ type: BluetoothUUID, in service: RemoteService) async throws -> [(handle: UInt16, value: [UInt8])] {
        try await walk(from: service.handle, to: service.endHandle) { start in
            let rows = try await read(uuid: type, from: start, to: service.endHandle)
            return (rows, rows.map(\.handle), rows.last?.handle ?? 0)
        }
    }
}
