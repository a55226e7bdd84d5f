import BBPackets

/// Long term keys of encrypted links.
public struct AirKeys: Sendable, Hashable {
    /// A key for any link, with the identifiers in LL_ENC_REQ.
    private struct Stored: Sendable, Hashable {
        var key: UInt128
        var encryptedDiversifier: UInt16
        var randomNumber: UInt64
    }

    /// Keys by access address, in the order of sessions.
    private var logged: [UInt32: [UInt128]] = [:]
    private var stored: [Stored] = []

    /// A key log is malformed.
    public struct Malformed: Error, Sendable, CustomStringConvertible {
        public var line: Int
        public var description: String { "line \(line) of the key log is not an access address and a long term key" }
    }

    public init() {}

    /// Parses a key log: one line per session with access address and key, both hexadecimal, most significant digit first.
    public init(_ text: String) throws(Malformed) {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() where !line.isEmpty {
            let words = line.split(separator: " ")
            guard words.count == 2, words[0].count == 8, words[1].count == 32, let address = UInt32(words[0], radix: 16),
                let key = UInt128(words[1], radix: 16)
            else { throw Malformed(line: number + 1) }
            logged[address, default: []].append(key)
        }
    }

    /// Adds the key of a bond.
    public mutating func add(_ key: UInt128, encryptedDiversifier: UInt16, randomNumber: UInt64) {
        let known = Stored(key: key, encryptedDiversifier: encryptedDiversifier, randomNumber: randomNumber)
        if !stored.contains(known) { stored.append(known) }
    }

    /// Candidate keys of a session, numbered from 0: the key from the log, otherwise those that LL_ENC_REQ identifies. Core Vol 6, Part B,
    /// 2.4.2.4.
    func keys(_ accessAddress: UInt32, session: Int, encryptedDiversifier: UInt16, randomNumber: UInt64) -> [UInt128] {
        if let keys = logged[accessAddress], keys.indices.contains(session) { return [keys[session]] }
        return stored.filter { $0.encryptedDiversifier == encryptedDiversifier && $0.randomNumber == randomNumber }.map(\.key)
    }
}
