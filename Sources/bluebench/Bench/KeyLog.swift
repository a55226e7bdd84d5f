import Foundation

/// The keys of encrypted links on a simulated air, for whoever reads the air log: a line for each session, in their order, with the access address and the long term
/// key in hexadecimal, most significant digit first.
final class KeyLog {
    private let path: String
    private var lines: [String] = []

    /// - Throws: when the file cannot be written, before anything runs.
    init(_ path: String) throws {
        self.path = path
        try write()
    }

    func add(_ accessAddress: UInt32, _ longTermKey: UInt128) {
        lines.append(Self.digits(accessAddress, 8) + " " + Self.digits(longTermKey, 32))
    }

    func finish() throws { try write() }

    /// Nobody else may read it.
    private func write() throws {
        let text = lines.map { $0 + "\n" }.joined()
        let isWritten = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        guard isWritten else { throw CommandFailure(.usage, "cannot write \(path)") }
    }

    private static func digits(_ value: some BinaryInteger, _ count: Int) -> String {
        let text = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
