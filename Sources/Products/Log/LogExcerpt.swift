/// The product's log during a case: the first and the last lines.
public struct LogExcerpt: Sendable, Hashable {
    public struct Line: Sendable, Hashable, Codable {
        /// The time on the case's clock, as in `Evidence`.
        public var milliseconds: Double
        public var text: String

        private enum CodingKeys: String, CodingKey {
            case text
            case milliseconds = "at_ms"
        }

        public init(milliseconds: Double, text: String) { (self.milliseconds, self.text) = (milliseconds, text) }
    }

    public var lines: [Line] = []
    /// The number of lines omitted before `lines[gap]`.
    public var omitted = 0
    public var gap = 0

    package static let mostFirst = 60
    package static let mostLast = 140

    public init() {}

    package mutating func add(_ line: Line) {
        lines.append(line)
        guard lines.count > Self.mostFirst + Self.mostLast else { return }
        lines.remove(at: Self.mostFirst)
        (omitted, gap) = (omitted + 1, Self.mostFirst)
    }

    /// Counts lines that were dropped after the last one.
    package mutating func drop(_ count: Int) {
        guard count > 0 else { return }
        omitted += count
        if gap == 0 { gap = lines.count }
    }
}
