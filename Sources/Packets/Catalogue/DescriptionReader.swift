/// Reads the generated description texts. They come from the generator, so a line that makes no sense is skipped.
struct DescriptionReader {
    private(set) var types: [NamedType] = []
    private var typesByName: [String: NamedType] = [:]
    private(set) var declarations: [PDUDeclaration] = []
    private var head: [Substring] = []
    private var fields: [(depth: Int, columns: [Substring])] = []
    private var returns: [(depth: Int, columns: [Substring])]?

    mutating func read(_ text: String) {
        for line in text.split(separator: "\n") {
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
            switch columns.first {
            case "N": type(columns)
            case "P":
                finish()
                head = columns
            case "R": returns = []
            case "F" where columns.count > 3:
                let entry = (depth: Int(columns[1]) ?? 0, columns: Array(columns[2...]))
                if returns == nil { fields.append(entry) } else { returns?.append(entry) }
            default: break
            }
        }
        finish()
    }

    private mutating func type(_ columns: [Substring]) {
        guard columns.count > 3 else { return }
        let values = columns[4...].compactMap { Self.pair($0) }
        let type = NamedType(name: String(columns[1]), octets: Int(columns[2]) ?? 1, isFlags: columns[3] == "flags", values: values)
        types.append(type)
        typesByName[type.name] = type
    }

    private mutating func finish() {
        defer { (head, fields, returns) = ([], [], nil) }
        guard head.count > 10, let kind = PDUDeclaration.Kind(rawValue: String(head[3])) else { return }
        var index = 0
        let own = group(fields, 0, &index)
        index = 0
        let back = returns.map { group($0, 0, &index) }
        declarations.append(
            PDUDeclaration(
                layer: String(head[1]), name: String(head[2]), kind: kind, code: Int(head[4]) ?? 0, subevent: Int(head[5]),
                section: String(head[6]),
                completion: head[7] == "S" ? .status : .complete, supportedCommandsBit: Self.supported(head[8]),
                maskPosition: Self.maskPosition(head[9]), neededFeatures: head[10].split(separator: " ").map(String.init), fields: own,
                returns: back))
    }

    private static func supported(_ text: Substring) -> SupportedCommandsBit? {
        let parts = text.split(separator: ".").compactMap { Int($0) }
        return parts.count == 2 ? SupportedCommandsBit(octet: parts[0], bit: parts[1]) : nil
    }

    private static func maskPosition(_ text: Substring) -> EventMaskPosition {
        let parts = text.split(separator: ".")
        guard parts.count == 2, let bit = Int(parts[1]) else { return .unmaskable }
        switch parts[0] {
        case "page1": return .page1(bit)
        case "page2": return .page2(bit)
        default: return .le(bit)
        }
    }

    private func group(_ lines: [(depth: Int, columns: [Substring])], _ depth: Int, _ index: inout Int) -> [FieldDeclaration] {
        var result: [FieldDeclaration] = []
        let names = lines[index...].prefix { $0.depth >= depth }.filter { $0.depth == depth }.compactMap(\.columns.first)
        while index < lines.count, lines[index].depth == depth {
            let columns = lines[index].columns
            index += 1
            let inner = group(lines, depth + 1, &index)
            let words = columns[1].split(separator: " ")
            if let shape = Self.shape(words[...], inner) { result.append(field(columns, shape, beside: names)) }
        }
        return result
    }

    private func field(_ columns: [Substring], _ shape: FieldDeclaration.Shape, beside names: [Substring]) -> FieldDeclaration {
        var unit: String?
        var scale: String?
        var range: ClosedRange<Int>?
        var labels: [(value: Int, name: String)] = []
        var condition: (field: String, bit: Int)?
        for note in columns.dropFirst(2) {
            let body = note.dropFirst()
            switch note.first {
            case "u": unit = String(body)
            case "x": scale = String(body)
            case "r":
                guard let dots = body.firstRange(of: "..."), let low = Int(body[..<dots.lowerBound]),
                    let high = Int(body[dots.upperBound...]), low <= high
                else {
                    continue
                }
                range = low...high
            case "=":
                let parts = body.split(separator: " ", maxSplits: 1)
                if parts.count == 2, let value = Int(parts[0]) { labels.append((value, String(parts[1]))) }
            case "?":
                let parts = body.split(separator: ".")
                if parts.count == 2, let bit = Int(parts[1]) { condition = (String(parts[0]), bit) }
            default: break
            }
        }
        return FieldDeclaration(
            name: String(columns[0]), shape: shape, unit: unit, scale: scale, range: range, labels: labels, condition: condition,
            hint: FieldFormat(name: columns[0], of: head.count > 2 ? head[2] : "", beside: names), types: { typesByName[$0] })
    }

    private static func shape(_ words: ArraySlice<Substring>, _ inner: [FieldDeclaration]) -> FieldDeclaration.Shape? {
        guard let kind = words.first else { return nil }
        let rest = Array(words.dropFirst())
        func word(_ index: Int) -> String { index < rest.count ? String(rest[index]) : "" }
        func number(_ index: Int) -> Int { Int(word(index)) ?? 0 }
        func type(_ index: Int) -> String? { word(index) == "-" || word(index).isEmpty ? nil : word(index) }
        switch kind {
        case "u", "i": return .integer(octets: number(0), signed: kind == "i", bigEndian: word(1) == "b", type: type(2))
        case "bytes": return .bytes(size(word(0)))
        case "uuid": return .uuid(size(word(0)))
        case "bits": return .bits(octets: number(0), members: inner)
        case "bit": return .bit(width: number(0), type: type(1))
        case "reserved": return .reserved(octets: number(0))
        case "array": return shape(words.dropFirst(3), []).map { .array(count(word(0), word(1)), $0) }
        case "rows": return .rows(count(word(0), word(1)), inner)
        case "nested": return .nested(word(0))
        case "block": return .block(length: word(0), inner)
        default: return nil
        }
    }

    private static func size(_ word: String) -> FieldDeclaration.Size {
        if word == "*" { return .rest }
        if let number = Int(word) { return number < 0 ? .restLeaving(-number) : .fixed(number) }
        return .field(word)
    }

    private static func count(_ kind: String, _ argument: String) -> FieldDeclaration.Count {
        switch kind {
        case "n": return .fixed(Int(argument) ?? 0)
        case "of": return .field(argument)
        case "bits": return .popcount(argument)
        case "by":
            let parts = argument.split(separator: ",")
            let table = parts.dropFirst().compactMap { part -> (key: Int, octets: Int)? in
                pair(part).flatMap { entry in Int(entry.name).map { (entry.value, $0) } }
            }
            return .restSized(String(parts.first ?? ""), table: table)
        default: return .rest
        }
    }

    private static func pair(_ text: Substring) -> (value: Int, name: String)? {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let value = Int(parts[0]) else { return nil }
        return (value, String(parts[1]))
    }
}
