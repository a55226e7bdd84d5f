import BBBTP
import BBHost
import BBPackets

extension BTPHandlers {
    /// Reads of the service GATT client: a command is answered at once, and an event has the value. Several of them are under way at a time,
    /// each on a bearer of its own as far as there are bearers.
    mutating func addConcurrentReading() {
        does(BTPCommands.GATTCRead.self) { server, command in
            let link = try server.connection(command.addressType, command.address)
            server.read(link, { try await $0.read(command.handle) }) { code, value in
                { BTPEvents.GATTCReadResponse(addressType: $0, address: $1, status: code, data: value ?? []) }
            }
        }
        does(BTPCommands.GATTCReadMultipleVariable.self) { server, command in
            let link = try server.connection(command.addressType, command.address)
            server.read(link, { try await $0.readMultipleVariable(command.handles) }) { code, values in
                let octets = LengthValues.octets(values ?? [])
                return { BTPEvents.GATTCReadMultipleVariableResponse(addressType: $0, address: $1, status: code, data: octets) }
            }
        }
    }
}

extension BTPServer {
    /// Reads on the bearer with the fewest pending requests, and reports the result by an event.
    fileprivate func read<Value>(
        _ link: Connection, _ body: @escaping (GATTClient) async throws -> Value,
        _ event: @escaping (ATTErrorCode, Value?) -> (UInt8, BDADDR) -> some PDU
    ) {
        let client = link.leastBusyClient
        start { [unowned self] in
            let (code, value) = try await ATTOutcome.of { try await body(client) }
            send(link, event(code, value))
        }
    }
}

/// Values of variable length as messages have them: each after its length in two octets.
enum LengthValues {
    static func octets(_ values: [[UInt8]]) -> [UInt8] {
        values.flatMap { [UInt8(truncatingIfNeeded: $0.count), UInt8(truncatingIfNeeded: $0.count >> 8)] + $0 }
    }
}
