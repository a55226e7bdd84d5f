import BBCapture
import Foundation

/// Comments and flags of a person on the packets of a capture, in a file beside it: `run.pcapng.notes.json`.
package struct CaptureNotes {
    struct Note: Codable, Equatable {
        var packet: Int
        /// Time of the packet, in microseconds since 1970: it tells the packet from that of another capture with the same name.
        var time: Int64
        var comment: String?
        var isFlagged: Bool?

        var isEmpty: Bool { comment == nil && isFlagged == nil }
    }

    private struct Document: Codable { var notes: [Note] }

    package let path: String
    private(set) var notes: [Int: Note] = [:]
    /// Number of notes on packets with another time.
    package private(set) var strangers = 0

    package static let longestComment = 4_000
    private static let longestFile = 1 << 24

    /// Notes that are not kept.
    package init() { path = "" }

    /// Notes on a capture that is being written. Those on an older file of the name are replaced by the first one.
    package init(besideNew capture: String) { path = Self.path(of: capture) }

    private static func path(of capture: String) -> String { capture + ".notes.json" }

    /// Reads the notes of a capture, if there are any.
    ///
    /// - Throws: a usage error for a file that has no notes.
    package init(beside capture: String) throws {
        path = Self.path(of: capture)
        guard FileManager.default.fileExists(atPath: path) else { return }
        let data = try InputFile.data(path)
        guard data.count <= Self.longestFile, let document = try? JSONDecoder().decode(Document.self, from: data) else {
            throw CommandFailure(.usage, "\(path) cannot be read as notes on packets: move or remove it")
        }
        for note in document.notes { notes[note.packet] = note }
    }

    /// Adds the notes on a packet to its record.
    package mutating func apply(to record: inout CaptureRecord, _ number: Int) {
        guard let note = notes[number] else { return }
        guard note.time == record.time.microseconds else {
            strangers += 1
            return
        }
        if note.isFlagged == true { record.isFlagged = true }
        guard let comment = note.comment else { return }
        record.comment = record.comment.map { "\($0)\n\(comment)" } ?? comment
    }

    /// Changes the notes on a packet.
    ///
    /// - Parameters:
    ///   - comment: empty to delete the comment; nil to keep it.
    ///   - isFlagged: nil to keep the flag.
    package mutating func set(_ number: Int, at time: CaptureTime, comment: String? = nil, isFlagged: Bool? = nil) {
        var note = notes[number] ?? Note(packet: number, time: 0)
        if note.time != time.microseconds { note = Note(packet: number, time: time.microseconds) }
        if let comment { note.comment = comment.isEmpty ? nil : String(comment.prefix(Self.longestComment)) }
        if let isFlagged { note.isFlagged = isFlagged ? true : nil }
        notes[number] = note.isEmpty ? nil : note
    }

    /// Writes the file, which only its owner can read; removes it if there are no notes.
    package func save() throws {
        guard !path.isEmpty else { return }
        guard !notes.isEmpty else {
            unlink(path)
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let document = Document(notes: notes.values.sorted { $0.packet < $1.packet })
        try OutputFile(path, isSecret: true).write(try encoder.encode(document) + Data("\n".utf8))
    }
}
