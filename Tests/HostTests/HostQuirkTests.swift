import BBBenchTesting
import BBMisbehaviour
import Testing

@testable import BBHost

/// The table of a host's defects and the fields of `HostQuirks`.
@Suite struct HostQuirkTests {
    private static func changes(_ quirk: Quirk<HostQuirks>) -> Set<String> {
        QuirkCoverage.values(of: quirk.declaration.kind).reduce(into: []) {
            $0.formUnion(QuirkCoverage.changes(quirk, $1, in: [HostQuirks()]))
        }
    }

    @Test func eachDefectChangesAFieldOfItsOwn() {
        let changes = HostQuirks.all.all.map(Self.changes)
        #expect(changes.allSatisfy { $0.count == 1 })
        #expect(Set(changes).count == changes.count)
    }

    @Test func eachFieldHasADefect() {
        let changed = HostQuirks.all.all.reduce(into: Set<String>()) { $0.formUnion(Self.changes($1)) }
        let rules = ["rewrites.rules", "rewrites.layers", "receivedRewrites.rules", "receivedRewrites.layers"]
        let ofTests = ["pairing.publicKeyFault"]
        #expect(Set(QuirkCoverage.fields(of: HostQuirks()).keys).subtracting(changed) == Set(rules + ofTests))
    }

    @Test func eachNamesASection() {
        #expect(HostQuirks.all.declarations.allSatisfy { ($0.isDefect ? $0.violates : $0.allowedBy)?.isEmpty == false })
    }
}
