import Testing

@testable import BBCases
@testable import BBConformance

/// Cases about what a device protects hold in a run with `--pair`, too: each pairs by itself, or stays unencrypted.
struct InClearTests {
    private static let guarded: Set<String> = [
        "device.protected", "device.guardedReads", "device.guardedWrites", "device.guardedCommands", "device.guardedSubscriptions",
        "device.guardedChannels",
    ]

    @Test func aCaseAboutProtectionPairsByItselfOrStaysUnencrypted() throws {
        let catalogue = try SuiteTests.catalogue()
        let cases = catalogue.cases.filter { !Self.guarded.isDisjoint(with: $0.needs?.names ?? []) && !$0.pairsItself(catalogue) }
        #expect(cases.count >= 8)
        for testCase in cases {
            let meetings = testCase.castSteps(catalogue).compactMap { step in
                if case .action(let action) = step.kind, action.name == MeetDevice.name { action } else { nil }
            }
            let pairing = meetings.filter { meeting in
                !meeting.arguments.contains { entry in
                    if case .literal(.number(0)) = entry.value { entry.name == MeetDevice.pairs.declaration.name } else { false }
                }
            }
            #expect(!meetings.isEmpty && pairing.isEmpty, "\(testCase.id)")
        }
    }
}
