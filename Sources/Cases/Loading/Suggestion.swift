/// The names nearest to a misspelt one.
public enum Suggestion {
    /// The abbreviations in names of PDUs, by the word.
    private static let abbreviations = [
        ("NOTIFICATION", "NTF"), ("INDICATION", "IND"), ("CONFIRMATION", "CFM"), ("CONFIRM", "CFM"), ("REQUEST", "REQ"),
        ("RESPONSE", "RSP"),
        ("COMMAND", "CMD"),
    ]

    /// Returns `; did you mean X?`, or an empty text if no name is near.
    ///
    /// - Parameter mostChanges: changes of a letter up to which a name is near; nil for a third of the word.
    public static func text(for word: String, among names: some Sequence<String>, mostChanges: Int? = nil) -> String {
        let short = abbreviations.reduce(word.uppercased()) { $0.replacing($1.0, with: $1.1) }
        if let name = names.first(where: { short != word.uppercased() && $0.uppercased() == short }) { return "; did you mean \(name)?" }
        let key = fold(word)
        let limit = mostChanges ?? max(2, key.count / 3)
        var best: (name: String, distance: Int)?
        for name in names {
            let distance = distance(key, fold(name), limit: limit)
            if let distance, distance < best?.distance ?? Int.max || (distance == best?.distance && name < best?.name ?? name) {
                best = (name, distance)
            }
        }
        if best == nil, key.count >= 4,
            let inside = names.filter({ Self.holds(fold($0), key) }).min(by: { ($0.count, $0) < ($1.count, $1) })
        {
            best = (inside, 0)
        }
        return best.map { "; did you mean \($0.name)?" } ?? ""
    }

    private static func fold(_ text: String) -> [UInt8] {
        text.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ") }
    }

    private static func holds(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        guard part.count <= text.count else { return false }
        return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbours; nil above the limit.
    private static func distance(_ a: [UInt8], _ b: [UInt8], limit: Int) -> Int? {
        guard abs(a.count - b.count) <= limit else { return nil }
        var before = [Int](repeating: 0, count: b.count + 1)
        var row = Array(0...b.count)
        for i in 0..<a.count {
            var next = [i + 1]
            for j in 0..<b.count {
                var cost = min(row[j + 1] + 1, next[j] + 1, row[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
                next.append(cost)
            }
            before = row
            row = next
        }
        return row[b.count] <= limit ? row[b.count] : nil
    }
}
