import ArgumentParser
import BBCases
import BBConformance
import BBExploration
import BBPackets
import BBReport
import BBSessions
import BBSimulation
import BBTiming
import Foundation
import Synchronization

/// `bluebench explore`: every course of events of two link layer procedures.
struct ExploreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explore", abstract: "Try every course of events of two link layer procedures, and check what must always hold.",
        discussion: """
            Each pair of requests is made on a simulated link: both in the same connection event, or one up to N events \
            after the other, with no packet lost and with each packet lost in turn. What must hold: docs/guide/explore.md.

            Exit codes: 0 no violation, 1 a violation, 3 stopped before the end without one.
            """)

    @Argument(help: "Requests: \(LinkRequest.allCases.map(\.rawValue).joined(separator: ", ")). Default: all.")
    var requests: [String] = []
    @Option(help: ArgumentHelp("Most connection events between the first and the second request.", valueName: "n")) var events = 12
    @Flag(help: "Lose no packet.") var lossless = false
    @Option(help: ArgumentHelp("Instead of all pairs, n random courses of three requests.", valueName: "n")) var triples: Int?
    @Option(help: ArgumentHelp("Role of the subject: central or peripheral. Default: both.", valueName: "role")) var role: LinkRole?
    @Option(help: ArgumentHelp("Subject with the defect of a mutant. Default: our own controller.", valueName: "name")) var mutant: String?
    @Option(help: ArgumentHelp("Folder of the cases, whose mutants are in `mutants`.", valueName: "folder"), completion: .directory)
    var cases = CaseFolder.standard
    @Option(help: ArgumentHelp("Seed of every random choice.", valueName: "n")) var seed: UInt64 = 1
    @Option(help: ArgumentHelp("Stop after this time.", valueName: "seconds")) var timeout: Double?
    @Option(help: ArgumentHelp("Write the shortest path of each violation as a case into a folder.", valueName: "folder"))
    var write: String?
    @Option(help: ArgumentHelp("Write the results as JSON.", valueName: "file"), completion: .file()) var json: String?

    private struct Document: Encodable {
        struct Search: Encodable {
            var subject: LinkRole
            var paths: Int
            var done: Int
            var runs: Int
            var violations: [Explorer.Finding]
        }
        var mutant: String?
        var seed: UInt64
        var searches: [Search]
    }

    func validate() throws {
        guard (0...100).contains(events) else { throw ValidationError("--events takes a number from 0 to 100") }
        guard triples.map({ $0 > 0 }) ?? true else { throw ValidationError("--triples takes a number from 1") }
        guard timeout.map({ $0 > 0 }) ?? true else { throw ValidationError("--timeout takes a time in seconds, more than 0") }
    }

    func run() throws {
        let (signals, stop) = (SignalHandler(), StopFlag())
        signals.onStop { stop.raise() }
        let output = try json.map { try OutputFile($0) }
        let chosen = try requests.isEmpty ? LinkRequest.allCases : requests.map(Self.request)
        let configuration = try configuration()
        let deadline = timeout.map { MonotonicClock.now() + .seconds($0) }
        let isOver: @Sendable () -> Bool = { stop.isRaised || deadline.map { MonotonicClock.now() > $0 } ?? false }
        var searches: [Document.Search] = []
        for subject in role.map({ [$0] }) ?? (mutant == nil ? [.central] : LinkRole.allCases) {
            let paths =
                triples.map { Explorer.triples(of: chosen, events: events, count: $0, seed: seed) }
                ?? Explorer.pairs(of: chosen, events: events)
            let setup = Explorer.Setup(subject: subject, configuration: configuration, seed: seed)
            let shown = ExploreProgress(subject: subject, isAlone: mutant == nil)
            let result = try Exploration(setup, paths: paths, losesPackets: !lossless).run(
                threads: ProcessInfo.processInfo.activeProcessorCount, isOver: isOver, report: { shown.show($0) })
            shown.end(result)
            if let write { try save(result.findings, subject, in: write) }
            searches.append(
                .init(subject: subject, paths: paths.count, done: result.done, runs: result.runs, violations: result.findings))
        }
        try output?.write(ResultsJSON.encode(Document(mutant: mutant, seed: seed, searches: searches)))
        if searches.contains(where: { !$0.violations.isEmpty }) { throw ExitCode.fail }
        if searches.contains(where: { $0.done < $0.paths }) { throw ExitCode.bench }
    }

    private static func request(_ name: String) throws -> LinkRequest {
        guard let request = LinkRequest(rawValue: name) else {
            let names = LinkRequest.allCases.map(\.rawValue)
            let near = Suggestion.text(for: name, among: names)
            throw CommandFailure(
                .usage, "there is no request '\(name)'" + (near.isEmpty ? "; there are \(names.joined(separator: ", "))" : near))
        }
        return request
    }

    private func configuration() throws -> ControllerConfiguration {
        guard let mutant else { return ControllerConfiguration(address: DeviceAddress(value: 0)) }
        let mutants = try CaseFolder.mutants(cases, try CaseFolder.load(cases))
        guard let found = mutants.first(where: { $0.id == mutant }) else {
            throw CommandFailure(.usage, "there is no mutant '\(mutant)'" + Suggestion.text(for: mutant, among: mutants.map(\.id)))
        }
        guard let configuration = try found.controllerConfiguration() else {
            throw CommandFailure(
                .usage, "explore needs a mutant of the link layer: the defect of '\(mutant)' is in a host, or in the pipe to it")
        }
        return configuration
    }

    private func save(_ findings: [Explorer.Finding], _ subject: LinkRole, in folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for finding in findings {
            let requests = finding.path.requests.map { "\($0.role.rawValue.prefix(1))-\($0.request.rawValue)" }.joined(separator: "-")
            let path = "\(folder)/\(finding.violation.invariant.rawValue)-\(subject.rawValue)-\(requests).yaml"
            try OutputFile(path).write(Data(ExploredCase(finding, subject: subject).text.utf8))
            Console.line("wrote \(path)")
        }
    }
}

extension LinkRole: ExpressibleByArgument {}
