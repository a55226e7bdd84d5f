import BBCapture
import BBCases
import BBConformance
import BBHost
import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The failure of a command: a message and the exit code.
package struct CommandFailure: Error {
    package enum Code: Int32, Sendable {
        /// A peer or a value is not as required.
        case fail = 1
        /// The command line, or a file that it names, is wrong.
        case usage
        /// The bench itself failed.
        case bench
    }

    package var code: Code
    /// Empty if `mistakes` say everything.
    package var message: String
    /// Mistakes in files, each of which begins with its place.
    package var mistakes: [String] = []

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates the failure for mistakes in files.
    package init(_ problems: Problems) {
        let list = problems.list.sorted {
            ($0.position.file, $0.position.line, $0.position.column) < ($1.position.file, $1.position.line, $1.position.column)
        }
        let files = Set(list.map(\.position.file)).count
        self.init(.usage, list.count > 1 ? "\(list.count) mistakes in \(Plural.count(files, "file"))" : "")
        mistakes = list.map { "\($0)" }
    }

    /// Creates the failure for a file that the system refuses to make: of the bench if the machine lacks something, of the caller otherwise.
    package init(refusing what: String, _ code: Int32) {
        let isLack = [ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM].contains(code)
        self.init(isLack ? .bench : .usage, "\(what): \(systemText(code))")
    }

    /// Creates the failure for an error of a lower layer.
    package init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let problems as Problems: self.init(problems)
        case is CancellationError: self.init(.bench, "interrupted")
        case let error as SelectorError: self.init(.usage, error.description)
        case CaptureError.writeFailed: self.init(.bench, "\(error)")
        case let error as CaptureError: self.init(.usage, "\(error)")
        case let error as StoreError: self.init([.inUse, .cannotStore].contains(error.kind) ? .bench : .usage, error.text)
        case HostError.misuse(let misuse): self.init(.usage, HostError.misuse(misuse).description)
        // A peer that is not there is judged by nobody.
        case HostError.peer(.timedOut(.connection)), HostError.peer(.rejected(_, .pageTimeout)): self.init(.bench, "\(error)")
        case HostError.peer(let fault): self.init(.fail, HostError.peer(fault).description)
        default: self.init(.bench, "\(error)")
        }
    }
}
