import BBPackets

/// The rules of a tap. A tap without rules costs one comparison.
public struct PacketRules: Sendable {
    private struct Rule: Sendable {
        var rewrite: PacketRewrite
        /// A packet held back until the next matching packet has been sent.
        var held: [UInt8]?
    }

    /// A packet to send instead of the one that a rule changed, and its delay.
    public struct Replacement: Sendable, Equatable {
        public var bytes: [UInt8]
        public var delay = Microseconds.zero
    }

    /// Handling of a command from the host, or from the tester of an upper tester.
    public enum Arrival: Sendable, Equatable {
        case carryOut([UInt8])
        case pretend
        case ignore
    }

    private var rules: [Rule] = []
    private var layers: Set<Layer> = []

    public init(_ rewrites: [PacketRewrite] = []) {
        for rewrite in rewrites { append(rewrite) }
    }

    public var isEmpty: Bool { rules.isEmpty }

    /// True if a rule is about packets of a layer.
    public func areAbout(_ layer: Layer) -> Bool { layers.contains(layer) }

    public mutating func append(_ rewrite: PacketRewrite) {
        rules.append(Rule(rewrite: rewrite))
        layers.insert(rewrite.layer)
    }

    /// Adds a rule before the one at the index, which is at most the number of rules.
    public mutating func insert(_ rewrite: PacketRewrite, at index: Int) {
        rules.insert(Rule(rewrite: rewrite), at: index)
        layers.insert(rewrite.layer)
    }

    /// The packets that the first matching rule puts in place of a packet; nil if no rule applies.
    public mutating func replacements(of bytes: [UInt8], _ layer: Layer) -> [Replacement]? {
        guard let index = ruleInForce(layer, bytes) else { return nil }
        let rewrite = rules[index].rewrite
        if case .delay(let time) = rewrite.effect { return [Replacement(bytes: bytes, delay: time)] }
        if rewrite.effect == .swap {
            guard let held = rules[index].held else {
                rules[index].held = bytes
                return []
            }
            rules[index].held = nil
            return [bytes, held].map { Replacement(bytes: $0) }
        }
        return rewrite.applied(to: bytes).map { Replacement(bytes: $0) }
    }

    /// Handling of a command, by the first matching rule.
    public mutating func arrival(of bytes: [UInt8], _ layer: Layer = .hciCommands) -> Arrival {
        guard let index = ruleInForce(layer, bytes) else { return .carryOut(bytes) }
        let rewrite = rules[index].rewrite
        switch rewrite.effect {
        case .pretend: return .pretend
        case .drop: return .ignore
        case .change, .replace, .append, .cut, .corrupt: return .carryOut(rewrite.applied(to: bytes).first ?? bytes)
        case .duplicate, .delay, .swap, .follow, .answer: return .carryOut(bytes)
        }
    }

    private mutating func ruleInForce(_ layer: Layer, _ bytes: [UInt8]) -> Int? {
        guard !rules.isEmpty else { return nil }
        for index in rules.indices {
            let rewrite = rules[index].rewrite
            guard rewrite.layer == layer, !rewrite.occurrences.isExhausted, rewrite.isAbout(bytes) else { continue }
            return rules[index].rewrite.occurrences.isDue() ? index : nil
        }
        return nil
    }
}

extension PacketRewrite {
    /// The packets that replace a matching packet at once.
    func applied(to bytes: [UInt8]) -> [[UInt8]] {
        switch effect {
        case .drop, .pretend: []
        case .change(let changes): [changed(bytes, changes)]
        case .replace(let octets): [inTransaction(of: bytes, octets)]
        case .append(let octets): [lengthened(bytes, by: octets)]
        case .cut(let count): [shortened(bytes, by: count)]
        case .corrupt(let octet): [Self.corrupted(bytes, at: octet)]
        case .duplicate: [bytes, bytes]
        case .follow(let octets, let names): [bytes, follower(octets, of: bytes, names)]
        case .answer(let form): answers(bytes, as: form)
        case .delay, .swap: [bytes]
        }
    }
}
