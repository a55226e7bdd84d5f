import Cases

/// What a step expected beside what came.
public struct ExpectationDiff: Sendable, Hashable {
    public var expected: String
    public var got: String
    /// The packet that brought it, by its number in the capture; nil where there was none.
    public var packet: Int?

    public init(expected: String, got: String, packet: Int? = nil) {
        self.expected = expected
        self.got = got
        self.packet = packet
    }

    /// - Parameter name: of the PDU, or what else the values are of.
    init(_ mismatch: Mismatch, of name: String, packet: Int? = nil) {
        let path = [name, mismatch.path].filter { !$0.isEmpty }.joined(separator: " ")
        let isTime = mismatch.path.isEmpty && mismatch.expected.hasPrefix("it ")
        expected = isTime ? name + mismatch.expected.dropFirst(2) : "\(path): \(mismatch.expected)"
        got = isTime ? name + mismatch.actual.dropFirst(2) : "\(path): \(mismatch.actual)"
        self.packet = packet.flatMap { $0 > 0 ? $0 : nil }
    }
}
