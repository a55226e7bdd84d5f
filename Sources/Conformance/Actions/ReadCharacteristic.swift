import BBCases

/// Read Characteristic Value, and Read Long Characteristic Values. Core Vol 3, Part G, 4.8.1 and 4.8.3.
enum ReadCharacteristic: NamedAction {
    static let name = "read"
    static let about = "the client finds a characteristic by its UUID and reads its whole value"
    static let uuid = TypedArgument.uuid("uuid", "the characteristic's UUID")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, uuid.declaration] }
    static let results = ["value"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let characteristic = try await context.characteristic(try context(uuid))
        return CaseRecord([("value", .octets(try await context.link().gatt.readLong(characteristic.value)))])
    }
}

/// Reads a value by its handle.
enum ReadHandle: NamedAction {
    static let name = "read handle"
    static let about = "the client reads the whole value of an attribute"
    static let handle = TypedArgument.number("handle", 1...0xFFFF, "the attribute's handle")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, handle.declaration] }
    static let results = ["value"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let handle = UInt16(clamping: try context(handle))
        return CaseRecord([("value", .octets(try await context.link().gatt.readLong(handle)))])
    }
}
