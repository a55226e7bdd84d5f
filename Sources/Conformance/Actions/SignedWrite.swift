/// Signed Write Without Response. Core Vol 3, Part G, 4.9.2.
enum SignedWrite: NamedAction {
    static let name = "signed write"
    static let about = "the host's client looks a characteristic up and writes it with a signature"
    static let uuid = TypedArgument.uuid("uuid", "the characteristic's UUID")
    static let value = TypedArgument.octets("value", "the octets to write")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, uuid.declaration, value.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let characteristic = try await context.characteristic(try context(uuid))
        try await context.link().gatt.signedWrite(characteristic.value, try context(value))
        return CaseRecord()
    }
}
