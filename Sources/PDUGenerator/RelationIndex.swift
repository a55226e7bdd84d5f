import Foundation

/// Resolves the names in relations, and gives a version of a PDU the relations of the one before it.
struct RelationIndex {
    /// A PDU with its relations; the key identifies it among all layers.
    struct Entry {
        var key: UInt32
        var declaration: Declaration
        var relations: Relations
        var file: DeclarationFile
    }

    private(set) var entries: [Entry] = []
    private var places: [String: Int] = [:]
    /// The version before each PDU, and the versions after it.
    private var before: [Int: Int] = [:]
    private var after: [Int: [Int]] = [:]

    init(_ files: [DeclarationFile], layers: [LayerInfo]) throws {
        for file in files {
            let layer = layers.firstIndex { $0.name == file.name } ?? 0
            for pdu in file.pdus {
                places[Self.place(file.name, pdu.name)] = entries.count
                entries.append(Entry(key: Self.key(layer, pdu), declaration: pdu, relations: pdu.relations, file: file))
            }
        }
        for (index, entry) in entries.enumerated() {
            let name = entry.relations.replaces?.name ?? Self.versionBefore(entry.declaration.name)
            guard let earlier = name.flatMap({ places[Self.place(entry.file.name, $0)] }), earlier != index else { continue }
            before[index] = earlier
            after[earlier, default: []].append(index)
        }
        for index in entries.indices { inherit(index, depth: 0) }
        for entry in entries { try check(entry) }
        try checkCompletions()
    }

    /// The layer's number, the code and the subevent; `PDUID` in Packets has the same format.
    private static func key(_ layer: Int, _ pdu: Declaration) -> UInt32 {
        UInt32(layer) << 24 | UInt32(pdu.code & 0xFFFF) << 8 | UInt32((pdu.subevent ?? 0) & 0xFF)
    }

    private static func place(_ layer: String, _ name: String) -> String { layer + " " + name }

    // MARK: Versions

    /// The declared earlier version, or the one with the number before: `LE_Foo [v2]` replaces `LE_Foo`.
    func earlier(_ entry: Entry) -> Entry? {
        places[Self.place(entry.file.name, entry.declaration.name)].flatMap { before[$0] }.map { entries[$0] }
    }

    /// The earlier version of an event, if both have structs.
    func earlierStruct(of pdu: Declaration, in file: DeclarationFile) -> Declaration? {
        guard file.header == .event, let place = places[Self.place(file.name, pdu.name)] else { return nil }
        return earlier(entries[place]).map(\.declaration).flatMap { $0.codec == .generated ? $0 : nil }
    }

    private static func versionBefore(_ name: String) -> String? {
        guard name.hasSuffix("]"), let start = name.range(of: " [v"), let number = Int(name[start.upperBound...].dropLast()), number > 1
        else { return nil }
        let base = String(name[..<start.lowerBound])
        return number == 2 ? base : base + " [v\(number - 1)]"
    }

    private mutating func inherit(_ index: Int, depth: Int) {
        guard entries[index].relations.isInherited, depth < 8, let earlier = before[index] else { return }
        inherit(earlier, depth: depth + 1)
        let replaces = entries[index].relations.replaces
        entries[index].relations = entries[earlier].relations
        entries[index].relations.replaces = replaces
    }

    /// The version of a PDU and all later ones.
    private func withLaterVersions(_ entry: Entry) -> [Entry] {
        let later = places[Self.place(entry.file.name, entry.declaration.name)].flatMap { after[$0] } ?? []
        return [entry] + later.flatMap { withLaterVersions(entries[$0]) }
    }

    // MARK: Names

    /// The completed commands of an event, with their later versions.
    func completed(by entry: Entry) -> [Entry] {
        entry.relations.completes.compactMap { find($0, in: "HCICommands") }.flatMap { withLaterVersions($0) }
    }

    func answered(by entry: Entry) -> [Entry] { entry.relations.answers.compactMap { find($0, in: entry.file.name) } }

    private func find(_ mention: Relations.Mention, in layer: String) -> Entry? {
        places[Self.place(layer, mention.name)].map { entries[$0] }
    }

    private func check(_ entry: Entry) throws {
        let relations = entry.declaration.relations
        for mention in relations.completes {
            guard entry.file.header == .event else { throw error(entry, mention, "only an event completes a command") }
            guard let command = find(mention, in: "HCICommands") else { throw error(entry, mention, "there is no command \(mention.name)") }
            guard command.declaration.endsInStatus else { throw error(entry, mention, "\(mention.name) ends with Command Complete") }
        }
        for mention in relations.answers + (relations.replaces.map { [$0] } ?? []) {
            guard find(mention, in: entry.file.name) != nil else {
                throw error(entry, mention, "there is no \(mention.name) in \(entry.file.name)")
            }
        }
        for mention in relations.accepts + relations.refuses where mention.name != "any" {
            guard entry.declaration.fields.contains(where: { $0.name == mention.name }) else {
                throw error(entry, mention, "\(entry.declaration.name) has no field \(mention.name)")
            }
        }
    }

    /// Checks that each command answered by Command Status has an event that completes it.
    private func checkCompletions() throws {
        let completed = Set(entries.flatMap { self.completed(by: $0) }.map(\.key))
        for entry in entries where entry.file.header == .command && entry.declaration.endsInStatus && !completed.contains(entry.key) {
            throw SchemaError(
                file: entry.file.path, line: entry.declaration.line, column: 3,
                text: "\(entry.declaration.name) ends with Command Status: name it in `completes:` of an event")
        }
    }

    private func error(_ entry: Entry, _ mention: Relations.Mention, _ text: String) -> SchemaError {
        SchemaError(file: entry.file.path, line: mention.line, column: mention.column, text: text)
    }
}
