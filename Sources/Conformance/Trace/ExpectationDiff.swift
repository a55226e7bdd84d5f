import BBCases

/// The expected and the received value of a step.
public struct ExpectationDiff: Sendable, Hashable {
    public var expected: String
    public var got: String
    /// The number in the capture of the packet with the value; nil if there is none.
    public var packet: Int?

    public init(expected: String, got: String, packet: Int? = nil) {
        self.expected = expected
        self.got = got
        self.packet = packet
    }

    /// - Parameter name: the name of the PDU or of another source of the values.
    init(_ mismatch: WordedMismatch, of name: String, packet: Int? = nil) {
        let path = [name, mismatch.path].filter { !$0.isEmpty }.joined(separator: " ")
        let isTime = mismatch.path.isEmpty && mismatch.expected.hasPrefix("it ")
        expected = isTime ? name + mismatch.expected.dropFirst(2) : "\(path): \(mismatch.expected)"
        got = isTime ? name + mismatch.actual.dropFirst(2) : "\(path): \(mismatch.actual)"
        self.packet = packet.flatMap { $0 > 0 ? $0 : nil }
    }

    init(_ mismatch: Mismatch, of name: String, packet: Int? = nil) {
        guard let fault = mismatch.fault else {
            self.init(mismatch.worded(), of: name, packet: packet)
            return
        }
        self.init(expected: "\(name): no fault", got: fault, packet: packet)
    }
}
