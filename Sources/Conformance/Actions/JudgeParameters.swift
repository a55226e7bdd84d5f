import BBCases
import BBPackets
import BBProducts
import BBTiming

/// Judges the parameters that a device requests by the rule of the case, or by the limits of the Core Specification.
enum JudgeParameters: NamedAction {
    static let name = "judge parameters"
    static let about =
        "compares requested connection parameters with the rule of the case, or with the limits of each connection"
    static let minimum = TypedArgument.number("minimum", 0...0xFFFF, "N x 1.25 ms")
    static let maximum = TypedArgument.number("maximum", 0...0xFFFF, "N x 1.25 ms")
    static let latency = TypedArgument.number("latency", 0...0xFFFF, "connection events")
    static let timeout = TypedArgument.number("timeout", 0...0xFFFF, "N x 10 ms")
    static var arguments: [ActionArgument] {
        [minimum.declaration, maximum.declaration, latency.declaration, timeout.declaration]
    }
    /// - Throws: `ActionFinding`.
    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (minimum, maximum) = (try context(minimum), try context(maximum))
        let hid = BluetoothUUID(0x1812)
        let rules = ConnectionParameterRules(
            minimum: .connectionIntervals(minimum), maximum: .connectionIntervals(maximum),
            latency: try context(latency),
            timeout: .milliseconds(try context(timeout) * 10),
            isHID: context.bench.product.facts?.offers(hid) ?? false)
        guard let rule = context.bench.rules.judged else {
            if let fault = rules.faultOfCore { throw ActionFinding(text: fault) }
            return CaseRecord()
        }
        guard let fault = rules.fault(rule) else {
            throw StepFailure(
                .bench,
                "the rule of this case is not about connection parameters: \(ConnectionParameterRules.names)"
            )
        }
        guard fault.isEmpty else { throw ActionFinding(text: fault) }
        return CaseRecord()
    }
}
