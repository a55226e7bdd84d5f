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

    private static let longestOutput = 1 << 20
    private static let longestErrors = 1 << 14
    /// Milliseconds between two looks at the client.
    private static let step: Int32 = 50
    /// The time in which a command ends after SIGTERM.
    private static let timeToLeave = Duration.seconds(5)

    static func run(_ words: [String], timeout: Int, unless cancelled: () -> Bool) throws(MCPMistake) -> Outcome {
        guard let program = Bundle.main.executableURL else { throw MCPMistake(text: "the program does not know its own path") }
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = program
        process.arguments = words
        process.standardInput = FileHandle.nullDevice
        (process.standardOutput, process.standardError) = (output, errors)
        do { try process.run() } catch { throw MCPMistake(text: "cannot start: \(error.localizedDescription)") }
        var readers = [
            PipeReader(output.fileHandleForReading, longest: longestOutput),
            PipeReader(errors.fileHandleForReading, longest: longestErrors),
        ]
        var end = ContinuousClock.now + .seconds(timeout)
        var reason: String?
        var isCancelled = false
        // Also after a signal: the process may wait for its output to be read.
        while readers.contains(where: { !$0.isAtEnd }) {
            PipeReader.wait(&readers, milliseconds: step)
            if reason != nil {
                guard ContinuousClock.now > end else { continue }
                kill(process.processIdentifier, SIGKILL)
                break
            }
            if cancelled() { (reason, isCancelled) = ("cancelled", true) }
            if reason == nil, ContinuousClock.now > end { reason = "no end within \(timeout) s" }
            guard reason != nil else { continue }
            process.terminate()
            end = ContinuousClock.now + timeToLeave
        }
        process.waitUntilExit()
        if let reason { throw MCPMistake(text: reason, isCancelled: isCancelled) }
        return Outcome(
            code: process.terminationStatus, output: readers[0].text, errors: readers[1].text, omitted: readers[0].omitted)
    }
}

/// The bounded content of a pipe.
struct PipeReader {
    private let handle: FileHandle
    private let longest: Int
    private var octets: [UInt8] = []
    private(set) var omitted = 0
    private(set) var isAtEnd = false

    init(_ handle: FileHandle, longest: Int) { (self.handle, self.longest) = (handle, longest) }

    var text: String { String(decoding: octets, as: UTF8.self) }

    /// Waits for any of the pipes and reads what is there.
    static func wait(_ readers: inout [PipeReader], milliseconds: Int32) {
        var interests = readers.map { pollfd(fd: $0.isAtEnd ? -1 : $0.handle.fileDescriptor, events: Int16(POLLIN), revents: 0) }
        guard poll(&interests, nfds_t(interests.count), milliseconds) > 0 else { return }
        for index in readers.indices where interests[index].revents != 0 { readers[index].read() }
    }

    private mutating func read() {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        let count = Foundation.read(handle.fileDescriptor, &piece, piece.count)
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
