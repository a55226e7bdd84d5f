import BBCapture
import BBPackets
import Foundation

/// A capture in one file, or in a ring of files of which the newest are kept.
package final class RingFile {
    private let path: String
    private let interfaces: [CaptureInterface]
    /// Number of files that are kept, and octets of packets in each; nil for one file.
    private let ring: (files: Int, octets: Int)?
    private var writer: CaptureWriter
    private var octets = 0
    private var number = 1
    private var kept: [String] = []

    /// - Throws: a usage error if the file cannot be written.
    package init(_ path: String, interfaces: [CaptureInterface], ring: (files: Int, octets: Int)?) throws {
        (self.path, self.interfaces, self.ring) = (path, interfaces, ring)
        do { writer = try Self.begin(ring == nil ? path : Self.path(path, 1), of: path, interfaces) } catch {
            throw CommandFailure(.usage, "\(error)")
        }
        kept = [writer.path]
    }

    /// - Throws: `CaptureError` if the packet cannot be written.
    package func write(_ record: CaptureRecord) throws(CaptureError) {
        if let ring, octets >= ring.octets { try turn(ring.files) }
        try writer.write(record)
        if case .hci(let packet, _) = record.content { octets += packet.bytes.count + Self.overhead }
    }

    package func flush() throws(CaptureError) { try writer.flush() }
    package func finish() throws(CaptureError) { try writer.finish() }

    /// Octets of a record besides the packet, in the longest format.
    private static let overhead = 40

    private func turn(_ files: Int) throws(CaptureError) {
        try writer.finish()
        number += 1
        octets = 0
        writer = try Self.begin(Self.path(path, number), of: path, interfaces)
        kept.append(writer.path)
        while kept.count > files { unlink(kept.removeFirst()) }
    }

    private static func begin(_ path: String, of whole: String, _ interfaces: [CaptureInterface]) throws(CaptureError) -> CaptureWriter {
        // A pipe has no extension.
        let format = CaptureFormat(extensionOf: whole) ?? (isPipe(whole) ? .pcapng : nil)
        let writer = try CaptureWriter(path: path, format: format, isSecret: true)
        for interface in interfaces { _ = try writer.addInterface(interface) }
        try writer.flush()
        return writer
    }

    private static func isPipe(_ path: String) -> Bool {
        var found = stat()
        return stat(path, &found) == 0 && found.st_mode & S_IFMT != S_IFREG
    }

    /// `live.pcapng` becomes `live-00002.pcapng`.
    private static func path(_ path: String, _ number: Int) -> String {
        let url = URL(fileURLWithPath: path)
        let digits = String(number)
        let name = url.deletingPathExtension().lastPathComponent + "-" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits
        return url.deletingLastPathComponent().appendingPathComponent(name).appendingPathExtension(url.pathExtension).path
    }
}
