import BBTransport
import Foundation

/// The form of packets as text.
package struct PacketForm: Sendable {
    package enum Kind: Sendable { case lines, json, csv }

    package var kind = Kind.lines
    /// Shows layers and fields under each line.
    package var isTree = false
    /// Leaves out addresses, names, keys and long values.
    package var isHiding = false
    package var isColoured = false
    /// Columns of a line; nil for whole lines.
    package var width: Int?
    /// The sign at the end of a line that was cut.
    package var ellipsis = "~"

    package init(_ kind: Kind = .lines) { self.kind = kind }

    /// True if the fields of a packet are needed, and not only its text.
    var needsFields: Bool { isTree || isHiding || isColoured || kind != .lines }
}

/// A taker of text.
package protocol TextSink: AnyObject {
    /// True if nobody reads any more.
    var isReaderGone: Bool { get }
    func write(_ octets: [UInt8])
    /// - Throws: `CommandFailure` if text is missing.
    func finish() throws
}

/// Text in memory, until it is taken.
final class TextPieces: TextSink {
    var isReaderGone: Bool { false }
    private var octets: [UInt8] = []

    func write(_ octets: [UInt8]) { self.octets += octets }
    func finish() {}

    /// Returns what has been written since the last call.
    func take() -> [UInt8] {
        defer { octets = [] }
        return octets
    }
}

/// A text file that only its owner can read.
package final class TextFile: TextSink {
    package var isReaderGone: Bool { false }
    private let path: String
    private let file: FileHandle
    /// The first error number.
    private var failure: Int32 = 0

    /// - Throws: a usage error if it cannot be written.
    package init(_ path: String) throws {
        self.path = path
        file = FileHandle(fileDescriptor: try OutputFile(path, isSecret: true).begin(), closeOnDealloc: true)
    }

    package func write(_ octets: [UInt8]) {
        if failure == 0 { failure = writeAll(octets[...], to: file.fileDescriptor) }
    }

    package func finish() throws {
        if failure != 0 { throw CommandFailure(.bench, "cannot write \(path): \(systemText(failure))") }
        do { try file.close() } catch { throw CommandFailure(.bench, "cannot write \(path): \(systemReason(error))") }
    }
}
