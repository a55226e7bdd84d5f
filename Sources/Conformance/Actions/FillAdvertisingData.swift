import BBCases
import BBPackets

/// Gives an advertising set data in several commands without ending it.
enum FillAdvertisingData: NamedAction {
    static let name = "fill advertising data"
    static let about = "gives a set the first fragments of data, an octet less than `octets` in seven commands, and leaves the last one out"
    static let handle = TypedArgument.number("handle", 0...0xEF, default: 0, "the advertising set")
    static let octets = TypedArgument.number("octets", 31...1_650, "the octets for which there is room")
    static let isResponse = TypedArgument.flag("response", default: false, "1 for the scan response data")
    static var arguments: [ActionArgument] { [handle.declaration, octets.declaration, isResponse.declaration] }

    private static let fragments = 7

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let end = try context.end()
        let (set, total) = (UInt8(try context(handle)), try context(octets) - 1)
        let isResponse = try context(isResponse)
        for number in 0..<fragments {
            let bounds = total * number / fragments..<total * (number + 1) / fragments
            let data = bounds.map { UInt8(truncatingIfNeeded: $0) }
            let operation = number == 0 ? AdvertisingDataOperation.first : .intermediate
            let reply =
                isResponse
                ? try await end.ask(
                    HCICommands.LESetExtendedScanResponseData(advertisingHandle: set, operation: operation, scanResponseData: data))
                : try await end.ask(
                    HCICommands.LESetExtendedAdvertisingData(advertisingHandle: set, operation: operation, advertisingData: data))
            let status = ErrorCode(rawValue: reply.parameters.first ?? 0)
            guard status == .success else {
                let text = "the fragment up to octet \(bounds.upperBound) of \(total + 1)"
                throw ActionFinding(text: "\(text): expected Status Success, got \(status)")
            }
        }
        return CaseRecord()
    }
}
