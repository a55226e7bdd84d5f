#if os(Linux)
    import Foundation
    import BBPackets
    import BBSimulation
    import BBTiming
    import Synchronization
    import Testing
    import BBVirtualDongle

    /// Runs of `bluebench` whose results are compared.
    enum TaggedRun {
        /// The relevant parts of results.json.
        struct Document: Decodable, Sendable {
            struct Run: Decodable, Sendable {
                struct Device: Decodable, Sendable {
                    var side: String
                    var held: Int
                    var worstWaitMs: Double
                    var dropped: Int
                }

                var slackMs: Double?
                var devices: [Device]?
            }

            struct Case: Decodable, Sendable {
                struct Evidence: Decodable, Sendable {
                    var packet: Int
                    var side: String
                    var text: String
                }

                var id: String
                var verdict: String
                var message: String
                var virtualMs: Double
                var worstSchedulingDelayMs: Double?
                var evidence: [Evidence]
            }

            var run: Run
            var cases: [Case]
        }

        struct Outcome: Sendable {
            var code: Int32
            var output: String
            var document: Document
            /// Time that the fake waited for a processor meanwhile.
            var starved = Microseconds.zero
        }

        /// The program did not end in time, or left no results.
        struct Failure: Error, CustomStringConvertible {
            var description: String
        }

        static let soaks = ProcessInfo.processInfo.environment["SOAK"] == "1"
        /// The simulated dongles run on the same machine, and are late if it is busy. Hence they need more slack than real ones.
        private static let devices = ["--tester", "usb:1-1", "--subject", "usb:1-2", "--slack", "3000"]
        /// Number of concurrent runs, each on its own bus.
        private static let groupCount = 4

        static func inProcess() throws -> [Document.Case] { try outcome(FakeUsbfsBus(), ["--tag", "usb"]).document.cases }

        /// `count` of the cases, drawn by the seed and run in process; all with SOAK=1.
        static func sample(of count: Int, seed: UInt64) throws -> [Document.Case] {
            let all = try inProcess()
            var random = RandomSource(seed: seed)
            return soaks ? all : Array(all.shuffled(using: &random).prefix(count))
        }

        /// Runs cases that were run in process, each group on its own bus and thread.
        ///
        /// - Parameters:
        ///   - seed: determines packet loss.
        ///   - machine: is busy meanwhile.
        ///   - conduct: of all dongles.
        ///   - options: further options of the program.
        ///   - surround: changes the air of each bus.
        static func overUSB(
            _ cases: [Document.Case], seed: UInt64 = 1, on machine: BusyMachine = BusyMachine(cores: 0),
            conduct: DongleConduct = DongleConduct(), options: [String] = [],
            surround: @escaping @Sendable (Simulation) throws -> Void = { _ in }
        ) async throws -> [Document.Case] {
            try await beside(groups(cases, count: groupCount)) { group, number in
                let bus = seed &* UInt64(groupCount) &+ UInt64(number)
                return try machine.beBusy {
                    try outcome(FakeUsbfsBus(conduct: conduct, seed: bus, surround: surround), group + devices + options)
                }
            }
        }

        /// Runs cases between two dongles of this conduct.
        static func named(_ cases: [String], conduct: DongleConduct) async throws -> [Document.Case] {
            try await onThread { try outcome(FakeUsbfsBus(conduct: conduct), cases + devices) }.document.cases
        }

        static func one(_ arguments: [String], lateBy range: String) async throws -> Outcome {
            let late = try DongleConduct(["data-overtakes-events=\(range)"])
            return try await onThread {
                try outcome(FakeUsbfsBus(conduct: DongleConduct(), subject: late), arguments + devices)
            }
        }

        static func compare(_ found: [Document.Case], with expected: [Document.Case], atLeast passes: Int = 60) {
            #expect(found.map(\.id).sorted() == expected.map(\.id).sorted())
            let known = Dictionary(expected.map { ($0.id, $0.verdict) }) { first, _ in first }
            for testCase in found where testCase.verdict != known[testCase.id] {
                Issue.record("\(testCase.id) is \(testCase.verdict) over USB: \(testCase.message)")
            }
            #expect(found.count { $0.verdict == "PASS" } >= passes)
        }

        static func summary(_ cases: [Document.Case]) -> String {
            let counts = Dictionary(grouping: cases, by: \.verdict).mapValues(\.count)
            let late = cases.compactMap(\.worstSchedulingDelayMs).max() ?? 0
            return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
                + ", bench late by \(late) ms at worst"
        }

        /// Runs cases that were run in process between two dongles with given conducts; firmware is loaded from a folder.
        static func between(
            _ tester: DongleConduct, _ subject: DongleConduct, _ cases: [Document.Case], firmware: String
        ) async throws -> [Document.Case] {
            try await beside(groups(cases, count: cases.count < 20 ? 1 : 8)) { group, _ in
                try outcome(FakeUsbfsBus(conduct: tester, subject: subject), group + devices + ["--firmware", firmware])
            }
        }

        /// Runs groups of cases concurrently, each on its own thread.
        private static func beside(
            _ groups: [[String]], _ run: @escaping @Sendable ([String], Int) throws -> Outcome
        ) async throws -> [Document.Case] {
            try await withThrowingTaskGroup(of: Outcome.self) { tasks in
                for (number, group) in groups.enumerated() { tasks.addTask { try await onThread { try run(group, number) } } }
                return try await tasks.reduce(into: []) { $0 += $1.document.cases }
            }
        }

        /// Groups of similar duration, the longest cases first.
        private static func groups(_ cases: [Document.Case], count: Int) -> [[String]] {
            var groups: [(ids: [String], length: Double)] = Array(repeating: ([], 0), count: count)
            for testCase in cases.sorted(by: { $0.virtualMs > $1.virtualMs }) {
                guard let shortest = groups.indices.min(by: { groups[$0].length < groups[$1].length }) else { continue }
                groups[shortest].ids.append(testCase.id)
                groups[shortest].length += testCase.virtualMs + 100
            }
            return groups.map(\.ids)
        }

        private static func outcome(_ bus: FakeUsbfsBus, _ arguments: [String]) throws -> Outcome {
            let path = bus.folder + ".json"
            defer { try? FileManager.default.removeItem(atPath: path) }
            let before = SpawnedProgram.ownStarved
            guard let result = try bus.run(["run"] + arguments + ["--json", path]) else {
                throw Failure(description: "bluebench run did not end")
            }
            guard let data = FileManager.default.contents(atPath: path) else { throw Failure(description: result.output) }
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return Outcome(
                code: result.code, output: result.output, document: try decoder.decode(Document.self, from: data),
                starved: SpawnedProgram.ownStarved - before)
        }

        /// A bus blocks the thread that serves it, so it gets its own.
        private static func onThread(_ body: @escaping @Sendable () throws -> Outcome) async throws -> Outcome {
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
            }
        }
    }

    /// Keeps cores busy while something runs, and no longer: other tests wait for them.
    final class BusyMachine: Sendable {
        private struct State {
            var users = 0
            var processes: [Process] = []
        }

        private let cores: Int
        private let state = Mutex(State())

        init(cores: Int = ProcessInfo.processInfo.activeProcessorCount) { self.cores = cores }

        func beBusy<Result>(during body: () throws -> Result) throws -> Result {
            try state.withLock { state in
                state.users += 1
                if state.processes.isEmpty { state.processes = try (0..<cores).map { _ in try Self.start() } }
            }
            defer {
                state.withLock { state in
                    state.users -= 1
                    guard state.users == 0 else { return }
                    for process in state.processes { kill(process.processIdentifier, SIGKILL) }
                    state.processes = []
                }
            }
            return try body()
        }

        private static func start() throws -> Process {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", "while :; do :; done"]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            return process
        }
    }
#endif
