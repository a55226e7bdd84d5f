/// A word to find in lines, case-insensitive; after `!` it must be absent.
struct SearchWord {
    private let isAbsent: Bool
    private let text: String
    private let octets: [UInt8]
    private let isASCII: Bool

    init(_ word: Substring) {
        isAbsent = word.hasPrefix("!") && word.count > 1
        text = word.dropFirst(isAbsent ? 1 : 0).lowercased()
        octets = Array(text.utf8)
        isASCII = octets.allSatisfy { $0 < 0x80 }
    }

    /// True if the line has the word, or lacks it as required.
    func fits(_ line: ArraySlice<UInt8>) -> Bool {
        let found = isASCII ? line.withUnsafeBufferPointer(finds) : String(decoding: line, as: UTF8.self).lowercased().contains(text)
        return found != isAbsent
    }

    private func finds(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = octets.first else { return true }
        var place = 0
        while place + octets.count <= line.count {
            if Self.lower(line[place]) == first, octets.indices.allSatisfy({ Self.lower(line[place + $0]) == octets[$0] }) { return true }
            place += 1
        }
        return false
    }

    private static func lower(_ octet: UInt8) -> UInt8 { octet &- 0x41 < 26 ? octet | 0x20 : octet }
}
