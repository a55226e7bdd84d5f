import Foundation

/// An input file of the command line.
package enum InputFile {
    /// - Throws: a usage error with the system's message.
    package static func data(_ path: String) throws -> Data {
        do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw CommandFailure(.usage, "cannot read \(path): \(systemReason(error))")
        }
    }
}
