import BBHost
import BBPackets
import BBReport
import Foundation

/// The output of `bluebench gatt --json`, with names in snake case. Octets are hexadecimal.
package struct GATTReport: Encodable {
    struct Descriptor: Encodable {
        var uuid: String
        var handle: UInt16
        var value: String?
        var error: String?
        var name: String?
        /// The meaning of the value.
        var text: String?
    }

    struct Characteristic: Encodable {
        var uuid: String
        var handle: UInt16
        var properties: [String]
        var value: String?
        var error: String?
        var name: String?
        var text: String?
        var descriptors: [Descriptor] = []
    }

    struct Service: Encodable {
        var uuid: String
        var handle: UInt16
        var endHandle: UInt16
        var name: String?
        var characteristics: [Characteristic] = []
    }

    package struct Write: Encodable {
        package var uuid: String
        var octets: Int
        package var error: String?
    }

    struct Value: Encodable {
        var uuid: String
        var value: String
        /// The time since the subscriptions.
        var milliseconds: Double
    }

    package struct Read: Encodable {
        package var uuid: String
        var value: String?
        package var error: String?
    }

    var peer: String
    var transport: String
    /// Connection interval; only over LE.
    var interval: Double?
    var mtu: Int?
    /// Opened Enhanced ATT bearers; only if they were wanted.
    var enhancedBearers: Int?
    var services: [Service] = []
    package var reads: [Read] = []
    package var writes: [Write] = []
    var values: [Value] = []
    var disconnected: String?

    package init(peer: String, transport: SessionTransport) { (self.peer, self.transport) = (peer, transport.rawValue) }

    package func json() throws -> String { try ResultsJSON.encode(self, keys: .convertToSnakeCase) }
}

extension CharacteristicProperties {
    /// The names in the specification. Core Vol 3, Part G, 3.3.1.1.
    var names: [String] {
        let all: [(CharacteristicProperties, String)] = [
            (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write_without_response"), (.write, "write"),
            (.notify, "notify"), (.indicate, "indicate"), (.signedWrite, "authenticated_signed_writes"),
            (.extended, "extended_properties"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}
