import BBPackets

/// Splits a stream of octets into lines between CR and LF; empty lines are skipped. HFP 1.8, 4.34; ITU-T V.250, 5.
public struct ATLineReader: Sendable {
    public enum Line: Sendable, Hashable {
        case text(String)
        /// A line longer than any command or result; its octets are dropped.
        case tooLong
    }

    public static let limit = 512

    private var octets: [UInt8] = []
    private var isTooLong = false

    public init() {}

    public mutating func receive(_ data: [UInt8]) -> [Line] {
        var lines: [Line] = []
        for octet in data {
            switch octet {
            case 0x0D, 0x0A:
                if isTooLong {
                    lines.append(.tooLong)
                } else if !octets.isEmpty {
                    lines.append(.text(String(decoding: octets, as: UTF8.self)))
                }
                octets.removeAll(keepingCapacity: true)
                isTooLong = false
            default:
                if octets.count == Self.limit { isTooLong = true } else { octets.append(octet) }
            }
        }
        return lines
    }
}

/// A command: a name and an operation. ITU-T V.250, 5.4.
public struct ATCommand: Sendable, Hashable {
    public enum Form: Sendable, Hashable {
        case execute
        /// `?`
        case read
        /// `=?`
        case test
        /// `=` and parameters.
        case set([String])
    }

    /// Name in capitals, without `AT`: `+BRSF`, `A`, `D`.
    public var name: String
    public var form: Form

    public init(_ name: String, _ form: Form) { (self.name, self.form) = (name, form) }

    /// Returns nil if the line is not a command.
    public init?(_ line: String) {
        let text = line.drop { $0 == " " }
        guard text.prefix(2).uppercased() == "AT" else { return nil }
        let body = text.dropFirst(2)
        if let first = body.first, first.isLetter {
            // The parameter of a basic command follows its letter; a number to dial ends with a semicolon.
            let rest = String(body.dropFirst())
            self.init(first.uppercased(), rest.isEmpty ? .execute : .set([rest]))
            return
        }
        let name = body.prefix { $0 != "=" && $0 != "?" }
        guard name.first == "+", name.count > 1, name.dropFirst().allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            return nil
        }
        let form: Form
        switch body.dropFirst(name.count) {
        case "": form = .execute
        case "?": form = .read
        case "=?": form = .test
        case let rest where rest.first == "=": form = .set(ATParameters.split(String(rest.dropFirst())))
        default: return nil
        }
        self.init(name.uppercased(), form)
    }

    /// The parameters as numbers; nil if one is not a number.
    public var numbers: [Int]? {
        guard case .set(let parameters) = form else { return nil }
        let numbers = parameters.compactMap { Int($0) }
        return numbers.count == parameters.count ? numbers : nil
    }
}

/// A result: a code, or a name with its value.
public struct ATResult: Sendable, Hashable {
    /// `OK`, `ERROR`, `RING`, `+CIND` ...
    public var name: String
    public var text: String

    public init(_ line: String) {
        guard line.first == "+", let colon = line.firstIndex(of: ":") else {
            (name, text) = (line, "")
            return
        }
        name = String(line[..<colon])
        text = String(line[line.index(after: colon)...].drop { $0 == " " })
    }

    public var parameters: [String] { ATParameters.split(text) }
    public var numbers: [Int] { parameters.compactMap { Int($0) } }
    /// True for a result that completes a command.
    public var isFinal: Bool { isError || name == "OK" }
    public var isError: Bool { ["ERROR", "+CME ERROR", "NO CARRIER", "BUSY", "NO ANSWER", "DELAYED", "BLACKLISTED"].contains(name) }
}

enum ATParameters {
    static let limit = 64

    /// Splits parameters at commas outside quotes and parentheses, and removes the quotes.
    static func split(_ text: String) -> [String] {
        guard !text.isEmpty else { return [] }
        var parameters: [String] = []
        var current = ""
        var depth = 0
        var isQuoted = false
        for character in text {
            switch character {
            case "\"": isQuoted.toggle()
            case "(" where !isQuoted: depth += 1
            case ")" where !isQuoted: depth -= 1
            case "," where !isQuoted && depth <= 0:
                parameters.append(current)
                current = ""
                if parameters.count == limit { return parameters }
                continue
            default: break
            }
            if character != "\"" || depth > 0 { current.append(character) }
        }
        return parameters + [current.trimmed]
    }
}

extension String {
    /// This text without leading and trailing spaces.
    fileprivate var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }

    /// This text without an outer pair of parentheses.
    var withoutParentheses: String { first == "(" && last == ")" && count >= 2 ? String(dropFirst().dropLast()) : self }
}
