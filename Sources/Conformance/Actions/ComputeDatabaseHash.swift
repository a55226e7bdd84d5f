import BluetoothCrypto
import Cases
import Host
import Packets

/// Computes the Database Hash from the attributes that the device shows: all of them by Find Information, the values of those that count by
/// reading. Core Vol 3, Part G, 7.3.1.
enum ComputeDatabaseHash: NamedAction {
    static let name = "compute database hash"
    static let about = "the client reads all declarations and computes the Database Hash"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let results = ["hash", "attributes"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let client = try context.link().gatt
        var writer = ByteWriter()
        var count = 0
        for attribute in try await client.discoverDescriptors(from: 1, to: .max) {
            guard let type = attribute.uuid.short, (0x2800...0x2803).contains(type) || (0x2900...0x2905).contains(type) else { continue }
            writer.u16(attribute.handle)
            writer.u16(type)
            if type <= 0x2900 { writer.bytes(try await client.readLong(attribute.handle)) }
            count += 1
        }
        let hash = AttributeHashes.databaseHash(writer.bytes).littleEndianOctets
        return CaseRecord([("hash", .octets(hash)), ("attributes", .number(count))])
    }
}
