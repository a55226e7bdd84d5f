/// A seed in JSON, as text: a number beyond 2^53 loses its last digits in most programs that read it, and repeats nothing then.
public struct SeedText: Codable, Hashable, Sendable {
    public var value: UInt64

    public init(_ value: UInt64) { self.value = value }

    /// Files of earlier versions have numbers.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            guard let value = UInt64(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "'\(text)' is no seed")
            }
            self.value = value
        } else {
            value = try container.decode(UInt64.self)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(value))
    }
}
