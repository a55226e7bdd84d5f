/// An option of a bench that is on the command line or in `bench.yaml`, and where its value is from. Reports have them, because a later
/// run with the same command line may find another file.
public struct GivenOption: Sendable, Hashable, Codable {
    /// The name, as `--slack`.
    public var option: String
    /// The value, or the values of a repeated option, separated by commas; nil for a flag.
    public var value: String?
    /// `command line`, or the path of the file.
    public var origin: String

    public static let commandLine = "command line"

    public init(_ option: String, _ value: String?, from origin: String) {
        (self.option, self.value, self.origin) = (option, value, origin)
    }

    /// Lines for a report: the origin, and its options.
    public static func lines(_ options: [GivenOption]) -> [(origin: String, options: String)] {
        let origins = options.reduce(into: [String]()) { if !$0.contains($1.origin) { $0.append($1.origin) } }
        return origins.map { origin in
            let words = options.filter { $0.origin == origin }.map { [$0.option, $0.value].compactMap(\.self).joined(separator: " ") }
            return ("options, \(origin)", words.joined(separator: ", "))
        }
    }
}
