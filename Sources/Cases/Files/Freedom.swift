import Foundation
import Yams

/// Conduct that the specification leaves to a device: a generated mutant that only makes use of it is no defect.
public struct Freedom: Sendable {
    /// The file beside the suites.
    package static let file = "freedoms.yaml"
    private static let keys = ["packets", "fields", "changes", "freedom", "allowedBy"]

    public var position: Position
    /// The packets, by name or with `*`.
    public var packets: [String]
    /// The fields; empty for changes of the whole packet.
    public var fields: [String]
    /// The changes of generated mutants; empty for all.
    public var changes: [String]
    /// The freedom, as a sentence.
    public var text: String
    /// The section that leaves it to the device.
    public var allowedBy: String

    /// True if a change of a packet, or of one of its fields, makes use of this freedom.
    package func covers(packet: String, field: String?, change: String) -> Bool {
        guard packets.contains(where: { CaseFilter.matches(packet, $0) }), changes.isEmpty || changes.contains(change) else { return false }
        guard let field else { return fields.isEmpty }
        return fields.contains { CaseFilter.matches(field, $0) }
    }

    /// Reads the file of a folder of suites; none if there is no such file.
    ///
    /// - Parameter changes: the names of all changes.
    /// - Throws: `Problems` with the mistakes of the file.
    package static func load(_ folder: String, changes: [String]) throws(Problems) -> [Freedom] {
        let path = folder + "/" + file
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        var reader = SourceReader(file: path, vocabulary: Vocabulary(pdus: []))
        guard let root = reader.compose() else { throw Problems(reader.problems) }
        let list = reader.sequence(root, "the list of freedoms").compactMap { reader.freedom($0, keys, changes) }
        guard reader.problems.isEmpty else { throw Problems(reader.problems) }
        return list
    }
}

extension SourceReader {
    fileprivate mutating func freedom(_ node: Node, _ allowed: [String], _ known: [String]) -> Freedom? {
        guard var keys = keys(node, of: "a freedom") else { return nil }
        func texts(_ name: String, _ reader: inout SourceReader) -> [String] {
            guard let node = keys.take(name) else { return [] }
            return reader.sequence(node, name).compactMap { reader.text($0, name) }
        }
        let (packets, fields, changes) = (texts("packets", &self), texts("fields", &self), texts("changes", &self))
        for change in changes where !known.contains(change) {
            report(node, "there is no change '\(change)'" + Suggestion.text(for: change, among: known))
        }
        let freedom = text(keys.take("freedom"), "freedom") ?? ""
        let section = text(keys.take("allowedBy"), "allowedBy") ?? ""
        if packets.isEmpty || freedom.isEmpty || section.isEmpty { report(node, "a freedom needs `packets:`, `freedom:` and `allowedBy:`") }
        finish(keys, of: "a freedom", allowed: allowed)
        return Freedom(
            position: position(node), packets: packets, fields: fields, changes: changes, text: freedom, allowedBy: section)
    }
}
