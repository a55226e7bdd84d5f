/// A value that a case file writes, a PDU carries or a step saves.
public indirect enum CaseValue: Sendable, Hashable {
    case number(Int)
    case text(String)
    case octets([UInt8])
    case list([CaseValue])
    case record(CaseRecord)
}

/// Named values in their order.
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
    public var description: String {
        "{" + zip(names, values).map { "\($0): \($1)" }.joined(separator: ", ") + "}"
    }
}

/// Octets as people write them: pairs of digits, spaces between them optional.
enum Hexadecimal {
    static func text(_ octets: [UInt8]) -> String {
        let shown = octets.prefix(32).map { digits($0) }.joined(separator: " ")
        return octets.count > 32 ? shown + " ... (\(octets.count) octets)" : shown
    }

    static func octets(_ text: String) -> [UInt8]? {
        var octets: [UInt8] = []
        var high: UInt8?
        for scalar in text.unicodeScalars where !" :-\n".unicodeScalars.contains(scalar) {
            guard let digit = Character(scalar).hexDigitValue.map(UInt8.init) else { return nil }
            if let first = high {
                octets.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? octets : nil
    }

    private static func digits(_ octet: UInt8) -> String {
        let text = String(octet, radix: 16, uppercase: true)
        return octet < 16 ? "0" + text : text
    }
}
