/// A comment by which a capture of a run says where a case begins, and how it ends.
public enum CaseMark: Sendable, Hashable {
    case begins(String)
    case ends(String, verdict: String)

    private static let (head, begin, end) = ("case ", " begins", " ends: ")

    /// The comment.
    public var text: String {
        switch self {
        case .begins(let id): Self.head + id + Self.begin
        case .ends(let id, let verdict): Self.head + id + Self.end + verdict
        }
    }

    /// Nil for another line.
    public init?(_ line: some StringProtocol) {
        guard line.hasPrefix(Self.head) else { return nil }
        let rest = line.dropFirst(Self.head.count)
        if rest.hasSuffix(Self.begin) {
            self = .begins(String(rest.dropLast(Self.begin.count)))
        } else if let end = rest.firstRange(of: Self.end) {
            self = .ends(String(rest[..<end.lowerBound]), verdict: String(rest[end.upperBound...]))
        } else {
            return nil
        }
    }
}
