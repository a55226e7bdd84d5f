/// A value in a case file, a PDU or a saved result.
public indirect enum CaseValue: Sendable, Hashable {
    case number(Int)
    case text(String)
    case octets([UInt8])
    case list([CaseValue])
    case record(CaseRecord)
}

/// Named values in order.
public struct CaseRecord: Sendable, Hashable {
    public var names: [String]
    public var values: [CaseValue]

    public init(_ pairs: [(String, CaseValue)] = []) {
        names = pairs.map(\.0)
        values = pairs.map(\.1)
    }

    public subscript(name: String) -> CaseValue? {
        get { names.firstIndex(of: name).map { values[$0] } }
        set {
            switch (names.firstIndex(of: name), newValue) {
            case (let index?, let value?): values[index] = value
            case (let index?, nil):
                names.remove(at: index)
                values.remove(at: index)
            case (nil, let value?):
                names.append(name)
                values.append(value)
            case (nil, nil): break
            }
        }
    }
}

extension CaseValue: CustomStringConvertible {
    public var description: String {
        switch self {
        case .number(let number): number >= 16 ? "\(number) (0x\(String(number, radix: 16, uppercase: true)))" : "\(number)"
        case .text(let text): text
        case .octets(let octets): octets.isEmpty ? "no octets" : Hexadecimal.text(octets)
        case .list(let list): "[" + list.map(\.description).joined(separator: ", ") + "]"
        case .record(let record): record.description
        }
    }
}

extension CaseRecord: CustomStringConvertible {
    public var description: String { text { "\($0): \($1)" } }

    /// The channel and the connection that carry a PDU, which say nothing about its content.
    private static let carriers: Set<String> = ["Channel_ID", "Connection_Handle"]

    /// Returns the parts as text, without the names of what carried them.
    func text(_ part: (String, CaseValue) -> String) -> String {
        let parts = zip(names, values).filter { !Self.carriers.contains($0.0) }.map(part)
        return parts.isEmpty && !names.isEmpty ? "no fields" : "{" + parts.joined(separator: ", ") + "}"
    }
}

/// Octets in hexadecimal text: pairs of digits with optional spaces.
package enum Hexadecimal {
    package static func text(_ octets: [UInt8]) -> String {
        let shown = octets.prefix(32).map { digits($0) }.joined(separator: " ")
        return octets.count > 32 ? shown + " ... (\(octets.count) octets)" : shown
    }

    /// Returns the octets; nil if a group has an odd number of digits or other characters.
    package static func octets(_ text: String) -> [UInt8]? {
        var octets: [UInt8] = []
        for group in text.utf8.split(whereSeparator: { " :-\n".utf8.contains($0) }) {
            var digits = group.makeIterator()
            while let high = digits.next() {
                guard let low = digits.next(), let first = digit(high), let second = digit(low) else { return nil }
                octets.append(first << 4 | second)
            }
        }
        return octets
    }

    /// True if a text appears to be octets but is invalid: short groups, most of which contain digits.
    static func isMistyped(_ text: String) -> Bool {
        let groups = text.split(separator: " ")
        guard groups.count > 1, groups.allSatisfy({ $0.utf8.count <= 2 }), octets(text) == nil else { return false }
        return groups.contains { $0.utf8.contains { digit($0) != nil } }
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func digits(_ octet: UInt8) -> String {
        let text = String(octet, radix: 16, uppercase: true)
        return octet < 16 ? "0" + text : text
    }
}
