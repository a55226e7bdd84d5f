import BBCases
import BBHost
import BBPackets
import BBProducts

/// Reads a value and checks its format.
enum CheckValue: NamedAction {
    static let name = "check value"
    static let about =
        "the client reads a value and compares it with the SIG's format of its characteristic; a refused read is not a fault"
    static let uuid = TypedArgument.uuid("uuid", "the characteristic's UUID")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, ReadHandle.handle.declaration, uuid.declaration] }
    static let needsHost = true

    /// - Throws: `ActionFinding`.
    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let handle = UInt16(clamping: try context(ReadHandle.handle))
        let value: [UInt8]
        do { value = try await context.link().gatt.readLong(handle) } catch HostError.peer(.att) { return CaseRecord() }
        let fault = ValueFormat.fault(in: value, of: try context(uuid))
        guard fault.isEmpty else { throw ActionFinding(text: fault) }
        return CaseRecord()
    }
}
