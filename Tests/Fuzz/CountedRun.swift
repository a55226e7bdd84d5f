import BBPackets
import BBTiming
import Foundation

/// Runs a number of inputs, drawn from seeds and from the fuzzer's corpus, at full speed; for a build without coverage counters.
///
/// The current input is kept in a file, which remains after a trap.
struct CountedRun {
    private let target: FuzzTarget
    private let count: Int
    private let corpus: [[UInt8]]
    private let current: URL
    private var seed: UInt64

    private static let longest = 4_096
    /// Maximum growth of the process after its first inputs, in megabytes.
    private static let mostGrowth = 256

    /// Returns nil unless FUZZ_RUNS is set. FUZZ_CORPUS contains folders of inputs, separated by colons, FUZZ_SEED determines the random
    /// choices, and FUZZ_CURRENT is the file for the current input.
    init?(_ target: FuzzTarget, _ environment: [String: String]) {
        guard let count = environment["FUZZ_RUNS"].flatMap({ Int($0) }), let current = environment["FUZZ_CURRENT"] else { return nil }
        (self.target, self.count) = (target, count)
        self.current = URL(fileURLWithPath: current)
        seed = environment["FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        let folders = (environment["FUZZ_CORPUS"] ?? "").split(separator: ":").map { URL(fileURLWithPath: String($0)) }
        let files = folders.flatMap { (try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)) ?? [] }
        let learned = files.sorted { $0.path < $1.path }.compactMap { try? [UInt8](Data(contentsOf: $0)) }
        corpus = target.seeds() + learned.filter { $0.count <= Self.longest }
    }

    /// - Throws: the broken promise, with the input.
    func run() throws {
        var mutation = Mutation(target: target, random: RandomSource(seed: seed))
        let slot = try Slot(current)
        let begin = Date()
        var ground = 0
        for number in 0..<count {
            let input = draw(&mutation)
            try slot.keep(input)
            do { try target.run(input) } catch { throw BrokenPromise("input \(number), kept in \(current.path): \(error)") }
            guard number.isMultiple(of: 10_000) else { continue }
            // A single input may take some time; ten thousand inputs that take minutes are a hang.
            alarm(600)
            let megabytes = Self.megabytes()
            if number == 50_000 { ground = megabytes }
            try promise(ground == 0 || megabytes < ground + Self.mostGrowth, "it has grown from \(ground) to \(megabytes) MB")
            if number.isMultiple(of: 500_000), number > 0 { report(number, since: begin) }
        }
        report(count, since: begin)
        try FileManager.default.removeItem(at: current)
    }

    private func report(_ number: Int, since begin: Date) {
        let rate = Double(number) / max(0.001, Date().timeIntervalSince(begin))
        complain("\(target.name): \(number) inputs from \(corpus.count), \(Int(saturating: rate)) a second, \(Self.megabytes()) MB")
    }

    /// A changed input of the corpus, occasionally joined from two.
    private func draw(_ mutation: inout Mutation) -> [UInt8] {
        var input = corpus[mutation.below(corpus.count)]
        guard target.isFramed else { return mutation.changed(whole: input, room: Self.longest) }
        if mutation.below(8) == 0 {
            let (one, other) = (Frames(input), Frames(corpus[mutation.below(corpus.count)]))
            let head = one.list.prefix(mutation.below(one.list.count + 1))
            let tail = other.list.dropFirst(mutation.below(other.list.count + 1))
            input = Frames(settings: one.settings, Array((head + tail).prefix(Frames.most))).octets()
        }
        return mutation.changed(frames: input, room: Self.longest)
    }

    /// Resident memory.
    private static func megabytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4 / 1_024
    }

    /// The file that contains the current input.
    private final class Slot {
        private let descriptor: Int32

        init(_ url: URL) throws {
            descriptor = open(url.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            try promise(descriptor >= 0, "cannot write \(url.path)")
        }

        deinit { close(descriptor) }

        func keep(_ input: [UInt8]) throws {
            let isKept = pwrite(descriptor, input, input.count, 0) == input.count && ftruncate(descriptor, off_t(input.count)) == 0
            try promise(isKept, "the input under way cannot be kept")
        }
    }
}
