import BBConformance
import BBReport
import BBSessions
import Foundation

/// The results of an earlier run: `results.json`, `results.jsonl`, or the report folder with either.
struct ResultsFile {
    var path: String
    var result: RunResult
    var facts: RunFacts

    var named: (String, RunResult) { (path, result) }

    /// True if the run ended without entries for its remaining cases.
    var wasKilled: Bool { result.isInterrupted && result.missingShards.isEmpty && !result.cases.contains(where: \.isNotRun) }

    /// The folder of the captures.
    var folder: String { URL(fileURLWithPath: path).deletingLastPathComponent().path }

    /// Reads the results; of a report folder the journal, if there is one, because results.json of a killed run may be incomplete.
    static func read(_ path: String) throws -> ResultsFile {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw CommandFailure(.usage, "there are no results in \(path): no such file or folder")
        }
        guard isFolder.boolValue else { return try file(path) }
        let (document, journal) = (path + "/results.json", path + "/results.jsonl")
        let (hasDocument, hasJournal) = (FileManager.default.fileExists(atPath: document), FileManager.default.fileExists(atPath: journal))
        guard hasDocument || hasJournal else { throw CommandFailure(.usage, "there are no results in the folder \(path)") }
        guard hasDocument else { return try file(journal) }
        var found: ResultsFile
        do { found = try file(document) } catch {
            guard hasJournal, let kept = try? file(journal) else { throw error }
            Console.complain("\(CommandFailure(error).message); \(journal) is read instead")
            return kept
        }
        guard hasJournal, let newer = try? file(journal), newer.result.seed == found.result.seed else { return found }
        let fresh = Dictionary(newer.result.cases.map { ($0.id, $0) }) { $1 }
        let old = Set(found.result.cases.map(\.id))
        found.result.cases = found.result.cases.map { fresh[$0.id] ?? $0 } + newer.result.cases.filter { !old.contains($0.id) }
        return found
    }

    private static func file(_ path: String) throws -> ResultsFile {
        do {
            if path.hasSuffix(".jsonl") {
                var result = try ResultStore.results(at: path)
                result.isInterrupted = true
                return ResultsFile(path: path, result: result, facts: RunFacts())
            }
            let (result, facts) = try ResultsJSON.read(Data(contentsOf: URL(fileURLWithPath: path)))
            return ResultsFile(path: path, result: result, facts: facts)
        } catch let error as StoreError {
            throw CommandFailure(error)
        } catch let error as CutResults {
            throw CommandFailure(.usage, "\(path): \(error)")
        } catch is DecodingError {
            throw CommandFailure(.usage, "\(path) does not hold the results of a run, as `bluebench run --json` writes them")
        } catch {
            throw CommandFailure(.usage, "cannot read \(path): \(systemReason(error))")
        }
    }
}
