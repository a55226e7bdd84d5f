/// The comparison of names as users write them.
enum Spelling {
    private static let underscore = UInt8(ascii: "_")

    /// Returns the name in lower case, without `HCI_` and `[v1]`, with single underscores between words.
    static func normal(_ name: String) -> String {
        var letters: [UInt8] = []
        letters.reserveCapacity(name.utf8.count)
        for letter in name.utf8 {
            switch letter {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): letters.append(letter | 0x20)
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: letters.append(letter)
            default: if !letters.isEmpty, letters.last != underscore { letters.append(underscore) }
            }
        }
        while letters.last == underscore { letters.removeLast() }
        if letters.starts(with: "hci_".utf8) { letters.removeFirst(4) }
        if letters.suffix(3).elementsEqual("_v1".utf8) { letters.removeLast(3) }
        return String(decoding: letters, as: UTF8.self)
    }

    /// Returns up to three names with a distance of at most a third of their length, the nearest first.
    static func closest(to name: String, among names: [String]) -> [String] {
        let wanted = Array(normal(name).utf8)
        var found: [(distance: Int, name: String)] = []
        for candidate in names {
            let text = Array(normal(candidate).utf8)
            let limit = max(2, text.count / 3)
            guard abs(text.count - wanted.count) <= limit else { continue }
            let distance = self.distance(wanted, text)
            if distance <= limit { found.append((distance, candidate)) }
        }
        found.sort { $0.distance == $1.distance ? $0.name < $1.name : $0.distance < $1.distance }
        return found.prefix(3).map(\.name)
    }

    /// Returns the number of insertions, deletions and replacements.
    static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var row = Array(0...b.count)
        for (i, letter) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in b.enumerated() {
                let old = row[j + 1]
                row[j + 1] = min(old + 1, row[j] + 1, diagonal + (letter == other ? 0 : 1))
                diagonal = old
            }
        }
        return row[b.count]
    }
}
