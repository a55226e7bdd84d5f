import BBCases
import BBPackets

/// Discover All Primary Services, without a host. Core Vol 3, Part G, 4.4.1.
enum FindService: NamedAction {
    static let name = "find service"
    static let about = "finds a primary service by its UUID among all, with ATT_READ_BY_GROUP_TYPE_REQ"
    static let uuid = TypedArgument.uuid("uuid", "the service's UUID")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, uuid.declaration] }
    /// The service's handles, the number of services with its UUID, the number of all services, and the number that start before the
    /// previous one ends.
    static let results = ["start", "end", "count", "services", "overlaps"]

    private static let primaryService: BluetoothUUID = 0x2800

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let wanted = try context(uuid)
        var all: [(uuid: BluetoothUUID?, start: UInt16, end: UInt16)] = []
        var start: UInt16? = 1
        while let first = start {
            let request = ATT.ReadByGroupTypeReq(startingHandle: first, endingHandle: .max, attributeGroupType: primaryService)
            guard let response: ATT.ReadByGroupTypeRsp = try await FindCharacteristic.answer(to: request, context) else { break }
            all += response.attributeDataList.map { (BluetoothUUID(octets: $0.attributeValue), $0.attributeHandle, $0.endGroupHandle) }
            start = try FindCharacteristic.next(after: all.last?.end, from: first)
        }
        let found = all.filter { $0.uuid == wanted }
        let overlaps = zip(all, all.dropFirst()).count { $1.start <= $0.end } + all.count { $0.end < $0.start }
        return CaseRecord([
            ("start", .number(Int(found.first?.start ?? 0))), ("end", .number(Int(found.first?.end ?? 0))),
            ("count", .number(found.count)), ("services", .number(all.count)), ("overlaps", .number(overlaps)),
        ])
    }
}
