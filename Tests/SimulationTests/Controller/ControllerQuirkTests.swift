import BBBenchTesting
import BBMisbehaviour
import Testing

@testable import BBSimulation

/// The table of quirks and the fields of a controller's configuration.
@Suite struct ControllerQuirkTests {
    private static let plain: [ControllerConfiguration] = {
        var dual = ControllerConfiguration(address: World.address(1))
        dual.profile = .dual
        return [dual]
    }()

    private static func changes(_ quirk: Quirk<ControllerConfiguration>) -> Set<String> {
        QuirkCoverage.values(of: quirk.declaration.kind).reduce(into: []) { $0.formUnion(QuirkCoverage.changes(quirk, $1, in: plain)) }
    }

    @Test func eachQuirkChangesAField() {
        let idle = ControllerConfiguration.allQuirks.all.filter { Self.changes($0).isEmpty }.map(\.name)
        #expect(idle == [])
    }

    /// Other fields are set by chips and by the bench.
    @Test func eachChoiceAndDefectHasAQuirk() {
        let changed = ControllerConfiguration.allQuirks.all.reduce(into: Set<String>()) { $0.formUnion(Self.changes($1)) }
        let fields = QuirkCoverage.fields(of: Self.plain[0]).keys.filter { $0.hasPrefix("choices.") || $0.hasPrefix("quirks.") }
        #expect(Set(fields).subtracting(changed) == ["quirks.receivedRewrites"])
    }

    @Test func eachElementOfASetHasAQuirk() {
        var configuration = Self.plain[0]
        for quirk in ControllerConfiguration.allQuirks.all {
            quirk.apply(&configuration, QuirkCoverage.values(of: quirk.declaration.kind)[0])
        }
        #expect(configuration.quirks.encryption.rawValue == 0x1FF && configuration.quirks.bredr.rawValue == 0x7FF)
        #expect(configuration.quirks.resetKeeps.rawValue == 0xF_FFFF && configuration.quirks.procedures.rawValue == 0x1FF)
        #expect(configuration.quirks.periodic.rawValue == 0x1F)
    }

    @Test func aFlagThatIsOffHasNoEffect() {
        for quirk in ControllerConfiguration.allQuirks.all where quirk.declaration.kind == .flag {
            #expect(QuirkCoverage.changes(quirk, .flag(false), in: Self.plain) == [], "\(quirk.name)")
        }
    }

    @Test(arguments: [("answer-slow=20-30", 20_000...30_000), ("answer-slow=5", 5_000...5_000)])
    func aTimeIsReadInMilliseconds(text: String, range: ClosedRange<Int>) throws {
        let quirk = try #require(ControllerConfiguration.allQuirks["answer-slow"])
        var configuration = Self.plain[0]
        quirk.apply(&configuration, try #require(quirk.declaration.read(String(text.split(separator: "=")[1]))))
        #expect(configuration.commandLatency.lowerBound.rawValue == Int64(range.lowerBound))
        #expect(configuration.commandLatency.upperBound.rawValue == Int64(range.upperBound))
    }
}
