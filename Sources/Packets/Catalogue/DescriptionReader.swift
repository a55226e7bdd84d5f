/// Reads the generated description texts. Because they are generated, invalid lines are skipped.
struct DescriptionReader {
    private(set) var types: [NamedType] = []
    private var typesByName: [String: NamedType] = [:]
    private(set) var declarations: [PDUDeclaration] = []
    private var head: [Column] = []
    private var fields: [FieldLine] = []
    private var returns: [FieldLine]?

    private struct FieldLine {
        var depth: Int
        var name: String
        var shape: [Column]
        var notes: ArraySlice<Column>
    }

    mutating func read(_ text: StaticString) {
        let octets = text.withUTF8Buffer { Array($0) }
        for line in octets[...].parts(UInt8(ascii: "\n")) {
            let columns = line.parts(UInt8(ascii: "\t"), keepingEmpty: true)
            switch line.first {
            case UInt8(ascii: "N"): type(columns)
            case UInt8(ascii: "P"):
                finish()
                head = columns
            case UInt8(ascii: "R"): returns = []
            case UInt8(ascii: "F") where columns.count > 3:
                let entry = FieldLine(
                    depth: columns[1].number ?? 0, name: columns[2].text, shape: columns[3].parts(UInt8(ascii: " ")), notes: columns[4...])
                if returns == nil { fields.append(entry) } else { returns?.append(entry) }
            default: break
            }
        }
        finish()
    }

    private mutating func type(_ columns: [Column]) {
        guard columns.count > 3 else { return }
        let values = columns[4...].compactMap { $0.pair(UInt8(ascii: "=")) }
        let type = NamedType(
            name: columns[1].text, octets: columns[2].number ?? 1, isFlags: columns[3].first == UInt8(ascii: "f"), values: values)
        types.append(type)
        typesByName[type.name] = type
    }

    private mutating func finish() {
        defer { (head, fields, returns) = ([], [], nil) }
        guard head.count > 10, let layer = Layer(rawValue: head[1].text) else { return }
        let name = head[2].text
        var index = 0
        let own = group(fields, 0, &index)
        index = 0
        let back = returns.map { group($0, 0, &index) }
        declarations.append(
            PDUDeclaration(
                layer: layer, name: name, code: head[3].number ?? 0, subevent: head[4].number, section: head[5].text,
                completion: head[6].first == UInt8(ascii: "S") ? .status : .complete, supportedCommandsBit: Self.supported(head[7]),
                maskPosition: Self.maskPosition(head[8]), neededFeatures: head[9].parts(UInt8(ascii: " ")).map(\.text), fields: own,
                returns: back, hasStruct: !head[10].isEmpty))
    }

    private static func supported(_ column: Column) -> SupportedCommandsBit? {
        let parts = column.parts(UInt8(ascii: "."))
        guard parts.count == 2, let octet = parts[0].number, let bit = parts[1].number else { return nil }
        return SupportedCommandsBit(octet: octet, bit: bit)
    }

    private static func maskPosition(_ column: Column) -> EventMaskPosition {
        let parts = column.parts(UInt8(ascii: "."))
        guard parts.count == 2, let bit = parts[1].number else { return .unmaskable }
        switch parts[0].text {
        case "page1": return .page1(bit)
        case "page2": return .page2(bit)
        default: return .le(bit)
        }
    }

    private func group(_ lines: [FieldLine], _ depth: Int, _ index: inout Int) -> [FieldDeclaration] {
        var result: [FieldDeclaration] = []
        while index < lines.count, lines[index].depth == depth {
            let line = lines[index]
            index += 1
            let inner = group(lines, depth + 1, &index)
            guard let shape = Self.shape(line.shape[...], inner) else { continue }
            result.append(field(line, shape))
        }
        return result
    }

    private func field(_ line: FieldLine, _ shape: FieldDeclaration.Shape) -> FieldDeclaration {
        var unit: String?
        var scale: String?
        var range: ClosedRange<Int>?
        var labels: [(value: Int, name: String)] = []
        var condition: (field: String, bit: Int)?
        var hint: FieldFormat?
        for note in line.notes {
            let body = note.dropFirst()
            switch note.first {
            case UInt8(ascii: "u"): unit = body.text
            case UInt8(ascii: "x"): scale = body.text
            case UInt8(ascii: "r"):
                let ends = body.parts(UInt8(ascii: ".")).compactMap(\.number)
                if ends.count == 2, ends[0] <= ends[1] { range = ends[0]...ends[1] }
            case UInt8(ascii: "="): if let label = body.pair(UInt8(ascii: " ")) { labels.append(label) }
            case UInt8(ascii: "f"): hint = FieldFormat(declared: body.text, shape)
            case UInt8(ascii: "k"): hint = .typedAddress(kind: body.text)
            case UInt8(ascii: "?"):
                let parts = body.parts(UInt8(ascii: "."))
                if parts.count == 2, let bit = parts[1].number { condition = (parts[0].text, bit) }
            default: break
            }
        }
        return FieldDeclaration(
            name: line.name, shape: shape, unit: unit, scale: scale, range: range, labels: labels, condition: condition, hint: hint,
            types: { typesByName[$0] })
    }

    private static func shape(_ words: ArraySlice<Column>, _ inner: [FieldDeclaration]) -> FieldDeclaration.Shape? {
        guard let kind = words.first?.text else { return nil }
        let rest = words.dropFirst()
        func word(_ index: Int) -> Column { index < rest.count ? rest[rest.startIndex + index] : [] }
        func number(_ index: Int) -> Int { word(index).number ?? 0 }
        func type(_ index: Int) -> String? { word(index).first == UInt8(ascii: "-") || word(index).isEmpty ? nil : word(index).text }
        switch kind {
        case "u", "i":
            return .integer(octets: number(0), signed: kind == "i", bigEndian: word(1).first == UInt8(ascii: "b"), type: type(2))
        case "bytes": return .bytes(size(word(0)))
        case "uuid": return .uuid(size(word(0)))
        case "bits": return .bits(octets: number(0), members: inner)
        case "bit": return .bit(width: number(0), type: type(1))
        case "reserved": return .reserved(octets: number(0))
        case "array": return shape(words.dropFirst(3), []).map { .array(count(word(0), word(1)), $0) }
        case "rows": return .rows(count(word(0), word(1)), inner)
        case "nested": return .nested(word(0).text)
        case "block": return .block(length: word(0).text, inner)
        default: return nil
        }
    }

    private static func size(_ word: Column) -> FieldDeclaration.Size {
        if word.first == UInt8(ascii: "*") { return .rest }
        if word.first == UInt8(ascii: "+") { return .element }
        if let number = word.number { return number < 0 ? .restLeaving(-number) : .fixed(number) }
        return .field(word.text)
    }

    private static func count(_ kind: Column, _ argument: Column) -> FieldDeclaration.Count {
        switch kind.text {
        case "n": return .fixed(argument.number ?? 0)
        case "of": return .field(argument.text)
        case "bits": return .popcount(argument.text)
        case "by":
            let parts = argument.parts(UInt8(ascii: ","))
            let table = parts.dropFirst().compactMap { part -> (key: Int, octets: Int)? in
                let numbers = part.parts(UInt8(ascii: "=")).compactMap(\.number)
                return numbers.count == 2 ? (numbers[0], numbers[1]) : nil
            }
            return .restSized(parts.first?.text ?? "", table: table)
        default: return .rest
        }
    }
}

/// A part of a description's text, as octets, because characters would be too slow for short commands.
private typealias Column = ArraySlice<UInt8>

extension Column {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }

    fileprivate var number: Int? {
        var value = 0
        let isNegative = first == UInt8(ascii: "-")
        for octet in isNegative ? dropFirst() : self {
            guard octet >= UInt8(ascii: "0"), octet <= UInt8(ascii: "9") else { return nil }
            value = value &* 10 &+ Int(octet - UInt8(ascii: "0"))
        }
        return count > (isNegative ? 1 : 0) ? (isNegative ? -value : value) : nil
    }

    fileprivate func parts(_ separator: UInt8, keepingEmpty: Bool = false) -> [Column] {
        var parts: [Column] = []
        parts.reserveCapacity(1 + count { $0 == separator })
        var start = startIndex
        for index in indices where self[index] == separator {
            if keepingEmpty || index > start { parts.append(self[start..<index]) }
            start = index + 1
        }
        if keepingEmpty || start < endIndex { parts.append(self[start...]) }
        return parts
    }

    /// Parses a number, the separator, and a name.
    fileprivate func pair(_ separator: UInt8) -> (value: Int, name: String)? {
        guard let middle = firstIndex(of: separator), let value = self[..<middle].number, middle + 1 < endIndex else { return nil }
        return (value, self[(middle + 1)...].text)
    }
}
