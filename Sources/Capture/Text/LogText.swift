import BBPackets

/// Octets, times and words in a line of a log.
enum LogText {
    /// A line without escape sequences of terminals.
    static func plain(_ line: ArraySlice<UInt8>) -> [UInt8] {
        guard line.contains(0x1B) else { return Array(line) }
        var (plain, rest): ([UInt8], ArraySlice<UInt8>) = ([], line)
        while let octet = rest.popFirst() {
            guard octet == 0x1B, rest.first == UInt8(ascii: "[") else {
                plain.append(octet)
                continue
            }
            rest = rest.drop { !(0x40...0x7E).contains($0) || $0 == UInt8(ascii: "[") }.dropFirst()
        }
        return plain
    }

    static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case 48...57: character - 48
        case 65...70: character - 55
        case 97...102: character - 87
        default: nil
        }
    }

    /// Octets as pairs of digits with a single space between them, up to anything else or a gap of three spaces; two spaces may
    /// separate halves of a line.
    static func pairs(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var (octets, at): ([UInt8], Int) = ([], text.startIndex)
        while at + 1 < text.endIndex, let high = digit(text[at]), let low = digit(text[at + 1]) {
            let next = at + 2
            guard next == text.endIndex || text[next] == 32 || text[next] == UInt8(ascii: "|") else { break }
            octets.append(high << 4 | low)
            let gap = text[next...].prefix { $0 == 32 }.count
            guard gap > 0, gap < 3 else { break }
            at = next + gap
        }
        return octets
    }

    /// The octets at the end of a line: pairs of digits, or digits without spaces.
    static func octetsAtEnd(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var start = line.endIndex
        while start > line.startIndex, digit(line[start - 1]) != nil || line[start - 1] == 32 { start -= 1 }
        let rest = line[start...]
        // The end of a word may consist of digits.
        let isWithinWord = start > line.startIndex && (line[start - 1] | 0x20).isLowercaseLetter
        return (isWithinWord ? rest.drop { $0 != 32 } : rest).drop { $0 == 32 }
    }

    static func octets(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let digits = text.filter { $0 != 32 }
        guard !digits.isEmpty, digits.count % 2 == 0 else { return nil }
        let values = digits.compactMap(digit)
        guard values.count == digits.count else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }

    static func isDigit(_ character: UInt8) -> Bool { (48...57).contains(character) }

    static func holds(_ line: ArraySlice<UInt8>, _ word: StaticString) -> Bool { range(of: word, in: line) != nil }

    /// The position of a text in a line.
    static func range(of word: StaticString, in line: ArraySlice<UInt8>) -> Range<Int>? {
        word.withUTF8Buffer { word in
            guard let first = word.first else { return nil }
            var at = line.startIndex
            while at + word.count <= line.endIndex {
                if line[at] == first, line[at..<at + word.count].elementsEqual(word) { return at..<at + word.count }
                at += 1
            }
            return nil
        }
    }
}

/// The time in a line: hours, minutes and seconds with a fraction, and a date before them.
enum LogTime {
    /// Nanoseconds since 1970, or since midnight without a date; nil without a time.
    static func parse(_ line: ArraySlice<UInt8>) -> Int64? {
        let head = line.prefix(64)
        guard let colon = head.indices.first(where: { isClock(head, at: $0) }) else { return nil }
        let hours = number(head[..<colon].suffix(2)) ?? 0
        guard let minutes = number(head[(colon + 1)..<(colon + 3)]), let seconds = number(head[(colon + 4)..<(colon + 6)]) else {
            return nil
        }
        let fraction = fraction(head[(colon + 6)...])
        let day = date(head[..<colon]) ?? 0
        return ((day * 24 + hours) * 60 + minutes) * 60_000_000_000 + seconds * 1_000_000_000 + fraction
    }

    /// True at the first colon of two digits, a colon, two digits, a colon, two digits.
    private static func isClock(_ head: ArraySlice<UInt8>, at index: Int) -> Bool {
        let colon = UInt8(ascii: ":")
        guard head[index] == colon, index > head.startIndex, index + 5 < head.endIndex, head[index + 3] == colon else { return false }
        return ([index - 1, index + 1, index + 2, index + 4, index + 5]).allSatisfy { (48...57).contains(head[$0]) }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        let known = digits.drop { !(48...57).contains($0) }
        guard !known.isEmpty, known.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return known.reduce(0) { $0 * 10 + Int64($1 - 48) }
    }

    /// Digits after a point or comma; groups of three may be separated by commas. In nanoseconds.
    private static func fraction(_ text: ArraySlice<UInt8>) -> Int64 {
        var digits: [UInt8] = []
        var rest = text
        while let separator = rest.first, separator == UInt8(ascii: ".") || separator == UInt8(ascii: ",") {
            let group = rest.dropFirst().prefix { (48...57).contains($0) }
            guard !group.isEmpty, digits.isEmpty || digits.count % 3 == 0 && group.count == 3 else { break }
            digits += group
            rest = rest[group.endIndex...]
        }
        let padded = digits.prefix(9) + [UInt8](repeating: 48, count: max(0, 9 - digits.count))
        return padded.reduce(0) { $0 * 10 + Int64($1 - 48) }
    }

    /// Days since 1970 of a date as 2026-11-30.
    private static func date(_ text: ArraySlice<UInt8>) -> Int64? {
        let dash = UInt8(ascii: "-")
        guard
            let first = text.indices.first(where: {
                $0 >= text.startIndex + 4 && $0 + 5 < text.endIndex && text[$0] == dash && text[$0 + 3] == dash
            }),
            let year = number(text[(first - 4)..<first]), let month = number(text[(first + 1)..<(first + 3)]),
            let day = number(text[(first + 4)..<(first + 6)]), (1970...2200).contains(year), (1...12).contains(month),
            (1...31).contains(day)
        else { return nil }
        // Years begin in March, so that the leap day is the last one.
        let shifted = month > 2 ? year : year - 1
        let days = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + days - 719_468
    }
}

extension HCIPacket {
    /// Number of octets of a whole packet, as its header says; nil if the header is not complete.
    static func wholeLength(_ kind: Kind, _ octets: ArraySlice<UInt8>) -> Int? {
        switch kind {
        case .command, .sco: octets.number(UInt8.self, at: 2, big: false).map { Int($0) + 3 }
        case .event: octets.number(UInt8.self, at: 1, big: false).map { Int($0) + 2 }
        case .acl: octets.number(UInt16.self, at: 2, big: false).map { Int($0) + 4 }
        case .iso: octets.number(UInt16.self, at: 2, big: false).map { Int($0 & 0x3FFF) + 4 }
        }
    }

    /// Parses a packet with its H4 indicator; nil unless its length is the one that its header says.
    init?(wholeIndicated octets: ArraySlice<UInt8>) {
        guard let packet = HCIPacket(indicated: octets), Self.wholeLength(packet.kind, packet.bytes[...]) == packet.bytes.count else {
            return nil
        }
        self = packet
    }
}

extension UInt8 {
    fileprivate var isLowercaseLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
}
