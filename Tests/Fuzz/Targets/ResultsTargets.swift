import BBPackets
import Foundation

@testable import BBConformance
@testable import BBHistory
@testable import BBProgram
@testable import BBReport
@testable import BBSessions

extension FuzzTarget {
    /// `results.json` of somebody else: reports can be made of it, what is read can be written and read again, and two runs with the same
    /// cases can be merged.
    static let results = FuzzTarget(
        name: "results", layer: nil, isText: true, seeds: { ResultSeeds.documents },
        run: { input in
            let data = Data(input)
            if let verdicts = try? VerdictResults(json: data, name: "a") {
                let comparison = VerdictComparison(verdicts, verdicts)
                try promise(comparison.rows.count >= verdicts.cases.count, "cases are missing")
                _ = comparison.table(all: true).text
            }
            guard let (result, facts) = try? ResultsJSON.read(data) else { return }
            let text = try ResultsJSON.text(result, about: facts)
            let (again, _) = try ResultsJSON.read(Data(text.utf8))
            try promise(try ResultsJSON.text(again, about: facts) == text, "what is read again differs")
            _ = JUnit.text(result, about: facts)
            _ = MarkdownSummary(result, about: facts).text
            try merge(result, facts)
            guard isSample(input, oneOf: 64) else { return }
            _ = try HTMLPage(result, about: facts, comparedWith: EarlierRuns([(again, facts)])).text()
            try keep(input)
        })

    private static func merge(_ result: RunResult, _ facts: RunFacts) throws {
        var merged = MergedRun(allowsMissingShards: false)
        let part = ResultsFile(path: "/nowhere/results.json", result: result, facts: facts)
        try? merged.add(part, at: 0, isNewer: true)
        try merged.add(part, at: 1, isNewer: true)
        try promise(Set(merged.run.cases.map(\.id)) == Set(result.cases.map(\.id)), "merged, it has other cases")
    }

    /// Adds the document to a history, and makes its page.
    fileprivate static func keep(_ input: [UInt8]) throws {
        guard let entry = try? HistoryEntry(json: Data(input), name: "a", date: "2026-01-01T00:00:00") else { return }
        let history = try HistoryFile(":memory:", makes: true)
        guard (try? history.add([("a", entry)])) != nil else { return }
        let (trends, verdicts) = (try history.series().map { Trend($0) }, try history.verdicts())
        _ = OpenMetrics.text(trends, verdicts)
        _ = try HistoryPage.html("fuzz", trends, verdicts)
        _ = HistoryRun.table(try history.runs()).text
    }

    /// `results.jsonl` of a killed run: it can be reported, and a run that continues keeps every whole line.
    static let journals = FuzzTarget(
        name: "journals", layer: nil, isText: true, seeds: { ResultSeeds.journals },
        run: { input in
            try journal.write(input)
            defer { journal.remove() }
            guard let run = try? ResultStore.results(at: journal.path) else { return }
            _ = try ResultsJSON.text(run)
            _ = JUnit.text(run)
            let header = ResultStore.Header(seed: 1, tester: "virtual", subject: "virtual")
            guard let store = try? ResultStore(path: journal.path, header: header, isResumed: true) else { return }
            let known = store.known.count
            try store.begin()
            try store.add(CaseResult(id: "fuzz/added", title: "", verdict: .pass))
            let again = try ResultStore.results(at: journal.path)
            try promise(again.cases.count == known + (store.known.count > known ? 1 : 0), "\(known) cases became \(again.cases.count)")
        })

    private static let journal = ScratchFile(".jsonl")

    /// Figures of `throughput --json`: comparisons in both directions have finite figures, and a history takes them.
    static let figures = FuzzTarget(
        name: "throughput", layer: nil, isText: true, seeds: { ResultSeeds.figures },
        run: { input in
            guard let results = try? ThroughputResults(json: Data(input), name: "a") else { return }
            guard let base = try? ThroughputResults(json: Data(ResultSeeds.figures[0]), name: "b") else {
                throw BrokenPromise("the seed cannot be read")
            }
            for (old, new) in [(base, results), (results, base), (results, results)] {
                let comparison = ThroughputComparison(old, new) { _ in .init() }
                let figures = comparison.rows.flatMap { [$0.base, $0.now, $0.change, $0.band].compactMap(\.self) }
                try promise(figures.allSatisfy(\.isFinite), "a figure is not finite: \(figures)")
                _ = comparison.table(all: true).text
                _ = comparison.table(all: true).markdown
                _ = (new.setup ?? .init()).differences(from: old.setup ?? .init())
            }
            if isSample(input, oneOf: 64) { try keep(input) }
        })

    /// Notes beside a capture: they are applied to packets, changed, written and read again.
    static let notes = FuzzTarget(
        name: "notes", layer: nil, isText: true,
        seeds: {
            [
                #"{"notes":[{"packet":1,"time":5,"comment":"one"},{"packet":2,"time":9,"isFlagged":true}]}"#,
                #"{"notes":[{"packet":9223372036854775807,"time":-9223372036854775808,"comment":"\ud83d\ude00","isFlagged":false}]}"#,
            ].map { Array($0.utf8) }
        },
        run: { input in
            let file = ScratchFile(".notes.json")
            let capture = String(file.path.dropLast(".notes.json".count))
            try file.write(input)
            defer { file.remove() }
            guard var notes = try? CaptureNotes(beside: capture) else { return }
            for number in notes.notes.keys.prefix(8) { notes.set(number, at: .init(microseconds: 7), comment: "more", isFlagged: true) }
            notes.set(1, at: .init(microseconds: 5), comment: String(decoding: input, as: UTF8.self))
            try notes.save()
            let again = try CaptureNotes(beside: capture)
            try promise(again.notes == notes.notes, "other notes are read than were written")
        })
}

/// Results with every part that a file can have.
enum ResultSeeds {
    private static let head =
        #""seed":"1","tester":"virtual","subject":"virtual","interrupted":false,"date":"2026-01-01T00:00:00","host":"h","build":"0.1.0""#
    private static let device =
        #"{"side":"tester","device":"usb:1-1","discarded":1,"held":2,"worst_wait_ms":3.5,"dropped":4,"cleared_halts":5,"known":["k"],"#
        + #""workarounds":["w"],"learned":[{"kind":"k","text":"t","count":3}],"startup":"asked","#
        + #""numbers":{"usb":"0a12:0001","company":10,"hci_revision":"2031","lmp_subversion":"2031"},"#
        + #""losses":[{"at_ms":12.5,"reason":"gone","away_ms":300.25,"device":"usb:1-1","startup":"asked"}]}"#
    private static let passed =
        #"{"id":"gatt/a","title":"A","verdict":"PASS","covers":["GAP/ADV/BV-01-C"],"covers_partly":["GAP/ADV/BV-02-C"],"duration_ms":1.5,"#
        + #""virtual_ms":2.5,"seed":"7","capture":"capture.pcapng","message":"","first_packet":1,"last_packet":9,"tags":["usb"],"#
        + #""file":"gatt/a.yaml","purpose":"p","reference":"Core Vol 3","started":"2026-01-01T00:00:00.5Z","#
        + #""steps":[{"text":"s","at":"gatt/a.yaml:3:5","at_ms":1,"duration_ms":2,"first_packet":1,"last_packet":2}]}"#
    private static let failed =
        #"{"id":"gatt/b","title":"B","verdict":"FAIL","covers":[],"duration_ms":10,"virtual_ms":20,"seed":"8","message":"m","#
        + #""step":{"position":"gatt/b.yaml:3:5","step":"expect","expected":"1","got":"2"},"notes":["n"],"worst_scheduling_delay_ms":0.5,"#
        + #""evidence":[{"packet":3,"side":"tester","text":"t","at_ms":4}],"packets_omitted":3,"packets_omitted_at":1,"#
        + #""packets":[{"packet":3,"side":"tester","way":"down","at_ms":1,"name":"Reset","fields":["Status=Success"],"times":2},"#
        + #"{"packet":4,"side":"tester","way":"up","at_ms":2,"name":"Command_Complete","fields":[],"times":1}],"#
        + #""log":[{"at_ms":1.5,"text":"boot"}],"log_omitted":2,"log_omitted_at":1,"flaky":false,"#
        + #""attempts":[{"verdict":"FAIL","message":"m","seed":"8","duration_ms":10,"first_packet":1,"last_packet":2,"evidence":[]}],"#
        + #""commands":[{"attempt":1,"duration_ms":3,"exit_code":1,"occasion":"before-case","output":"o","output_omitted":4}]}"#
    private static let left = #"{"id":"gatt/c","verdict":"INCONC","message":"stopped","not_run":true}"#

    static let documents: [[UInt8]] = [
        #"{"format":3,"run":{\#(head)},"summary":{"pass":1,"fail":0,"inconc":0,"na":0,"error":0},"cases":[\#(passed)]}"#,
        #"{"format":3,"run":{\#(head),"devices":[\#(device)],"labels":{"a":"b"},"slack_ms":25,"shuffle":"3","shard":"1/2","ending":"e"},"#
            + #""summary":{"pass":1,"fail":1,"inconc":1,"na":0,"error":0,"not_run":1,"flaky":1},"cases":[\#(passed),\#(failed),\#(left)]}"#,
        #"{"format":1,"run":{"seed":18446744073709551615,"tester":"t","subject":"s","interrupted":true},"#
            + #""summary":{"pass":0,"fail":1,"inconc":0,"na":0,"error":0},"cases":[\#(failed)]}"#,
    ].map { Array($0.utf8) }

    static let journals: [[UInt8]] = [
        "{\"seed\":\"1\",\"tester\":\"virtual\",\"subject\":\"virtual\"}\n\(passed)\n\(left)\n",
        "{\"seed\":\"1\",\"tester\":\"virtual\",\"subject\":\"virtual\"}\n\(failed)\n\(passed)\n\(failed.prefix(90))",
    ].map { Array($0.utf8) }

    static let figures: [[UInt8]] = {
        let setup =
            #""setup":{"tester":"virtual","subject":"virtual","seconds":1,"packet_error":0.5,"event_filling":"actual","exchanges":3,"#
            + #""buffers":8,"build":"b","host":"h","date":"2026-01-01T00:00:00","labels":{"build":"7"}}"#
        let plain =
            #"{"over":"notify","direction":"from-subject","phy":"2m","data_length":251,"mtu":247,"interval_ms":15,"encrypted":false,"#
            + #""goodput_kbps":1301.333,"ceiling_kbps":1301.333,"limit":"air","explanation":"air"}"#
        let noisy =
            #"{"over":"l2cap","direction":"to-subject","phy":"1m","data_length":27,"mtu":23,"interval_ms":7.5,"goodput_kbps":200,"#
            + #""ceiling_kbps":300,"repetitions":{"goodput_kbps":[190,200,210]},"mps":247,"channels":5,"bearers":2,"link":1,"links":2,"#
            + #""both_ways":true,"machine_delay_ms":12.5,"window":{"begin_us":1000,"end_us":2000000,"events":66}}"#
        let slow =
            #"{"over":"ping","direction":"to-subject","phy":"1m","data_length":27,"mtu":23,"goodput_kbps":1,"ceiling_kbps":0,"#
            + #""round_trip_us":{"count":9,"min":1,"mean":2,"p50":3,"p95":4,"p99":5,"max":6}}"#
        let failed =
            #"{"over":"notify","direction":"both","phy":"coded-s8","data_length":27,"mtu":23,"goodput_kbps":0,"ceiling_kbps":0,"failure":"f"}"#
        return [
            #"{"rows":[\#(plain),\#(noisy)],\#(setup)}"#, #"{"rows":[\#(plain),\#(slow),\#(failed)]}"#,
            #"{"rows":[\#(noisy.replacing("200,\"ceiling", with: "100,\"ceiling"))],\#(setup)}"#,
        ].map { Array($0.utf8) }
    }()
}
