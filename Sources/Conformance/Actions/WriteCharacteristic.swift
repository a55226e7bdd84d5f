import BBCases

/// Write Characteristic Value, and Write Long Characteristic Values. Core Vol 3, Part G, 4.9.3 and 4.9.4.
enum WriteCharacteristic: NamedAction {
    static let name = "write"
    static let about = "the client finds a characteristic by its UUID and writes its value"
    static let uuid = TypedArgument.uuid("uuid", "the characteristic's UUID")
    static let value = TypedArgument.octets("value", "the octets to write")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, uuid.declaration, value.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (link, value) = (try context.link(), try context(value))
        let characteristic = try await context.characteristic(try context(uuid))
        if value.count > link.mtu - 3 {
            try await link.gatt.writeLong(characteristic.value, value)
        } else {
            try await link.gatt.write(characteristic.value, value)
        }
        return CaseRecord()
    }
}
