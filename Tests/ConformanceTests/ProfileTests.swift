import BBPackets
import BBTiming
import Testing

@testable import BBCases
@testable import BBConformance
@testable import BBProducts

/// Rules for accessories: their numbers, and the computations behind them.
struct ProfileTests {
    private static func profile(_ name: String) throws -> AccessoryProfile { try #require(try SuiteTests.catalogue().profiles[name]) }

    /// Minimum and maximum interval in ms, latency, supervision timeout in ms, and the rules of R31 and R17 that this violates.
    private static let requests: [(Double, Double, Int, Int, isHID: Bool, r31: Set<String>, r17: Set<String>)] = [
        (30, 60, 4, 6_000, false, [], []), (15, 15, 0, 6_000, false, [], []), (15, 30, 30, 6_000, false, [], []),
        (30, 60, 4, 4_000, false, ["supervision-timeout"], []), (30, 60, 4, 7_000, false, [], ["supervision-timeout"]),
        (30, 45, 31, 6_000, false, ["peripheral-latency"], ["peripheral-latency"]),
        (7.5, 30, 0, 6_000, false, ["interval-minimum", "interval-multiple"], ["interval-minimum", "interval-multiple"]),
        (11.25, 11.25, 0, 6_000, true, [], []),
        (
            11.25, 11.25, 0, 6_000, false, ["interval-minimum", "interval-multiple", "interval-span"],
            ["interval-minimum", "interval-multiple", "interval-span"]
        ),
        (20, 40, 0, 6_000, false, ["interval-multiple"], ["interval-multiple"]),
        (30, 30, 0, 6_000, false, ["interval-span"], ["interval-span"]),
        (30, 90, 23, 6_000, false, ["timeout-margin"], ["timeout-margin", "effective-interval"]),
        (
            30, 300, 20, 18_000, false, ["effective-interval", "timeout-margin"],
            ["effective-interval", "timeout-margin", "supervision-timeout"]
        ),
        (2_010, 2_025, 0, 18_000, false, ["interval-longest"], ["supervision-timeout", "effective-interval"]),
    ]

    @Test(arguments: requests.indices) func eachRuleOfParametersStandsAlone(_ index: Int) throws {
        let row = Self.requests[index]
        let rules = ConnectionParameterRules(
            minimum: Microseconds(Int64(saturating: row.0 * 1_000)), maximum: Microseconds(Int64(saturating: row.1 * 1_000)),
            latency: row.2,
            timeout: .milliseconds(row.3), isHID: row.isHID)
        for (name, expected) in [("adg-r31", row.r31), ("adg-r17", row.r17)] {
            let broken = try Self.profile(name).rules.values.filter { !(rules.fault($0) ?? "").isEmpty }.map(\.name)
            #expect(Set(broken) == expected, "\(name)")
        }
    }

    /// Core Vol 3, Part A, 4.20: the last number is the least time-out of two intervals of 30 ms with a latency of 4.
    @Test(
        "The limits of each connection",
        arguments: [
            (6, 3200, 0, 3200, nil), (5, 6, 0, 100, "intervals"), (24, 23, 0, 100, "intervals"), (24, 3201, 0, 3200, "intervals"),
            (24, 24, 500, 3200, "latency"), (24, 24, 0, 9, "timeout"), (24, 24, 0, 3201, "timeout"), (24, 24, 4, 29, "latency + 1"),
            (24, 24, 4, 30, nil),
        ] as [(Int, Int, Int, Int, String?)])
    func limitsOfEachConnection(_ minimum: Int, _ maximum: Int, _ latency: Int, _ timeout: Int, _ expected: String?) {
        let fault = ConnectionParameterRules(
            minimum: .connectionIntervals(minimum), maximum: .connectionIntervals(maximum), latency: latency,
            timeout: .milliseconds(timeout * 10), isHID: false
        ).faultOfCore
        if let expected { #expect(fault?.contains(expected) == true, "\(fault ?? "none")") } else { #expect(fault == nil) }
    }

    /// Every rule is judged by a case, and every parameter check is named by a rule.
    @Test func rulesAndCasesMeet() throws {
        let catalogue = try SuiteTests.catalogue()
        let judged = Set(catalogue.cases.compactMap(\.rule))
        let ruled = Set(catalogue.profiles.values.flatMap(\.rules.values).filter { $0.evidence == nil }.map(\.name))
        #expect(judged == ruled)
        #expect(Set(ConnectionParameterRules.names).isSubset(of: ruled))
        #expect(catalogue.rule("interval-longest", of: "adg-r17") == nil)
        let citation = try Self.profile("adg-r31").rules["supervision-timeout"]?.citation
        #expect(citation?.hasPrefix("adg-r31 58.6 (shall): ") == true)
    }

    /// Each pattern of a rule about evidence names a case for any device over the air, and each rule says what no test shows.
    @Test func evidenceNamesCasesThatExist() throws {
        let catalogue = try SuiteTests.catalogue()
        let profile = try Self.profile("en18031")
        #expect(profile.isOfEvidence && profile.rules.count >= 25)
        let cases = catalogue.cases.filter { $0.subject == .accessory && !$0.meetsReference(catalogue) }.map(\.id)
        for rule in profile.rules.values {
            let evidence = try #require(rule.evidence)
            #expect(!evidence.beyond.isEmpty && !evidence.area.isEmpty)
            for pattern in evidence.cases {
                #expect(cases.contains { CaseFilter.matches($0, pattern) }, "\(rule.name): \(pattern)")
            }
        }
        #expect(!(try Self.profile("adg-r31").isOfEvidence))
        #expect(profile.rules(with: "accessory-security/declared-reads").map(\.name) == ["acm-1", "scm-1"])
    }

    /// Our simulated accessories follow the rules about their behaviour, or the case is not applicable.
    @Test func casesOfAProfileRunInTheSimulation() throws {
        var setup = BenchSetup(tester: .virtual, subject: .virtual, seed: 1)
        setup.accessory = .thermometer
        setup.profile = "adg-r31"
        let plan = try RunPlan(catalogue: try SuiteTests.catalogue(), setup: setup, filters: ["accessory-profile"])
        let result = try Runner(plan, recorder: try Recorder(path: nil)).run()
        let verdicts = Dictionary(grouping: result.cases, by: \.verdict).mapValues { $0.map(\.id) }
        #expect(verdicts[.error] == nil && verdicts[.inconclusive] == nil, "\(verdicts)")
        #expect((verdicts[.pass] ?? []).count >= 10)
    }
}
