import BBCases

/// Corrupts the MIC of a PDU on the simulated air, as by an attack or a bit error that the CRC did not detect.
enum SpoilMIC: NamedAction {
    static let name = "spoil MIC"
    static let about = "gives the next encrypted PDU a wrong MIC"
    static let isAboutAir = true
    static var arguments: [ActionArgument] { [] }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let world = context.bench.world else { throw StepFailure(.bench, "a MIC is spoilt on a simulated air only") }
        world.spoilMIC(at: context.side)
        return CaseRecord()
    }
}
