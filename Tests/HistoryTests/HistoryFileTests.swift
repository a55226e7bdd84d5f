import Foundation
import Testing

@testable import BBHistory

struct HistoryFileTests {
    /// A temporary folder.
    private final class Folder {
        let path = NSTemporaryDirectory() + "history-\(UUID().uuidString)"
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
        func file(_ name: String) -> String { path + "/" + name }
    }

    private static func entry(_ day: Int, goodput: Double = 1_300, failure: String? = nil, setup: String = "", rows: Int = 1) throws -> (
        String, HistoryEntry
    ) {
        let list = (0..<rows).map { row in
            """
            {"over": "notify", "direction": "from-subject", "phy": "2m", "data_length": 251, "mtu": \(247 - row), "interval_ms": 15,
             "goodput_kbps": \(goodput), "ceiling_kbps": 1400\(failure.map { #", "failure": "\#($0)""# } ?? "")}
            """
        }
        let json = """
            {"setup": {"tester": "a", "subject": "b", "host": "h", "build": "0.1", "date": "2026-01-\(day < 10 ? "0" : "")\(day)T00:00:00",
              "labels": {"build": "b\(day)"}\(setup)}, "rows": [\(list.joined(separator: ","))]}
            """
        return ("\(day).json", try HistoryEntry(json: Data(json.utf8), name: "\(day).json", date: "unknown"))
    }

    private static func run(_ verdicts: [String: String]) throws -> HistoryEntry {
        let cases = verdicts.sorted { $0.key < $1.key }.map { #"{"id": "\#($0.key)", "verdict": "\#($0.value)"}"# }
        let json = #"{"run": {"tester": "virtual", "subject": "virtual"}, "cases": [\#(cases.joined(separator: ","))]}"#
        return try HistoryEntry(json: Data(json.utf8), name: "verdicts", date: "2026-02-01T00:00:00", build: "now")
    }

    @Test func rowsOfOneSetupAreOneTrendInTheOrderOfTheirDates() throws {
        let folder = try Folder()
        let history = try HistoryFile(folder.file("h"), makes: true)
        #expect(try history.add([try Self.entry(3), try Self.entry(1, goodput: 1_200), try Self.entry(2, failure: "lost")]) == [1, 2, 3])
        _ = try history.add([try Self.entry(4, setup: #", "buffers": 2"#)])
        let series = try HistoryFile(folder.file("h"), makes: false).series()
        #expect(series.map { $0.points.map(\.build) } == [["b1", "b2", "b3"], ["b4"]])
        #expect(series.first?.points.map(\.value) == [1_200, nil, 1_300])
        #expect(series.first?.points[1].failure == "lost")
        #expect(try history.series(matching: ["coded"]).isEmpty)
        #expect(try history.series(last: 1).map(\.points.count) == [1, 1])
    }

    @Test func aRunThatIsThereIsRefusedAndNothingOfItsCompanyIsKept() throws {
        let folder = try Folder()
        let history = try HistoryFile(folder.file("h"), makes: true)
        _ = try history.add([try Self.entry(1)])
        #expect { try history.add([try Self.entry(2), try Self.entry(1)]) } throws: {
            "\($0)".contains("1.json is in") && "\($0)".contains("as run 1")
        }
        #expect(try history.runs().map(\.build) == ["b1"])
    }

    @Test func verdictsTurn() throws {
        let folder = try Folder()
        let history = try HistoryFile(folder.file("h"), makes: true)
        _ = try history.add([
            ("1", try Self.run(["a": "PASS", "b": "PASS"])), ("2", try Self.run(["a": "FAIL"])),
            ("3", try Self.run(["a": "FAIL", "b": "FAIL"])),
        ])
        let verdicts = try history.verdicts()
        #expect(verdicts.map { $0.turns.map(\.id) } == [[], ["a"], ["b"]])
        #expect(verdicts.last?.counts == ["FAIL": 2])
    }

    @Test func aFullDiskLosesNothing() throws {
        let folder = try Folder()
        let history = try HistoryFile(folder.file("h"), makes: true)
        _ = try history.add([try Self.entry(1)])
        try history.read { database in
            let pages = try database.integer("PRAGMA page_count") ?? 0
            try database.run("PRAGMA max_page_count = \(pages + 1)")
        }
        #expect { try history.add([try Self.entry(2, rows: 2_000)]) } throws: {
            ($0 as? HistoryError)?.isEnvironment == true && "\($0)".contains("is as it was")
        }
        #expect(try HistoryFile(folder.file("h"), makes: false).runs().map(\.build) == ["b1"])
    }

    @Test(
        arguments: [
            ("no database at all, but long enough to look like the header of one", nil, "is not an SQLite file"),
            (nil, "CREATE TABLE theirs (x)", "database of another program"),
            (nil, "PRAGMA user_version = 3", "database of another program"),
            (nil, "PRAGMA application_id = 1111640169; PRAGMA user_version = 99", "use a later bluebench"),
        ] as [(String?, String?, String)])
    func aFileOfAnotherKindIsRefusedAndLeftAlone(content: String?, statements: String?, words: String) throws {
        let folder = try Folder()
        let path = folder.file("h")
        if let content { try Data(String(repeating: content, count: 20).utf8).write(to: URL(fileURLWithPath: path)) }
        if let statements { try Self.make(path, statements) }
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        for makes in [true, false] {
            #expect { try HistoryFile(path, makes: makes) } throws: { "\($0)".contains(words) }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func aHistoryThatIsNotThereIsNotMadeByReaders() throws {
        let folder = try Folder()
        #expect { try HistoryFile(folder.file("h"), makes: false) } throws: { "\($0)".contains("there is no history") }
        #expect(!FileManager.default.fileExists(atPath: folder.file("h")))
    }

    @Test(arguments: [
        ("{}", "'cases' is missing"), ("no", "is not JSON"), ("[1]", "has no results"), (#"{"rows": []}"#, "has no rows"),
        (#"{"cases": []}"#, "has no cases"), (#"{"rows": [{"over": 1}]}"#, "another type"),
    ])
    func filesThatHoldNoResults(json: String, words: String) {
        #expect { try HistoryEntry(json: Data(json.utf8), name: "x", date: "") } throws: { "\($0)".contains(words) }
    }

    /// Creates a database of another program.
    private static func make(_ path: String, _ statements: String) throws {
        try SQLiteDatabase(path).run(statements)
    }
}
