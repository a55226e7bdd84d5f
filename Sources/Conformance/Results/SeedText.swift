/// A seed in JSON as text, because most programs lose the last digits of numbers above 2^53.
public struct SeedText: Codable, Hashable, Sendable {
    public var value: UInt64

    public init(_ value: UInt64) { self.value = value }

    /// Decodes numbers from files of earlier versions, too.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            guard let value = UInt64(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "'\(text)' is not a seed")
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
