/// The relations of a PDU to others, as its declaration states them.
struct Relations {
    /// A name in a declaration, with its place.
    struct Mention {
        var name: String
        var line: Int
        var column: Int
    }

    /// The commands that an event completes.
    var completes: [Mention] = []
    /// The requests of the peer that a PDU answers.
    var answers: [Mention] = []
    /// The fields that name the accepted or refused PDU; `any` for the one that is pending.
    var accepts: [Mention] = []
    var refuses: [Mention] = []
    /// True if the peer answers with a general response.
    var asks = false
    /// True if an answer or a completing event also comes without a request, or several times for one.
    var comesUnasked = false
    /// True if the side that asked sends the answer back.
    var isReturned = false
    /// `opens`, `changes` or `closes`, and what.
    var effect: (verb: String, object: String)?
    /// The earlier version of the PDU.
    var replaces: Mention?

    /// True if nothing but the earlier version is declared.
    var isInherited: Bool {
        completes.isEmpty && answers.isEmpty && accepts.isEmpty && refuses.isEmpty && effect == nil && !asks && !comesUnasked && !isReturned
    }

    /// Words for `opens` and `closes`.
    static let links: [(word: String, about: String)] = [
        ("le", "An LE connection."), ("bredr", "A BR/EDR connection."),
        ("synchronous", "A synchronous connection: SCO or eSCO."), ("isochronous", "A connected isochronous stream."),
        ("group", "A broadcast isochronous group."), ("sync", "The synchronization with a periodic advertising train."),
        ("channel", "A channel of L2CAP."), ("link", "Any connection or stream: the one with the handle, or on which the PDU is sent."),
    ]

    /// Words for `changes`.
    static let properties: [(word: String, about: String)] = [
        ("parameters", "Interval, latency or supervision timeout."), ("subrate", "The subrating of connection or sniff events."),
        ("phys", "The PHYs."), ("frameSpace", "The times between frames."), ("dataLength", "The longest data PDUs."),
        ("channelMap", "The channels in use."), ("packetTypes", "The packet types in use."), ("mode", "Active, hold or sniff mode."),
        ("role", "The roles of both devices."), ("encryption", "Encryption, on or off."), ("key", "The encryption key."),
        ("mtu", "The largest PDU of the attribute protocol."),
    ]
}

/// Reads the relations of a PDU.
struct RelationReader {
    var path: String

    func read(_ node: Node) throws -> Relations {
        var relations = Relations()
        relations.completes = try mentions(node["completes"])
        relations.answers = try mentions(node["answers"])
        relations.accepts = try mentions(node["accepts"])
        relations.refuses = try mentions(node["refuses"])
        relations.replaces = try mentions(node["replaces"]).first
        relations.asks = try flag(node["asks"])
        relations.comesUnasked = try flag(node["unasked"])
        relations.isReturned = try flag(node["returned"])
        for (verb, words) in [("opens", Relations.links), ("changes", Relations.properties), ("closes", Relations.links)] {
            guard let value = node[verb] else { continue }
            guard let word = value.string, words.contains(where: { $0.word == word }) else {
                throw error(value, "\(verb) one of \(words.map(\.word).joined(separator: ", "))")
            }
            guard relations.effect == nil else { throw error(value, "a PDU opens, changes or closes one thing") }
            relations.effect = (verb, word)
        }
        return relations
    }

    private func mentions(_ node: Node?) throws -> [Relations.Mention] {
        guard let node else { return [] }
        return try (node.sequence ?? [node]).map { item in
            guard let name = item.string, !name.isEmpty else { throw error(item, "a name is missing") }
            return Relations.Mention(name: name, line: item.line, column: item.column)
        }
    }

    private func flag(_ node: Node?) throws -> Bool {
        guard let node else { return false }
        guard node.string == "true" else { throw error(node, "`true`, or no line") }
        return true
    }

    private func error(_ node: Node, _ text: String) -> SchemaError {
        SchemaError(file: path, line: node.line, column: node.column, text: text)
    }
}
