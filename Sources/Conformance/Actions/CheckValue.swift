import BBCases
import BBHost
import BBPackets
import BBProducts

/// Reads a value, or takes one that was sent, and checks its format.
enum CheckValue: NamedAction {
    static let name = "check value"
    static let about =
        "the client reads a value, unless one that it got is given, and compares it with the SIG's format of its characteristic; a refused "
        + "read is not a fault"
    static let uuid = TypedArgument.uuid("uuid", "the characteristic's UUID")
    static let value = TypedArgument.octets("value", default: [], "a value that was notified or indicated; none reads one")
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration, ReadHandle.handle.declaration, uuid.declaration, value.declaration]
    }
    static let needsHost = true

    /// - Throws: `ActionFinding`.
    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let handle = UInt16(clamping: try context(ReadHandle.handle))
        var value = try context(Self.value)
        if value.isEmpty {
            do { value = try await context.link().gatt.readLong(handle) } catch HostError.peer(.att) { return CaseRecord() }
        }
        let fault = ValueFormat.fault(in: value, of: try context(uuid))
        guard fault.isEmpty else { throw ActionFinding(text: fault) }
        return CaseRecord()
    }
}
