import BBPackets

/// The value of a quirk.
public enum QuirkValue: Sendable, Hashable {
    case flag(Bool)
    case number(Int)
    case milliseconds(ClosedRange<Int>)
    case commands([UInt16: ErrorCode])
    case choice(String)
    case text(String)
    case names([String])
    /// Buffer length in octets, and number of buffers.
    case buffers(length: Int, count: Int)
    /// USB vendor and product identifiers.
    case identity(vendor: UInt16, product: UInt16)
    case octets([UInt8])

    /// Kind of value that a quirk takes.
    public enum Kind: Sendable, Equatable {
        /// On without a value; also `true`, `false`, 1 or 0.
        case flag
        /// Decimal, or hexadecimal with 0x.
        case number(ClosedRange<Int>)
        /// `10`, or the range of a random time: `4-11`.
        case milliseconds(ClosedRange<Int>)
        /// Names or opcodes of commands, separated by `+`; a status may follow each after a slash: `LE_Set_PHY/0x0C`.
        case commands
        case choice([String])
        /// Some of these names, separated by `+`.
        case names([String])
        /// Names of events, separated by `+`.
        case events
        case text
        case buffers
        case identity
        /// Hexadecimal digits.
        case octets

        public var word: String {
            switch self {
            case .flag: ""
            case .number(let range): "\(range.lowerBound)...\(range.upperBound)"
            case .milliseconds: "MS[-MS]"
            case .commands: "COMMAND[/STATUS]"
            case .choice(let words): words.joined(separator: "|")
            case .names(let words): words.joined(separator: "+")
            case .events: "EVENT+EVENT"
            case .text: "TEXT"
            case .buffers: "LENGTHxCOUNT"
            case .identity: "VID:PID"
            case .octets: "HEX"
            }
        }

        public func read(_ text: String) -> QuirkValue? {
            switch self {
            case .flag: return ["true", "1"].contains(text) ? .flag(true) : ["false", "0"].contains(text) ? .flag(false) : nil
            case .number(let range): return QuirkValue.number(text).flatMap { range.contains($0) ? .number($0) : nil }
            case .milliseconds(let range):
                let limits = text.split(separator: "-", omittingEmptySubsequences: false).compactMap { QuirkValue.number(String($0)) }
                guard (1...2).contains(limits.count), limits.count == text.split(separator: "-").count, let first = limits.first,
                    let last = limits.last, first <= last, range.contains(first), range.contains(last)
                else { return nil }
                return .milliseconds(first...last)
            case .commands: return QuirkValue.commands(text)
            case .choice(let words): return words.contains(text) ? .choice(text) : nil
            case .names(let words): return QuirkValue.names(text) { words.contains($0) }
            case .events: return QuirkValue.names(text) { PDUCatalog.declaration(layer: .hciEvents, name: $0) != nil }
            case .text: return text.isEmpty || text.count > 100 ? nil : .text(text)
            case .buffers:
                let parts = text.split(separator: "x").compactMap { Int($0) }
                guard parts.count == 2, 0...0xFFFF ~= parts[0], 0...0xFFFF ~= parts[1] else { return nil }
                return .buffers(length: parts[0], count: parts[1])
            case .identity:
                let parts = text.split(separator: ":").compactMap { UInt16($0, radix: 16) }
                return parts.count == 2 ? .identity(vendor: parts[0], product: parts[1]) : nil
            case .octets:
                return QuirkValue.hexadecimal(text).map { .octets($0) }
            }
        }
    }

    private static func names(_ text: String, _ isKnown: (String) -> Bool) -> QuirkValue? {
        let names = text.split(separator: "+", omittingEmptySubsequences: false).map(String.init)
        return names.allSatisfy(isKnown) ? .names(names) : nil
    }

    private static func number(_ text: String) -> Int? {
        text.hasPrefix("0x") || text.hasPrefix("0X") ? Int(text.dropFirst(2), radix: 16) : Int(text)
    }

    private static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard !digits.isEmpty, digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    private static func commands(_ text: String) -> QuirkValue? {
        var commands: [UInt16: ErrorCode] = [:]
        for part in text.split(separator: "+", omittingEmptySubsequences: false) {
            let words = part.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            guard (1...2).contains(words.count), let opcode = opcode(words[0]) else { return nil }
            guard let status = words.count == 1 ? .some(.unknownHCICommand) : status(words[1]) else { return nil }
            commands[opcode] = status
        }
        return .commands(commands)
    }

    private static func opcode(_ word: String) -> UInt16? {
        if word.hasPrefix("0x") { return UInt16(word.dropFirst(2), radix: 16) }
        return PDUCatalog.declaration(layer: .hciCommands, name: word).flatMap { UInt16(exactly: $0.code) }
    }

    private static func status(_ word: String) -> ErrorCode? {
        switch word {
        case "unknown": .unknownHCICommand
        case "disallowed": .commandDisallowed
        default: number(word).flatMap { 1...255 ~= $0 ? ErrorCode(rawValue: UInt8($0)) : nil }
        }
    }

    // MARK: Values of one kind

    public var isOn: Bool { if case .flag(let isOn) = self { isOn } else { false } }
    public var number: Int { if case .number(let number) = self { number } else { 0 } }
    public var milliseconds: ClosedRange<Int> { if case .milliseconds(let range) = self { range } else { 0...0 } }
    public var commands: [UInt16: ErrorCode] { if case .commands(let commands) = self { commands } else { [:] } }
    public var names: [String] { if case .names(let names) = self { names } else { [] } }
    public var octets: [UInt8] { if case .octets(let octets) = self { octets } else { [] } }
    public var buffers: (length: Int, count: Int) { if case .buffers(let length, let count) = self { (length, count) } else { (0, 0) } }
    public var identity: (vendor: UInt16, product: UInt16)? {
        if case .identity(let vendor, let product) = self { (vendor, product) } else { nil }
    }

    public var word: String {
        switch self {
        case .choice(let word), .text(let word): word
        default: ""
        }
    }
}
