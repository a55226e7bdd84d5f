import BBPackets
import BBTiming
import BBTransport
import Foundation
import Synchronization

/// Reads a log on a thread of its own. A serial line or a file that vanishes is opened again when it is back.
final class LogReader: Sendable {
    private let stopped = Atomic(false)
    private let thread = Mutex<SystemThread?>(nil)
    private let source: LogSource
    private let buffer: LogBuffer

    private static let pollInterval: Int32 = 20
    /// The time between attempts to open a missing file or line.
    private static let reopenInterval: Int32 = 200
    /// The time from SIGTERM to SIGKILL of a command.
    private static let grace = Microseconds.milliseconds(500)

    init(_ source: LogSource, into buffer: LogBuffer) {
        (self.source, self.buffer) = (source, buffer)
        let started = SystemThread { [self] in
            switch source {
            case .serial(let path, let speed): followSerial(path, speed)
            case .file(let path): followFile(path)
            case .command(let command): follow(command)
            }
        }
        thread.withLock { $0 = started }
    }

    /// Ends reading, and the command.
    func stop() {
        stopped.store(true, ordering: .releasing)
        thread.withLock { $0.take() }?.join()
    }

    private var isStopped: Bool { stopped.load(ordering: .acquiring) }

    // MARK: Serial lines

    private func followSerial(_ path: String, _ speed: Int) {
        while !isStopped {
            do throws(CommandProblem) {
                let descriptor = try SerialLog.open(path, speed: speed)
                defer { close(descriptor) }
                readToEnd(descriptor)
                buffer.finishLine()
                if !isStopped { buffer.tell("the product's log, \(source), is gone; it is read again when it is back") }
            } catch { buffer.tell("the product's log, \(source), cannot be read: \(error.text)") }
            if !isStopped { poll(nil, 0, Self.reopenInterval) }
        }
    }

    private func readToEnd(_ descriptor: Int32) {
        while !isStopped {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, Self.pollInterval) != 0 else { continue }
            guard let octets = Self.read(descriptor) else { return }
            buffer.add(octets)
        }
    }

    /// - Returns: nil at the end, or after an error.
    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: 1 << 14)
        let count = octets.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EAGAIN || errno == EINTR { return [] }
        return count > 0 ? Array(octets[..<count]) : nil
    }

    // MARK: Files

    /// Reads what is appended; from the beginning if the file is new, was replaced, or became shorter.
    private func followFile(_ path: String) {
        var descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if descriptor >= 0 { lseek(descriptor, 0, SEEK_END) }
        defer { if descriptor >= 0 { close(descriptor) } }
        while !isStopped {
            if descriptor >= 0 {
                while let octets = Self.read(descriptor), !octets.isEmpty, !isStopped { buffer.add(octets) }
                if !Self.isSame(descriptor, path) {
                    close(descriptor)
                    descriptor = -1
                    buffer.finishLine()
                }
            }
            if descriptor < 0 { descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
            if descriptor < 0 { buffer.tell("the product's log, \(source), cannot be read: \(systemText(errno))") }
            poll(nil, 0, descriptor < 0 ? Self.reopenInterval : Self.pollInterval)
        }
    }

    private static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
        var (own, found) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, stat(path, &found) == 0 else { return false }
        return own.st_dev == found.st_dev && own.st_ino == found.st_ino && lseek(descriptor, 0, SEEK_CUR) <= own.st_size
    }

    // MARK: Commands

    private func follow(_ command: String) {
        do throws(CommandProblem) {
            let process = try ShellProcess(command)
            var isOpen = true
            while !isStopped, isOpen || process.ended() == nil {
                if isOpen, let octets = process.read(waiting: Self.pollInterval) {
                    buffer.add(octets)
                    if octets.isEmpty, process.ended() != nil { isOpen = false }
                } else {
                    isOpen = false
                    poll(nil, 0, Self.pollInterval)
                }
            }
            buffer.finishLine()
            guard isStopped else {
                let end: String
                switch process.ended() {
                case .exited(let code): end = "with exit code \(code)"
                case .signalled(let number): end = "by signal \(number)"
                case nil: end = "early"
                }
                process.signal(SIGTERM)
                return buffer.tell("the product's log has ended: \(source) ended \(end)")
            }
            end(process)
        } catch { buffer.tell("the product's log, \(source): \(error.text)") }
    }

    private func end(_ process: ShellProcess) {
        process.signal(SIGTERM)
        let killAt = MonotonicClock.now() + Self.grace
        while process.ended() == nil {
            if MonotonicClock.now() >= killAt { process.signal(SIGKILL) }
            poll(nil, 0, Self.pollInterval)
        }
        process.signal(SIGKILL)
    }
}

/// A serial line that is only read.
enum SerialLog {
    static func open(_ path: String, speed: Int) throws(CommandProblem) -> Int32 {
        guard let code = ByteStream.serialSpeeds[speed] else { throw CommandProblem("\(speed) baud is not supported") }
        let descriptor = Foundation.open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandProblem(systemText(errno)) }
        var settings = termios()
        if tcgetattr(descriptor, &settings) == 0 {
            cfmakeraw(&settings)
            settings.c_cflag |= tcflag_t(CLOCAL) | tcflag_t(CREAD)
            cfsetspeed(&settings, code)
            tcsetattr(descriptor, TCSANOW, &settings)
        }
        return descriptor
    }
}
