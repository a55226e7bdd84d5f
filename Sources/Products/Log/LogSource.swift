import BBTransport
import Foundation

/// The origin of a product's log.
public enum LogSource: Sendable, Hashable, CustomStringConvertible {
    case serial(path: String, speed: Int)
    /// A file that grows, as for `tail -F`.
    case file(String)
    /// A shell command; its standard output and standard error are the log.
    case command(String)

    /// Reads `serial:PATH[,SPEED]`, `file:PATH`, `command:CMD`, a path, or a command.
    ///
    /// - Throws: `SelectorError` for an invalid serial line.
    public init(_ text: String) throws(SelectorError) {
        func rest(_ prefix: String) -> String? { text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil }
        if text.hasPrefix("serial:"), case .serial(let path, let speed) = try DeviceSelector(text) {
            self = .serial(path: path, speed: speed)
        } else if let path = rest("file:") {
            self = .file(path)
        } else if let command = rest("command:") {
            self = .command(command)
        } else if Self.isTerminal(text) {
            self = .serial(path: text, speed: 115_200)
        } else {
            let isPath = FileManager.default.fileExists(atPath: text) || text.contains("/") && !text.contains(where: \.isWhitespace)
            self = isPath ? .file(text) : .command(text)
        }
    }

    private static func isTerminal(_ path: String) -> Bool {
        var status = stat()
        return path.hasPrefix("/dev/") && stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR
    }

    public var description: String {
        switch self {
        case .serial(let path, let speed): "serial:\(path),\(speed)"
        case .file(let path): path
        case .command(let text): "the command '\(text)'"
        }
    }
}
