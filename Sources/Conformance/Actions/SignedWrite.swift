import BBCases
import BBHost

/// Signed Write Without Response. Core Vol 3, Part G, 4.9.2.
enum SignedWrite: NamedAction {
    static let name = "signed write"
    static let about = "the client finds a characteristic by its UUID and writes it with a signature"
    static let uuid = TypedArgument.uuid("uuid", "the characteristic's UUID")
    static let value = TypedArgument.octets("value", "the octets to write")
    static let counter = TypedArgument.number("counter", -1...0xFFFF_FFFE, default: -1, "the SignCounter; the key's own by default")
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration, uuid.declaration, value.declaration, counter.declaration]
    }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let characteristic = try await context.characteristic(try context(uuid))
        if let counter = UInt32(exactly: try context(counter)), let link = try? context.link(), var bond = link.bond {
            bond.localSigningKey?.counter = counter
            try context.driver().host.keys.add(bond)
        }
        try await context.link().gatt.signedWrite(characteristic.value, try context(value))
        return CaseRecord()
    }
}
