import BBConformance
import Foundation
import Testing

/// Results survive the run, disk errors and the next run.
struct ResultStoreTests {
    private static let header = ResultStore.Header(seed: .max, tester: "virtual", subject: "virtual")

    private static func result(_ id: String, _ verdict: Verdict = .pass) -> CaseResult {
        var result = CaseResult(id: id, title: "Title", verdict: verdict)
        (result.covers, result.partialCovers, result.seed) = (["A/1"], ["B/2", "B/3"], .max)
        result.capture = "capture.btsnoop"
        result.evidence = [Evidence(packet: 3, side: "tester", text: "Reset", at: 1_500)]
        return result
    }

    private static func withFolder(_ body: (_ path: String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bb-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appendingPathComponent("results.jsonl").path)
    }

    @Test func aResultIsTheSameAfterEachTripThroughAFile() throws {
        var result = Self.result("hci/a")
        for _ in 1...3 {
            let data = try JSONEncoder().encode(result)
            let text = String(decoding: data, as: UTF8.self)
            #expect(text.contains(#""seed":"18446744073709551615""#))
            let read = try JSONDecoder().decode(CaseResult.self, from: data)
            #expect(read == result)
            result = read
        }
    }

    @Test(arguments: [(#""17""#, 17), ("17", 17), (#""18446744073709551615""#, UInt64.max)])
    func seedsOfEveryFormatAreRead(_ text: String, _ seed: UInt64) throws {
        let data = Data(#"{"id":"a/b","verdict":"PASS","seed":\#(text)}"#.utf8)
        #expect(try JSONDecoder().decode(CaseResult.self, from: data).seed == seed)
    }

    @Test func wholeLinesAreKeptAndHalfOnesAreNot() throws {
        try Self.withFolder { path in
            do {
                let store = try ResultStore(path: path, header: Self.header, isResumed: false)
                try store.begin()
                try store.add(Self.result("hci/a"))
                try store.add(Self.result("hci/b", .fail))
            }
            let whole = try String(contentsOfFile: path, encoding: .utf8)
            try (whole + #"{"id":"hci/c","#).write(toFile: path, atomically: false, encoding: .utf8)
            let store = try ResultStore(path: path, header: Self.header, isResumed: true)
            try store.begin()
            #expect(store.known == ["hci/a": Self.result("hci/a"), "hci/b": Self.result("hci/b", .fail)])
            #expect(try String(contentsOfFile: path, encoding: .utf8) == whole)
            try store.add(Self.result("hci/b"))
            #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix(whole))
        }
    }

    /// A damaged or foreign journal is not changed.
    @Test(arguments: ["my notes\n", "my notes", "\u{7B}\"seed\":1\n", "damaged", "\n"])
    func aFileThatCannotBeContinuedIsLeftAlone(_ text: String) throws {
        try Self.withFolder { path in
            var text = text
            if text == "damaged" {
                do {
                    let store = try ResultStore(path: path, header: Self.header, isResumed: false)
                    try store.begin()
                    for id in ["hci/a", "hci/b"] { try store.add(Self.result(id)) }
                }
                text = try String(contentsOfFile: path, encoding: .utf8).replacing(#""hci/a""#, with: #""hci/a"#)
            }
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            let error = #expect(throws: StoreError.self) { try ResultStore(path: path, header: Self.header, isResumed: true) }
            #expect(error?.kind == .otherRun)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
    }

    @Test func aFileHasOneWriterAndOneKindOfRun() throws {
        try Self.withFolder { path in
            do {
                let store = try ResultStore(path: path, header: Self.header, isResumed: false)
                try store.begin()
                let error = #expect(throws: StoreError.self) { try ResultStore(path: path, header: Self.header, isResumed: true) }
                #expect(error?.kind == .inUse)
                try store.add(Self.result("hci/a"))
            }
            let other = ResultStore.Header(seed: 1, tester: "virtual", subject: "virtual")
            let error = #expect(throws: StoreError.self) { try ResultStore(path: path, header: other, isResumed: true) }
            #expect(error?.kind == .otherRun)
            #expect(try ResultStore(path: path, header: Self.header, isResumed: true).known.count == 1)
        }
    }

    @Test func aFileThatWasRemovedIsWrittenAnew() throws {
        try Self.withFolder { path in
            let store = try ResultStore(path: path, header: Self.header, isResumed: false)
            try store.begin()
            try store.add(Self.result("hci/a"))
            let whole = try String(contentsOfFile: path, encoding: .utf8)
            #expect(try store.restore() == false)
            try FileManager.default.removeItem(atPath: path)
            #expect(try store.restore())
            #expect(try String(contentsOfFile: path, encoding: .utf8) == whole)
        }
    }
}
