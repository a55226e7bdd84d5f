import Host
import Packets
import Timing

extension HostDriver {
    /// Carries out a named action.
    ///
    /// - Throws: `HostError`, or `StepFailure` when an argument makes no sense.
    func perform(_ name: String, _ arguments: CaseRecord) async throws -> CaseRecord {
        if name == "connect" { return try await connect(arguments) }
        guard let handle = arguments["on"]?.asNumber.flatMap({ UInt16(exactly: $0) }), let link = links[handle] else {
            throw StepFailure(.bench, "\(name) needs a connection of the host: what `do: connect` gave")
        }
        switch name {
        case "exchange mtu":
            return CaseRecord([("mtu", .number(try await link.gatt.exchangeMTU(arguments["mtu"]?.asNumber ?? 247)))])
        case "read":
            let characteristic = try await find(arguments, on: link)
            return CaseRecord([("value", .octets(try await link.gatt.readLong(characteristic.value)))])
        case "write":
            let characteristic = try await find(arguments, on: link)
            guard let value = arguments["value"]?.asOctets else { throw StepFailure(.bench, "the value to write must be octets") }
            if value.count > link.mtu - 3 {
                try await link.gatt.writeLong(characteristic.value, value)
            } else {
                try await link.gatt.write(characteristic.value, value)
            }
            return CaseRecord()
        default:
            let reason = try await link.disconnect()
            links[handle] = nil
            return CaseRecord([("reason", .number(Int(reason.rawValue)))])
        }
    }

    private func connect(_ arguments: CaseRecord) async throws -> CaseRecord {
        guard let value = arguments["address"].flatMap({ $0.asAddress ?? $0.asNumber.map { UInt64(bitPattern: Int64($0)) } }) else {
            throw StepFailure(.bench, "connect needs a device address")
        }
        var settings = ConnectSettings()
        settings.parameters = ConnectionParameterRequest(interval: UInt16(clamping: arguments["interval"]?.asNumber ?? 24))
        let kind: DeviceAddress.Kind = (arguments["type"]?.asNumber ?? 0) & 1 == 0 ? .public : .random
        let link = try await host.connect(to: DeviceAddress(value: value, kind: kind), settings)
        links[link.handle.rawValue] = link
        return CaseRecord([("handle", .number(Int(link.handle.rawValue))), ("interval", .number(Int(link.parameters.interval)))])
    }

    private func find(_ arguments: CaseRecord, on link: Link) async throws -> RemoteCharacteristic {
        guard let uuid = arguments["uuid"]?.asUUID else { throw StepFailure(.bench, "a UUID is expected after uuid:") }
        for service in try await link.gatt.discoverServices() {
            if let found = try await link.gatt.discoverCharacteristics(in: service, uuid: uuid).first { return found }
        }
        throw StepFailure(.subject, "the accessory has no characteristic \(uuid)")
    }
}
