import BBPackets
import BBTiming
import Foundation
import Testing

@testable import BBCases
@testable import BBConformance
@testable import BBProducts

/// The product's log: lines between the packets of a case, and restarts.
struct ProductLogTests {
    private final class Writer: RunObserver {
        let log: ProductLog
        let lines: [String]
        private var isWritten = false

        init(_ log: ProductLog, _ lines: [String]) { (self.log, self.lines) = (log, lines) }

        func began(_ testCase: TestCase, index: Int) { log.buffer.add("*** Booting Zephyr OS of before ***\n".utf8) }
        /// Writes in the middle of the case.
        func reached(_ step: String, in testCase: TestCase) {
            guard !isWritten else { return }
            isWritten = true
            for line in lines { log.buffer.add(Array((line + "\n").utf8)) }
        }
        func ended(_ result: CaseResult) {}
        func waits(for device: String, because reason: String, left: Microseconds) {}
        func isBack(_ device: String, after time: Microseconds) {}
    }

    private static func run(_ lines: [String], bootLine: String? = nil, before: String? = nil) throws -> CaseResult {
        var plan = try RunPlan(
            catalogue: try SuiteTests.catalogue(), setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1),
            filters: ["phy/central-asks-2m"])
        plan.commands.beforeCase = before
        let log = try ProductLog(bootLine: bootLine)
        let writer = Writer(log, lines)
        let runner = Runner(plan, recorder: try Recorder(path: nil), observer: writer)
        runner.productLog = log
        let result = try #require(runner.run().cases.first)
        _ = writer
        return result
    }

    /// Lines, the user's pattern, and the line that tells of a restart.
    static let rows: [(lines: [String], pattern: String?, banner: String?)] = [
        (["[00:00:01.000] <inf> app: advertising"], nil, nil),
        (["<err> os: fault", "*** Booting nRF Connect SDK v2.9.0 ***"], nil, "*** Booting nRF Connect SDK v2.9.0 ***"),
        (["\u{1B}[1;32m*** Booting Zephyr OS build v4.0.0 ***\u{1B}[0m"], nil, "*** Booting Zephyr OS build v4.0.0 ***"),
        (["rst:0xc (SW_CPU_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)"], nil, "rst:0xc (SW_CPU_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)"),
        (["ESP-ROM:esp32c3-api1-20210207"], nil, "ESP-ROM:esp32c3-api1-20210207"),
        (["Pulse 2 firmware 3.1", "*** Booting Zephyr OS ***"], "^Pulse \\d firmware", "Pulse 2 firmware 3.1"),
        (["no banner: rst:0x1"], nil, nil),
    ]

    @Test(arguments: rows) func aBannerTellsOfARestart(_ row: (lines: [String], pattern: String?, banner: String?)) throws {
        let result = try Self.run(row.lines, bootLine: row.pattern)
        #expect(result.verdict == .pass && result.log?.lines.count == row.lines.count)
        #expect(result.message.hasPrefix("the product restarted: \(row.banner ?? "")") == (row.banner != nil), "\(result.message)")
        #expect(result.evidence.contains { $0.side == "log" && $0.text == row.banner } == (row.banner != nil))
    }

    /// A pattern whose ways multiply with each letter of the line does not hold the run up.
    @Test func theTimeOfAPatternIsLinear() throws {
        let result = try Self.run((1...200).map { _ in String(repeating: "a", count: 399) + "!" }, bootLine: "(a+)+$")
        #expect(result.verdict == .pass && result.message.isEmpty)
    }

    /// A banner before the case is a remark, unless a command has just reset the product.
    @Test(arguments: [nil, "exit 0"]) func aBannerBeforeTheCaseIsARemark(_ command: String?) throws {
        let result = try Self.run(["*** Booting Zephyr OS ***"], before: command)
        let remark = "the product restarted before this case: *** Booting Zephyr OS of before ***"
        #expect(result.notes.contains(remark) == (command == nil))
        #expect(result.message.isEmpty == (command != nil))
    }

    @Test func linesHaveTheTimeOfTheCase() throws {
        let result = try Self.run(["one", "two"])
        let line = try #require(result.log?.lines.last)
        #expect(line.text == "two" && (0...result.virtualMilliseconds).contains(line.milliseconds))
    }

    @Test func aLogIsBounded() throws {
        let result = try Self.run((1...1_000).map { "\($0) " + String(repeating: "x", count: 2_000) })
        let log = try #require(result.log)
        #expect(log.lines.count == 200 && log.omitted == 800 && log.gap == 60)
        #expect(log.lines[59].text.hasPrefix("60 ") && log.lines[60].text.hasPrefix("861 "))
        #expect(log.lines.allSatisfy { $0.text.count == 401 && $0.text.hasSuffix("…") })
        let again = try JSONDecoder().decode(CaseResult.self, from: JSONEncoder().encode(result))
        #expect(again.log == log)
    }
}
