import ArgumentParser
import BBCapture
import BBConformance
import BBHost
import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension ExitCode {
    /// Every case passed, or the tool succeeded.
    static let pass = ExitCode(0)
    /// A case failed, or a measured value is below its limit.
    static let fail = ExitCode(1)
    /// The command line, or a file that it names, is wrong.
    static let usage = ExitCode(2)
    /// The bench itself failed, or no verdict could be reached.
    static let bench = ExitCode(3)
}

/// The failure of a subcommand: a message and the exit code.
struct CommandFailure: Error {
    var code: ExitCode
    var message: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates the failure for a file that the system refuses to make: of the bench if the machine lacks something, of the caller otherwise.
    init(refusing what: String, _ code: Int32) {
        let isLack = [ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM].contains(code)
        self.init(isLack ? .bench : .usage, "\(what): \(systemText(code))")
    }

    /// Creates the failure for an error of a lower layer.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
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
