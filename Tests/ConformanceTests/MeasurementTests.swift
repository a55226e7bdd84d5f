import BBPackets
import Testing

@testable import BBCases
@testable import BBConformance

/// Values of `measure:`, and octets that an action joins.
struct MeasurementTests {
    @Test(
        arguments: [
            (.count, [], 0), (.delay, [], nil), (.delay, [30, 50], 20), (.span, [30], nil), (.span, [30, 50, 90], 60),
            (.meanPeriod, [30, 50, 90], 30), (.shortestPeriod, [30, 50, 90], 20), (.longestPeriod, [30, 50, 90], 40),
            (.undoubledPeriods, [], 0), (.undoubledPeriods, [30], 0), (.undoubledPeriods, [30, 50], 0),
            (.undoubledPeriods, [30, 50, 90], 0),
            (.undoubledPeriods, [30, 50, 89], 1), (.undoubledPeriods, [30, 50, 70, 90], 2), (.undoubledPeriods, [30, 50, 70, 200], 1),
        ] as [(Measurement.Metric, [Int64], Int?)])
    func value(_ metric: Measurement.Metric, times: [Int64], expected: Int?) {
        #expect(CaseRun.value(of: metric, times.map { Microseconds($0) }, since: Microseconds(10)) == expected)
    }

    @Test(arguments: [
        (#"{first: "01 02", second: "03 04"}"#, "01 02 03 04"), (#"{first: "01 02", second: "03 04", reversed: 1}"#, "01 02 04 03"),
        (#"{second: "05"}"#, "05"),
    ])
    func joined(arguments: String, octets: String) throws {
        let text = """
            title: Octets are joined
            purpose: They follow one another.
            reference: Core Vol 6, Part B, 5.1.10
            steps:
              - {do: join octets, as: tester, with: \(arguments), result: {octets: "\(octets)"}, states: They are joined.}
            """
        let result = try Trial.run("phy/made", catalogue: try Trial.catalogue(with: text)) { [$1] }
        #expect(result.verdict == .pass, "\(result.message)")
    }
}
