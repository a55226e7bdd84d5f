import BBBenchTesting
import BBMisbehaviour
import Foundation
import Testing

@testable import BBConformance
@testable import BBProducts

/// The catalogue of all quirks.
@Suite struct QuirkCatalogueTests {
    static let all = QuirkCatalogue.controllers + QuirkCatalogue.hosts + QuirkCatalogue.accessories

    @Test func eachNameStandsForOneQuirk() {
        let names = all(\.name)
        #expect(Dictionary(grouping: names) { $0 }.filter { $1.count > 1 }.keys.sorted() == [])
        #expect(names.allSatisfy { $0.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" } })
    }

    @Test func eachSaysWhatItDoes() {
        #expect(Self.all.filter { $0.text.isEmpty || $0.text.hasSuffix(".") }.map(\.name) == [])
        #expect(Self.all.filter { $0.allowedBy != nil && $0.violates != nil }.map(\.name) == [])
    }

    @Test func formerNamesLeadToPresentOnes() {
        let names = Set(all(\.name)).union(["legal-chip"])
        #expect(FormerNames.present.values.filter { !names.contains($0) } == [])
        #expect(FormerNames.present.keys.filter { names.contains($0) } == [])
    }

    /// `make docs` writes the page.
    @Test func thePageIsMadeFromTheCatalogue() throws {
        let page = try String(contentsOfFile: SuiteTests.folder + "/../docs/guide/quirks.md", encoding: .utf8)
        #expect(page == QuirkCatalogue.page)
    }

    @Test func eachQuirkOfAnAccessoryChangesIt() {
        let idle = AccessoryConduct.allQuirks.all.filter { quirk in
            QuirkCoverage.values(of: quirk.declaration.kind).allSatisfy {
                QuirkCoverage.changes(quirk, $0, in: [AccessoryConduct([])]).isEmpty
            }
        }
        #expect(idle.map(\.name) == [])
    }

    private func all<Value>(_ part: (QuirkDeclaration) -> Value) -> [Value] { Self.all.map(part) }
}
