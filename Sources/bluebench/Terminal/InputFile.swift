import Foundation

/// A file that the command line names for reading.
enum InputFile {
    /// - Throws: a usage error in the system's words.
    static func data(_ path: String) throws -> Data {
        do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw CommandFailure(.usage, "cannot read \(path): \(error.localizedDescription)")
        }
    }
}
