import Testing

@testable import BBConformance

/// Rules about control PDUs, as cases apply them.
struct AirConductTests {
    /// The rules apply in cases that are about something else.
    @Test(arguments: [
        ("LL_LENGTH_RSP twice", "dle/answers[side=peripheral]"), ("LMP_SETUP_COMPLETE twice", "bredr-gap/disconnects"),
        ("Connection_Request twice", "bredr-gap/connects-to-subject"),
        ("LE_Channel_Selection_Algorithm twice", "gap-conn/peripheral-disconnects"),
        ("Keypress_Notification.BD_ADDR zero", "ssp/keypress-received"),
        ("LE_Connection_Update_Complete twice", "gap-params/subject-updates"),
        ("QoS_Setup_Complete twice", "bredr-lmp/quality-of-service"),
    ]) func areAppliedInCases(_ id: String, _ testCase: String) throws {
        let mutant = try #require(GeneratedMutant.all.first { $0.id == id })
        let trial = try GeneratedTrial(catalogue: SuiteTests.catalogue(), freedoms: [], seed: 1, filters: [testCase], threads: 1)
        let result = try #require(try trial.run([mutant]).first)
        guard case .killed(_, let message) = result.outcome else { throw Survived(occasions: result.occasions) }
        #expect(message.contains(mutant.packet) && message.contains("expected"), "\(message)")
    }

    struct Survived: Error { var occasions: Int }
}
