import BBPackets
import BBProducts
import BBTiming
import BBTransport
import Foundation

/// A command of this program as a process, with a bounded output and duration.
enum BenchProcess {
    struct Outcome {
        var code: Int32
        var output: String
        var errors: String
        /// Octets of the output that were dropped.
        var omitted: Int
    }

    /// The reasons to end a command early.
    struct Limits {
        /// Seconds.
        var timeout: Int
        /// True after a signal: the command gets little time to leave.
        var isStopped: () -> Bool
        /// True if the client has withdrawn the request.
        var isCancelled: () -> Bool
    }

    private static let longestOutput = 1 << 20
    private static let longestErrors = 1 << 14
    /// Milliseconds between two looks at the client.
    private static let step: Int32 = 50
    /// The time in which a command ends after SIGTERM, and the same when the server itself must end.
    private static let timeToLeave = Microseconds.seconds(5)
    private static let lastTimeToLeave = Microseconds.milliseconds(1_300)
    /// The time for the rest of the output after the end of the command: its own children may keep the pipes open.
    private static let timeToRead = Microseconds.milliseconds(500)

    static func run(_ words: [String], _ limits: Limits) throws(MCPMistake) -> Outcome {
        let (output, errors) = (try OutputPipe(longest: longestOutput), try OutputPipe(longest: longestErrors))
        var readers = [output.reader(), errors.reader()]
        defer { for reader in readers { reader.close() } }
        let group = try start(words, output.writer, errors.writer)
        var end = MonotonicClock.now() + .seconds(limits.timeout)
        var reason: MCPMistake?
        var left: Microseconds?
        // Also after a signal: the process may wait for its output to be read.
        while true {
            PipeReader.wait(&readers, milliseconds: step)
            if group.ended() != nil {
                left = left ?? MonotonicClock.now()
                if readers.allSatisfy(\.isAtEnd) || left.map({ MonotonicClock.now() > $0 + timeToRead }) ?? false { break }
            }
            if limits.isStopped() { end = min(end, MonotonicClock.now() + lastTimeToLeave) }
            if reason != nil {
                if MonotonicClock.now() > end { group.signal(SIGKILL) }
                continue
            }
            if limits.isStopped() || limits.isCancelled() { reason = MCPMistake(text: "cancelled", isCancelled: true) }
            if reason == nil, MonotonicClock.now() > end { reason = MCPMistake(text: "no end within \(limits.timeout) s") }
            guard reason != nil else { continue }
            group.signal(SIGTERM)
            end = MonotonicClock.now() + (limits.isStopped() ? lastTimeToLeave : timeToLeave)
        }
        if let reason { throw reason }
        var code: Int32 = 0
        if case .exited(let status)? = group.ended() { code = Int32(status) } else { code = 128 }
        return Outcome(code: code, output: readers[0].text, errors: readers[1].text, omitted: readers[0].omitted)
    }

    private static func start(_ words: [String], _ output: Int32, _ errors: Int32) throws(MCPMistake) -> ProcessGroup {
        defer {
            close(output)
            close(errors)
        }
        guard let program = Bundle.main.executableURL?.path else { throw MCPMistake(text: "the program does not know its own path") }
        do throws(CommandProblem) {
            return try ProcessGroup(program, words, environment: ProcessInfo.processInfo.environment, output: output, errors: errors)
        } catch {
            throw MCPMistake(text: "cannot start: \(error.text)")
        }
    }
}

/// A pipe for the output of a process.
private struct OutputPipe {
    private let read: Int32
    let writer: Int32
    private let longest: Int

    init(longest: Int) throws(MCPMistake) {
        var pipes: [Int32] = [-1, -1]
        guard pipe(&pipes) == 0 else { throw MCPMistake(text: "no pipe: \(systemText(errno))") }
        for descriptor in pipes { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        (read, writer, self.longest) = (pipes[0], pipes[1], longest)
    }

    func reader() -> PipeReader { PipeReader(read, longest: longest) }
}

/// The bounded content of a pipe.
private struct PipeReader {
    private let descriptor: Int32
    private let longest: Int
    private var octets: [UInt8] = []
    private(set) var omitted = 0
    private(set) var isAtEnd = false

    init(_ descriptor: Int32, longest: Int) { (self.descriptor, self.longest) = (descriptor, longest) }

    var text: String { String(decoding: octets, as: UTF8.self) }

    func close() { Foundation.close(descriptor) }

    /// Waits for any of the pipes and reads what is there.
    static func wait(_ readers: inout [PipeReader], milliseconds: Int32) {
        var interests = readers.map { pollfd(fd: $0.isAtEnd ? -1 : $0.descriptor, events: Int16(POLLIN), revents: 0) }
        guard poll(&interests, nfds_t(interests.count), milliseconds) > 0 else { return }
        for index in readers.indices where interests[index].revents != 0 { readers[index].read() }
    }

    private mutating func read() {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        let count = Foundation.read(descriptor, &piece, piece.count)
        if count < 0, errno == EINTR { return }
        guard count > 0 else {
            isAtEnd = true
            return
        }
        let kept = min(count, longest - octets.count)
        octets += piece.prefix(kept)
        omitted += count - kept
    }
}
