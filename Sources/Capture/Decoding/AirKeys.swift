import Packets

/// The long term keys of encrypted links.
public struct AirKeys: Sendable, Hashable {
    /// A key that any link may use, with what names it in LL_ENC_REQ.
    private struct Stored: Sendable, Hashable {
        var key: UInt128
        var encryptedDiversifier: UInt16
        var randomNumber: UInt64
    }

    /// By access address, in the order of their sessions.
    private var logged: [UInt32: [UInt128]] = [:]
    private var stored: [Stored] = []

    /// What is wrong with a key log.
    public struct Malformed: Error, Sendable, CustomStringConvertible {
        public var line: Int
        public var description: String { "line \(line) of the key log is not an access address and a long term key" }
    }

    public init() {}

    /// Reads a key log: a line for each session with the access address and the key, both in hexadecimal, most significant digit first.
    public init(_ text: String) throws(Malformed) {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() where !line.isEmpty {
            let words = line.split(separator: " ")
            guard words.count == 2, words[0].count == 8, words[1].count == 32, let address = UInt32(words[0], radix: 16),
                let key = UInt128(words[1], radix: 16)
            else { throw Malformed(line: number + 1) }
            logged[address, default: []].append(key)
        }
    }

    /// Adds a key of a bond.
    public mutating func add(_ key: UInt128, encryptedDiversifier: UInt16, randomNumber: UInt64) {
        let known = Stored(key: key, encryptedDiversifier: encryptedDiversifier, randomNumber: randomNumber)
        if !stored.contains(known) { stored.append(known) }
    }

    /// The keys that a session, counted from 0, may have: the one of the log, else those that LL_ENC_REQ names. Core Vol 6, Part B, 2.4.2.4.
    func keys(_ accessAddress: UInt32, session: Int, encryptedDiversifier: UInt16, randomNumber: UInt64) -> [UInt128] {
        if let keys = logged[accessAddress], keys.indices.contains(session) { return [keys[session]] }
        return stored.filter { $0.encryptedDiversifier == encryptedDiversifier && $0.randomNumber == randomNumber }.map(\.key)
    }
}
