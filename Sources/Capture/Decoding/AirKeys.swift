import Packets

/// The long term keys of encrypted links by access address, in the order of their sessions.
public struct AirKeys: Sendable, Hashable {
    private var keys: [UInt32: [UInt128]] = [:]

    /// What is wrong with a key log.
    public struct Malformed: Error, Sendable, CustomStringConvertible {
        public var line: Int
        public var description: String { "line \(line) of the key log is not an access address and a long term key" }
    }

    /// Reads a key log: a line for each session with the access address and the key, both in hexadecimal, most significant digit first.
    public init(_ text: String) throws(Malformed) {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() where !line.isEmpty {
            let words = line.split(separator: " ")
            guard words.count == 2, words[0].count == 8, words[1].count == 32, let address = UInt32(words[0], radix: 16),
                let key = UInt128(words[1], radix: 16)
            else { throw Malformed(line: number + 1) }
            keys[address, default: []].append(key)
        }
    }

    /// The key of a session, counted from 0.
    func key(_ accessAddress: UInt32, session: Int) -> UInt128? {
        let keys = keys[accessAddress] ?? []
        return keys.indices.contains(session) ? keys[session] : nil
    }
}
