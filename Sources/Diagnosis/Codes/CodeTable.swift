import BBPackets
import Yams

/// The meanings of error codes at several stacks.
public struct CodeTable: Decodable, Sendable {
    struct Entry: Decodable, Sendable {
        /// The name at a stack; codes of the Core Specification have theirs in Packets.
        var name: String?
        var cause: String
        /// The id of a rule that finds the cause in a capture.
        var rule: String?
    }

    struct Stack: Decodable, Sendable {
        var stack: String
        var title: String?
        /// Lists of the Core Specification whose codes the stack adds to a number, by that number.
        var adds: [String: String]?
        /// The meaning of lists whose codes the stack uses unchanged.
        var same: [String: String]?
        var codes: [String: Entry]
    }

    var lists: [String: [String: Entry]]
    var stacks: [Stack]

    /// The built-in table.
    ///
    /// - Throws: an error of the YAML parser if the file is invalid, which a test excludes.
    public static func builtIn() throws -> CodeTable {
        try YAMLDecoder().decode(CodeTable.self, from: String(decoding: PackageResources.Codes_yaml, as: UTF8.self))
    }

    /// A number as `34`, `0x22` or `-110`; nil for other text.
    public static func number(_ text: String) -> Int? {
        let (sign, digits) = text.hasPrefix("-") ? (-1, text.dropFirst()) : (1, text[...])
        guard digits.first?.isNumber == true else { return nil }
        let value = digits.lowercased().hasPrefix("0x") ? Int(digits.dropFirst(2), radix: 16) : Int(digits)
        return value.flatMap { $0 < 1 << 32 ? sign * $0 : nil }
    }

    /// The meanings of a code at each stack that has it, with its usual cause; nil if none has.
    public func text(of code: Int) -> String? {
        let found = core(code) + stacks.flatMap { meanings(code, of: $0) }
        guard !found.isEmpty else { return nil }
        let number = code < 0 ? "\(code)" : "\(Hex.number(code, bits: code > 0xFF ? 16 : 8)) = \(code)"
        return number + "\n" + found.map { "\n" + $0 }.joined()
    }

    /// The codes that a table of the file has, for a message.
    public static let stackNames = "the Core Specification, NimBLE, Android, Linux, Core Bluetooth, nRF or Zephyr"

    private func core(_ code: Int) -> [String] {
        CoreList.allCases.compactMap { list in
            guard let name = list.name(of: code) else { return nil }
            return Self.paragraph("\(list.title): \(name) (\(list.section))", entry(list.rawValue, code))
        }
    }

    private func meanings(_ code: Int, of stack: Stack) -> [String] {
        var meanings: [String] = []
        let title = stack.title.map { stack.stack == $0 || $0.hasPrefix(stack.stack) ? $0 : "\(stack.stack), \($0)" } ?? stack.stack
        if let own = stack.codes.first(where: { Self.number($0.key) == code })?.value {
            meanings.append(Self.paragraph("\(title): \(own.name ?? "")", own))
        }
        for (base, list) in (stack.adds ?? [:]).compactMap({ key, list in Self.number(key).map { ($0, list) } }).sorted(by: { $0.0 < $1.0 })
        {
            guard (base + 1..<base + 0x100).contains(code), let core = CoreList(rawValue: list), let name = core.name(of: code - base)
            else {
                continue
            }
            let sum = "\(Hex.number(base, bits: 16)) + \(core.title) \(Hex.number(code - base, bits: 8))"
            meanings.append(Self.paragraph("\(title): \(sum), \(name)", entry(list, code - base)))
        }
        for (list, place) in (stack.same ?? [:]).sorted(by: { $0.key > $1.key }) {
            guard let core = CoreList(rawValue: list), core.name(of: code) != nil else { continue }
            meanings.append("\(title), \(place): the same as \(core.title)\n")
        }
        return meanings
    }

    private func entry(_ list: String, _ code: Int) -> Entry? { lists[list]?.first { Self.number($0.key) == code }?.value }

    private static func paragraph(_ head: String, _ entry: Entry?) -> String {
        var text = head + "\n"
        if let entry { text += "    " + entry.cause + "\n" }
        if let rule = entry?.rule { text += "    `bluebench explain CAPTURE` finds it by the rule \(rule): docs/guide/explain.md\n" }
        return text
    }
}

/// The lists of codes of the Core Specification.
private enum CoreList: String, CaseIterable {
    case hci
    case att
    case smp

    var title: String {
        switch self {
        case .hci: "HCI error"
        case .att: "ATT error"
        case .smp: "Pairing_Failed reason"
        }
    }

    var section: String {
        switch self {
        case .hci: "Core Vol 1, Part F, 1.3"
        case .att: "Core Vol 3, Part F, 3.4.1.1"
        case .smp: "Core Vol 3, Part H, 3.5.5"
        }
    }

    private var field: FieldDeclaration? {
        switch self {
        case .hci: PDUCatalog.declaration(HCIEvents.DisconnectionComplete.id)?.field(named: "Reason")
        case .att: PDUCatalog.declaration(ATT.ErrorRsp.id)?.field(named: "Error_Code")
        case .smp: PDUCatalog.declaration(SMP.PairingFailed.id)?.field(named: "Reason")
        }
    }

    /// The name of a code other than success; nil if it has none.
    func name(of code: Int) -> String? {
        guard (1...0xFF).contains(code), let name = field?.text(.integer(Int128(code))), name.first?.isLetter == true else {
            return self == .att && (0x80...0x9F).contains(code) ? "an error of the application or profile" : nil
        }
        return name
    }
}
