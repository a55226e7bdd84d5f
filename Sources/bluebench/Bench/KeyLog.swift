import BBSessions
import BBTransport
import Foundation

/// The keys of encrypted links on a simulated air, for decrypting the air log: a line for each session in order, with the access address
/// and the long term key in hexadecimal, most significant digit first. Each line is written before the session's first packet, and only the
/// owner can read the file.
final class KeyLog {
    private let path: String
    private var descriptor: Int32
    private var failure: Int32 = 0

    /// - Throws: a usage error if the file cannot be written, before anything runs.
    init(_ path: String) throws {
        self.path = path
        descriptor = try OutputFile(path, isSecret: true).begin()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func add(_ accessAddress: UInt32, _ longTermKey: UInt128) {
        guard failure == 0 else { return }
        let line = Self.digits(accessAddress, 8) + " " + Self.digits(longTermKey, 32) + "\n"
        failure = writeAll(Array(line.utf8)[...], to: descriptor)
    }

    /// - Throws: a failure of the bench if keys are missing in the file.
    func finish() throws {
        guard descriptor >= 0 else { return }
        let code = close(descriptor) == 0 ? 0 : errno
        descriptor = -1
        if failure == 0 { failure = code }
        guard failure == 0 else { throw CommandFailure(.bench, "cannot write \(path): \(systemText(failure))") }
    }

    private static func digits(_ value: some BinaryInteger, _ count: Int) -> String {
        let text = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
