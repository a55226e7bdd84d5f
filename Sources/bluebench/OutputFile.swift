import ArgumentParser
import Foundation

/// A file that a command writes for people or other programs.
enum OutputFile {
    /// - Parameter code: how the command ends when the file cannot be written.
    static func write(_ text: String, to path: String, orElse code: ExitCode = .usage) throws {
        try write(Data(text.utf8), to: path, orElse: code)
    }

    static func write(_ data: Data, to path: String, orElse code: ExitCode = .usage) throws {
        do {
            try data.write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandFailure(code, "cannot write \(path): \(error.localizedDescription)")
        }
    }
}
