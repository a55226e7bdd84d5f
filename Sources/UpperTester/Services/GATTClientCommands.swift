import BBBTP
import BBHost
import BBPackets

extension BTPHandlers {
    mutating func addGATTClient() {
        does(BTPCommands.GATTExchangeMTU.self) { server, command in
            _ = try await server.client(command.addressType, command.address).exchangeMTU()
        }
        addDiscovery()
        addReading()
        addWriting()
    }

    private mutating func addDiscovery() {
        on(BTPCommands.GATTDiscoverAllPrimaryServices.self) { server, command in
            let found = try await server.client(command.addressType, command.address).discoverServices()
            return BTPResponses.GATTDiscoverAllPrimaryServices(
                services: found.map { .init(startHandle: $0.handle, endHandle: $0.endHandle, uuid: $0.uuid) })
        }
        on(BTPCommands.GATTDiscoverPrimaryServicesByUUID.self) { server, command in
            let found = try await server.client(command.addressType, command.address).discoverServices(uuid: command.uuid)
            return BTPResponses.GATTDiscoverPrimaryServicesByUUID(
                services: found.map { .init(startHandle: $0.handle, endHandle: $0.endHandle, uuid: $0.uuid) })
        }
        on(BTPCommands.GATTFindIncludedServices.self) { server, command in
            let client = try server.client(command.addressType, command.address)
            return BTPResponses.GATTFindIncludedServices(
                includes: try await Self.includes(client, from: command.startHandle, to: command.endHandle))
        }
        on(BTPCommands.GATTDiscoverAllCharacteristics.self) { server, command in
            let found = try await server.client(command.addressType, command.address)
                .discoverCharacteristics(in: Self.range(command.startHandle, command.endHandle))
            return BTPResponses.GATTDiscoverAllCharacteristics(
                characteristics: found.map {
                    .init(handle: $0.declaration, valueHandle: $0.value, properties: $0.properties.rawValue, uuid: $0.uuid)
                })
        }
        on(BTPCommands.GATTDiscoverCharacteristicsByUUID.self) { server, command in
            let found = try await server.client(command.addressType, command.address)
                .discoverCharacteristics(in: Self.range(command.startHandle, command.endHandle), uuid: command.uuid)
            return BTPResponses.GATTDiscoverCharacteristicsByUUID(
                characteristics: found.map {
                    .init(handle: $0.declaration, valueHandle: $0.value, properties: $0.properties.rawValue, uuid: $0.uuid)
                })
        }
        on(BTPCommands.GATTDiscoverAllDescriptors.self) { server, command in
            let found = try await server.client(command.addressType, command.address)
                .discoverDescriptors(from: command.startHandle, to: command.endHandle)
            return BTPResponses.GATTDiscoverAllDescriptors(descriptors: found.map { .init(handle: $0.handle, uuid: $0.uuid) })
        }
    }

    /// Find Included Services, until the server finds no further declaration. Core Vol 3, Part G, 4.5.1.
    private static func includes(
        _ client: GATTClient, from start: UInt16, to end: UInt16
    ) async throws -> [BTPResponses.GATTFindIncludedServices.Include] {
        var includes: [BTPResponses.GATTFindIncludedServices.Include] = []
        var next = start
        while next <= end {
            let (code, rows) = try await ATTOutcome.of { try await client.read(uuid: .include, from: next, to: end) }
            if code == .attributeNotFound { break }
            guard let rows, let last = rows.last?.handle, last >= next else { throw BTPError.fail }
            for row in rows { includes.append(try await include(client, row.handle, row.value)) }
            guard last < end else { break }
            next = last + 1
        }
        return includes
    }

    /// One include. A 128-bit UUID is not in its value, but in the declaration of the service.
    private static func include(
        _ client: GATTClient, _ handle: UInt16, _ value: [UInt8]
    ) async throws -> BTPResponses.GATTFindIncludedServices.Include {
        guard value.count >= 4 else { throw BTPError.fail }
        let start = UInt16(value[0]) | UInt16(value[1]) << 8
        let end = UInt16(value[2]) | UInt16(value[3]) << 8
        let octets = value.count > 4 ? Array(value[4...]) : try await client.read(start)
        guard let uuid = BluetoothUUID(octets: octets) else { throw BTPError.fail }
        return .init(handle: handle, startHandle: start, endHandle: end, uuid: uuid)
    }

    private mutating func addReading() {
        on(BTPCommands.GATTRead.self) { server, command in
            let client = try server.client(command.addressType, command.address)
            let (code, value) = try await ATTOutcome.of { try await client.read(command.handle) }
            return BTPResponses.GATTRead(attErrorCode: code, data: value ?? [])
        }
        on(BTPCommands.GATTReadByUUID.self) { server, command in
            let client = try server.client(command.addressType, command.address)
            let (code, rows) = try await ATTOutcome.of {
                try await client.read(uuid: command.uuid, from: command.startHandle, to: command.endHandle)
            }
            return BTPResponses.GATTReadByUUID(
                attErrorCode: code, values: (rows ?? []).map { .init(handle: $0.handle, data: $0.value) })
        }
        on(BTPCommands.GATTReadLong.self) { server, command in
            let client = try server.client(command.addressType, command.address)
            let (code, value) = try await ATTOutcome.of {
                command.offset == 0
                    ? try await client.readLong(command.handle) : try await client.readBlob(command.handle, offset: Int(command.offset))
            }
            return BTPResponses.GATTReadLong(attErrorCode: code, data: value ?? [])
        }
        on(BTPCommands.GATTReadMultiple.self) { server, command in
            let client = try server.client(command.addressType, command.address)
            let (code, value) = try await ATTOutcome.of { try await client.readMultiple(command.handles) }
            return BTPResponses.GATTReadMultiple(attErrorCode: code, data: value ?? [])
        }
        on(BTPCommands.GATTReadMultipleVariable.self) { server, command in
            let client = try server.client(command.addressType, command.address)
            let (code, values) = try await ATTOutcome.of { try await client.readMultipleVariable(command.handles) }
            return BTPResponses.GATTReadMultipleVariable(attErrorCode: code, data: LengthValues.octets(values ?? []))
        }
    }

    private mutating func addWriting() {
        does(BTPCommands.GATTWriteWithoutResponse.self) { server, command in
            try await server.client(command.addressType, command.address).writeCommand(command.handle, command.data)
        }
        does(BTPCommands.GATTSignedWriteWithoutResponse.self) { server, command in
            try await server.client(command.addressType, command.address).signedWrite(command.handle, command.data)
        }
        on(BTPCommands.GATTWrite.self) { server, command in
            let client = try server.client(command.addressType, command.address)
            let (code, _) = try await ATTOutcome.of { try await client.write(command.handle, command.data) }
            return BTPResponses.GATTWrite(attErrorCode: code)
        }
        on(BTPCommands.GATTWriteLong.self) { server, command in
            let client = try server.client(command.addressType, command.address)
            let (code, _) = try await ATTOutcome.of {
                try await client.writeLong(command.handle, command.data, offset: Int(command.offset))
            }
            return BTPResponses.GATTWriteLong(attErrorCode: code)
        }
        on(BTPCommands.GATTWriteReliable.self) { server, command in
            let client = try server.client(command.addressType, command.address)
            guard command.offset == 0 else { throw BTPError.fail }
            let (code, _) = try await ATTOutcome.of { try await client.reliableWrite([(handle: command.handle, value: command.data)]) }
            return BTPResponses.GATTWriteReliable(attErrorCode: code)
        }
        does(BTPCommands.GATTConfigureNotifications.self) { server, command in
            try await server.configure(command.addressType, command.address, command.cccHandle, command.enable != 0 ? 1 : 0)
        }
        does(BTPCommands.GATTConfigureIndications.self) { server, command in
            try await server.configure(command.addressType, command.address, command.cccHandle, command.enable != 0 ? 2 : 0)
        }
    }

    private static func range(_ start: UInt16, _ end: UInt16) -> RemoteService {
        RemoteService(uuid: BluetoothUUID(0), handle: start, endHandle: end)
    }
}

extension BTPServer {
    fileprivate func client(_ type: UInt8, _ address: BDADDR) throws -> GATTClient { try connection(type, address).gatt }

    fileprivate func configure(_ type: UInt8, _ address: BDADDR, _ handle: UInt16, _ value: UInt8) async throws {
        let link = try connection(type, address)
        try await link.gatt.write(handle, [value, 0])
        if value != 0 { gap.subscribers.insert(link.handle) }
    }
}

/// The result of a GATT procedure: an error of the server is part of a normal response.
enum ATTOutcome {
    static func of<Value>(_ body: () async throws -> Value) async throws -> (ATTErrorCode, Value?) {
        do {
            return (ATTErrorCode(rawValue: 0), try await body())
        } catch HostError.peer(.att(_, _, let code)) {
            return (code, nil)
        }
    }
}
