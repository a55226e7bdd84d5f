import ArgumentParser
import BBCapture
import BBDiagnosis
import BBPackets
import BBSessions
import BBThroughput
import BBTiming

extension ThroughputCommand {
    /// Explains the flows of a capture like measured ones.
    func explainCapture(_ path: String) throws {
        if let option = ThroughputDevices.given ?? FlowOptions.given ?? ProductOptions.given ?? SimulatedOptions.given {
            throw CommandFailure(.usage, "--from and \(option) exclude each other: \(option) would change nothing in a capture")
        }
        if let option = ["--capture", "--air", "--keylog", "--repeat"].first(where: Arguments.given) {
            throw CommandFailure(.usage, "--from and \(option) exclude each other: nothing is sent")
        }
        var paths = OutputPaths()
        try paths.add(files.texts)
        let gate = try BaselineGate(comparison.baseline, atLeast: comparison.atLeast)
        var setup = ThroughputSetup()
        (setup.tester, setup.subject, setup.build) = (path, path, Bluebench.version)
        var output = try ThroughputOutput(
            files, isExplaining: explain, showsProgress: false, seed: 0, setup: setup, stop: StopFlag())
        let (diagnosis, failure) = try Self.examine(path)
        let rows = diagnosis.throughputRows
        guard !rows.isEmpty else {
            throw CommandFailure(
                .bench, failure.map { "\($0)" } ?? "\(path) has no LE connection with a flow of 20 values in 0.2 s, and its interval")
        }
        output.begin(rows: rows.count)
        for row in rows { try output.add(row, at: row.end) }
        try output.finish(at: Microseconds(diagnosis.duration))
        if let failure { throw CommandFailure(.bench, "\(failure)") }
        try gate?.check(output.report)
    }

    private static func examine(_ path: String) throws -> (Diagnosis, CaptureError?) {
        let reader: CaptureReader
        do { reader = try CaptureReader(path: path) } catch { throw CommandFailure(.usage, "\(error)") }
        if let remark = reader.remark { Console.complain(remark) }
        var examiner = Examiner(rules: [])
        do {
            while let record = try reader.next() { examiner.examine(record) }
            return (examiner.finish(), nil)
        } catch {
            return (examiner.finish(error), error)
        }
    }
}
