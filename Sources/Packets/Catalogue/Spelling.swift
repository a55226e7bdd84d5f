/// Names as people write them.
enum Spelling {
    /// Small letters, no `HCI_`, no `[v1]`, one underscore between words.
    static func normal(_ name: String) -> String {
        var text = ""
        for character in name.lowercased() {
            if character.isLetter || character.isNumber {
                text.append(character)
            } else if !text.isEmpty, text.last != "_" {
                text.append("_")
            }
        }
        while text.last == "_" { text.removeLast() }
        if text.hasPrefix("hci_") { text.removeFirst(4) }
        if text.hasSuffix("_v1") { text.removeLast(3) }
        return text
    }

    /// Up to three of the names within a third of their length, the closest first.
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

    /// How many letters have to be put in, taken out or changed.
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
