import BBPackets

extension Predicate {
    /// Returns the mismatch; nil if the value satisfies the predicate.
    package func mismatch(_ value: CaseValue, _ variables: Variables) throws(BadReference) -> Mismatch? {
        switch self {
        case .any: return nil
        case .equals(let operand):
            let wanted = try variables.resolve(operand)
            try Self.checkComparable(operand, value)
            return value.isSame(as: wanted) ? nil : Mismatch(self, value, variables)
        case .not(let inner):
            return try inner.mismatch(value, variables) != nil
                ? nil : Mismatch(self, value, variables)
        case .anyOf(let choices):
            for choice in choices where try choice.mismatch(value, variables) == nil { return nil }
            return Mismatch(self, value, variables)
        case .allOf(let all):
            for inner in all { if let mismatch = try inner.mismatch(value, variables) { return mismatch } }
            return nil
        case .anyElement(let inner): return try someMismatch(inner, value, variables)
        case .everyElement(let inner): return try eachMismatch(inner, value, variables)
        case .parts(let parts): return try partsMismatch(parts, value, variables)
        case .integer(let at, let octets, let isSigned, let inner):
            return try integerMismatch(
                inner, Self.integer(in: value.asOctets ?? [], at, octets, isSigned), at, octets, isSigned, value, variables)
        case .range, .masked, .bits, .length, .starts, .ends, .contains:
            return try satisfiesScalar(value, variables) ? nil : Mismatch(self, value, variables)
        }
    }

    /// A name stands for a number only where the field is known. Elsewhere a comparison of both would never, or always, be satisfied.
    private static func checkComparable(_ operand: Operand, _ value: CaseValue) throws(BadReference) {
        guard case .number(let number) = value, case .literal(.text(let name)) = operand else { return }
        let isName = name.utf8.first.map { UInt8(ascii: "A")...UInt8(ascii: "z") ~= $0 } ?? false
        guard isName, Hexadecimal.octets(name) == nil, CaseValue.text(name).asAddress == nil, BluetoothUUID(name) == nil else { return }
        throw BadReference(text: "\(name) is a name, and the value is a number, \(number), of no known field: write the number")
    }

    private func satisfiesScalar(_ value: CaseValue, _ variables: Variables) throws(BadReference) -> Bool {
        switch self {
        case .range(let low, let high):
            guard case .number(let number) = value else { return false }
            if let low, case .number(let limit) = try variables.resolve(low), number < limit { return false }
            if let high, case .number(let limit) = try variables.resolve(high), number > limit { return false }
            return true
        case .masked(let mask, let inner):
            guard let number = value.asNumber else { return false }
            return try inner.mismatch(.number(number & mask), variables) == nil
        case .bits(let operand):
            guard let number = value.asNumber, let allowed = try variables.resolve(operand).asNumber else { return false }
            return number & ~allowed == 0
        case .length(let inner):
            guard let count = value.count else { return false }
            return try inner.mismatch(.number(count), variables) == nil
        case .starts(let operand): return value.parts(like: try variables.resolve(operand)) { $0.starts(with: $1) }
        case .ends(let operand): return value.parts(like: try variables.resolve(operand)) { $0.reversed().starts(with: $1.reversed()) }
        case .contains(let operand): return value.parts(like: try variables.resolve(operand)) { Self.find($1, in: $0) }
        default: return false
        }
    }

    private func integerMismatch(
        _ inner: Predicate, _ number: Int?, _ at: Int, _ octets: Int, _ isSigned: Bool, _ value: CaseValue, _ variables: Variables
    ) throws(BadReference) -> Mismatch? {
        guard let number else { return Mismatch(self, value, variables) }
        return try inner.mismatch(.number(number), variables)?.inside(Self.name(octets, isSigned) + (at > 0 ? " at \(at)" : ""))
    }

    static func name(_ octets: Int, _ isSigned: Bool) -> String { (isSigned ? "int" : "uint") + "\(octets * 8)" }

    /// Returns the integer at an offset; nil if there are too few octets.
    private static func integer(in all: [UInt8], _ at: Int, _ count: Int, _ isSigned: Bool) -> Int? {
        guard at >= 0, at <= all.count, count <= all.count - at else { return nil }
        let number = all[at..<at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        let isNegative = isSigned && number >> (8 * count - 1) == 1
        return isNegative ? number - (1 << (8 * count)) : number
    }

    private static func find(_ wanted: [UInt8], in octets: [UInt8]) -> Bool {
        guard wanted.count <= octets.count else { return false }
        return (0...(octets.count - wanted.count)).contains { octets[$0...].starts(with: wanted) }
    }

    private func someMismatch(_ inner: Predicate, _ value: CaseValue, _ variables: Variables) throws(BadReference) -> Mismatch? {
        guard case .list(let list) = value else { return Mismatch("a list", value) }
        var last: Mismatch?
        for (index, element) in list.enumerated() {
            guard let mismatch = try inner.mismatch(element, variables) else { return nil }
            last = mismatch.inside("\(index)")
        }
        return list.count == 1 ? last : Mismatch(self, value, variables)
    }

    private func eachMismatch(_ inner: Predicate, _ value: CaseValue, _ variables: Variables) throws(BadReference) -> Mismatch? {
        guard case .list(let list) = value else { return Mismatch("a list", value) }
        for (index, element) in list.enumerated() {
            if let mismatch = try inner.mismatch(element, variables) { return mismatch.inside("\(index)") }
        }
        return nil
    }

    private func partsMismatch(_ parts: [FieldPredicate], _ value: CaseValue, _ variables: Variables) throws(BadReference) -> Mismatch? {
        guard case .record(let record) = value else { return Mismatch("named fields", value) }
        for part in parts {
            guard let field = record[part.name] else {
                return Mismatch(path: part.name, expected: part.predicate, actual: "no such field", variables)
            }
            if let mismatch = try part.predicate.mismatch(field, variables) { return mismatch.inside(part.name) }
        }
        return nil
    }
}

extension CaseValue {
    package var asNumber: Int? {
        switch self {
        case .number(let number): number
        case .octets(let octets) where octets.count <= 8: octets.reversed().reduce(0) { $0 << 8 | Int($1) }
        case .octets, .text, .list, .record: nil
        }
    }

    package var count: Int? {
        switch self {
        case .octets(let octets): octets.count
        case .text(let text): text.utf8.count
        case .list(let list): list.count
        case .number, .record: nil
        }
    }

    /// True if the values are equal in any notation: octets may be a list of numbers or hexadecimal text.
    func isSame(as other: CaseValue) -> Bool {
        switch (self, other) {
        case (.number(let a), .number(let b)): a == b
        case (.list(let a), .list(let b)): a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
        case (.record(let a), .record(let b)): a == b
        case (.text(let a), .text(let b)):
            a == b || (Hexadecimal.octets(a).map { $0 == Hexadecimal.octets(b) } ?? false) || Self.isUUID(a, b)
        case (.number(let number), .text), (.text, .number(let number)):
            (self.asAddress ?? other.asAddress).map { $0 == UInt64(bitPattern: Int64(number)) } ?? isUUID(number, other)
        case (.record, _), (_, .record): false
        case (.number(let number), .octets), (.octets, .number(let number)):
            (self.asNumber ?? number) == (other.asNumber ?? ~number)
        default: asOctets.map { $0 == other.asOctets } ?? false
        }
    }

    /// True if texts are two forms of a UUID, one of which is written with its hyphens.
    private static func isUUID(_ a: String, _ b: String) -> Bool {
        guard a.contains("-") || b.contains("-"), let uuid = BluetoothUUID(a) else { return false }
        return uuid == BluetoothUUID(b)
    }

    /// True if a number is the 16-bit form of the other value's UUID.
    private func isUUID(_ number: Int, _ other: CaseValue) -> Bool {
        guard let short = UInt16(exactly: number) else { return false }
        for case .text(let text) in [self, other] { return BluetoothUUID(text) == BluetoothUUID(short) }
        return false
    }

    /// The octets of octets, a list of numbers below 256, hexadecimal text, or other text as UTF-8.
    package var asOctets: [UInt8]? {
        switch self {
        case .octets(let octets): octets
        case .list(let list):
            list.reduce(into: Optional([UInt8]())) { octets, element in
                guard case .number(let number) = element, let octet = UInt8(exactly: number) else {
                    octets = nil
                    return
                }
                octets?.append(octet)
            }
        case .text(let text): Hexadecimal.octets(text) ?? Array(text.utf8)
        case .number, .record: nil
        }
    }

    func parts(like other: CaseValue, _ test: ([UInt8], [UInt8]) -> Bool) -> Bool {
        if case .text(let a) = self, case .text(let b) = other { return test(Array(a.utf8), Array(b.utf8)) }
        guard let mine = asOctets, let wanted = other.asOctets else { return false }
        return test(mine, wanted)
    }
}
