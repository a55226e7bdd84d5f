import BBTransport
import Foundation

/// An output file of a command.
///
/// A regular file is replaced atomically: it is never incomplete, and a full disk leaves the old one. Another kind of file, such as a pipe,
/// a device or a link, is kept and written to.
package struct OutputFile: Sendable {
    private enum Place {
        case file(String)
        /// A file in a folder in which no files can be created.
        case inPlace(String)
        case stream(Int32)
    }

    package let path: String
    private let place: Place
    /// The permissions of a new file.
    private let permissions: mode_t

    /// Determines the kind of file, and opens files that are not regular: a named pipe waits here for its reader.
    ///
    /// - Parameter isSecret: true to let only the owner read a regular file, even an existing one.
    /// - Throws: a usage error if it cannot be written.
    package init(_ path: String, isSecret: Bool = false) throws {
        self.path = path
        permissions = isSecret ? 0o600 : 0o666
        var found = stat()
        if ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(path) {
            place = .stream(Self.takeOutput())
        } else if stat(path, &found) != 0 {
            place = try Self.newFile(path)
        } else if found.st_mode & S_IFMT == S_IFDIR {
            throw CommandFailure(.usage, "cannot write \(path): it is a folder")
        } else if found.st_mode & S_IFMT != S_IFREG {
            let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else { throw Self.refusal(path, errno) }
            place = .stream(descriptor)
        } else if Self.isOpen(as: STDOUT_FILENO, found) {
            place = .stream(Self.takeOutput())
        } else if Self.isOpen(as: STDERR_FILENO, found) {
            place = .stream(dup(STDERR_FILENO))
        } else {
            place = try Self.oldFile(path)
        }
    }

    /// Reserves the standard output for a document: later messages go to the standard error stream.
    private static func takeOutput() -> Int32 {
        let output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
        dup2(STDERR_FILENO, STDOUT_FILENO)
        return output
    }

    /// True if the whole file can be written repeatedly.
    package var isReplaceable: Bool { if case .stream = place { false } else { true } }

    /// - Throws: a failure of the bench with the system's message.
    package func write(_ text: String) throws { try write(Data(text.utf8)) }

    package func write(_ data: Data) throws {
        if let failure = failureOfWriting(data) { throw CommandFailure(.bench, "cannot write \(path): \(failure)") }
    }

    /// Writes the document; returns the system's message if that fails.
    package func failureOfWriting(_ data: Data) -> String? {
        let octets = Array(data)[...]
        let code =
            switch place {
            case .stream(let descriptor): writeAll(octets, to: descriptor)
            case .inPlace(let target): write(octets, O_TRUNC, target)
            case .file(let target): replace(target, octets)
            }
        return code == 0 ? nil : systemText(code)
    }

    /// Truncates the file and leaves it open for incremental writing; the caller closes it.
    ///
    /// - Throws: a usage error if it cannot be written.
    package func begin() throws -> Int32 {
        switch place {
        case .stream(let descriptor): return dup(descriptor)
        case .file(let target), .inPlace(let target):
            let descriptor = makeFile(target, O_TRUNC)
            guard descriptor >= 0 else { throw Self.refusal(path, errno) }
            return descriptor
        }
    }

    // MARK: Kind of file

    private static func newFile(_ path: String) throws -> Place {
        // The system follows a link to a file that does not exist yet.
        if (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil { return .inPlace(path) }
        guard access(folder(of: path), W_OK) == 0 else { throw refusal(path, errno) }
        return .file(path)
    }

    private static func oldFile(_ path: String) throws -> Place {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        if access(folder(of: target), W_OK) == 0 { return .file(target) }
        guard access(target, W_OK) == 0 else { throw refusal(path, errno) }
        return .inPlace(target)
    }

    private static func folder(of path: String) -> String { URL(fileURLWithPath: path).deletingLastPathComponent().path }

    private static func isOpen(as descriptor: Int32, _ found: stat) -> Bool {
        var own = stat()
        return fstat(descriptor, &own) == 0 && own.st_dev == found.st_dev && own.st_ino == found.st_ino
    }

    private static func refusal(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure(refusing: "cannot write \(path)", code)
    }

    // MARK: Writing

    private func replace(_ target: String, _ octets: ArraySlice<UInt8>) -> Int32 {
        let draft = "\(Self.folder(of: target))/.\(URL(fileURLWithPath: target).lastPathComponent).\(getpid())"
        unlink(draft)
        var code = write(octets, O_EXCL, draft)
        var old = stat()
        if code == 0, stat(target, &old) == 0 { chmod(draft, permissions == 0o600 ? permissions : old.st_mode & 0o7777) }
        if code == 0, rename(draft, target) != 0 { code = errno }
        if code != 0 { unlink(draft) }
        return code
    }

    private func makeFile(_ path: String, _ flag: Int32) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flag, permissions)
        if descriptor >= 0, permissions == 0o600 { fchmod(descriptor, permissions) }
        return descriptor
    }

    private func write(_ octets: ArraySlice<UInt8>, _ flag: Int32, _ path: String) -> Int32 {
        let descriptor = makeFile(path, flag)
        guard descriptor >= 0 else { return errno }
        let code = writeAll(octets, to: descriptor)
        // Some file systems report a full disk only on closing.
        return close(descriptor) != 0 && code == 0 ? errno : code
    }
}

/// The output paths of a command line, each of which may occur only once.
package struct OutputPaths {
    private var taken: [String: String] = [:]

    package init() {}

    package mutating func add(_ all: [(option: String, path: String?)]) throws { for (option, path) in all { try add(option, path) } }

    /// - Throws: a usage error if another option has the same path.
    package mutating func add(_ option: String, _ path: String?) throws {
        guard let path else { return }
        var found = stat()
        let exists = stat(path, &found) == 0
        guard !exists || found.st_mode & S_IFMT != S_IFCHR else { return }
        let url = URL(fileURLWithPath: path)
        let place =
            exists
            ? "\(found.st_dev):\(found.st_ino)"
            : url.deletingLastPathComponent().resolvingSymlinksInPath().path + "/" + url.lastPathComponent
        if let other = taken[place], other != option { throw CommandFailure(.usage, "\(other) and \(option) both write \(path)") }
        taken[place] = option
    }
}
