import BBBTP
import BBHost
import BBPackets

extension BTPHandlers {
    /// Reads of the service GATT client: a command is answered at once, and an event has the value. Several of them are under way at a time,
    /// each on a bearer of its own as far as there are bearers.
    mutating func addConcurrentReading() {
        does(BTPCommands.GATTCRead.self) { server, command in
            let link = try server.connection(command.addressType, command.address)
            let client = link.leastBusyClient
            server.start { [unowned server] in
                let (code, value) = try await ATTOutcome.of { try await client.read(command.handle) }
                server.send(link) {
                    BTPEvents.GATTCReadResponse(addressType: $0, address: $1, status: code, data: value ?? [])
                }
            }
        }
        does(BTPCommands.GATTCReadMultipleVariable.self) { server, command in
            let link = try server.connection(command.addressType, command.address)
            let client = link.leastBusyClient
            server.start { [unowned server] in
                let (code, values) = try await ATTOutcome.of { try await client.readMultipleVariable(command.handles) }
                server.send(link) {
                    BTPEvents.GATTCReadMultipleVariableResponse(
                        addressType: $0, address: $1, status: code, data: LengthValues.octets(values ?? []))
                }
            }
        }
    }
}

/// Values of variable length as messages have them: each after its length in two octets.
enum LengthValues {
    static func octets(_ values: [[UInt8]]) -> [UInt8] {
        values.flatMap { [UInt8(truncatingIfNeeded: $0.count), UInt8(truncatingIfNeeded: $0.count >> 8)] + $0 }
    }
}
