import BBPackets

/// A value that does not satisfy a predicate.
package struct Mismatch {
    /// The path from the examined record to the value.
    package private(set) var path: String
    private let expected: Side
    private let actual: Side

    private enum Side {
        case words(String)
        case predicate(Predicate, Variables)
        case value(CaseValue)

        func text(_ names: ValueNames) -> String {
            switch self {
            case .words(let words): words
            case .predicate(let predicate, let variables): predicate.text(variables, names)
            case .value(let value): names.text(value)
            }
        }
    }

    package init(_ expected: Predicate, _ actual: CaseValue, _ variables: Variables) {
        (path, self.expected, self.actual) = ("", .predicate(expected, variables), .value(actual))
    }

    package init(_ expected: String, _ actual: CaseValue) { (path, self.expected, self.actual) = ("", .words(expected), .value(actual)) }

    /// A missing value.
    package init(path: String, expected: Predicate, actual: String, _ variables: Variables) {
        (self.path, self.expected, self.actual) = (path, .predicate(expected, variables), .words(actual))
    }

    package init(expected: String, actual: String) { (path, self.expected, self.actual) = ("", .words(expected), .words(actual)) }

    package func inside(_ part: String) -> Mismatch {
        var outer = self
        outer.path = path.isEmpty ? part : part + "." + path
        return outer
    }

    /// This mismatch with the names and units of the PDU.
    ///
    /// - Parameters:
    ///   - names: the declarations of the examined record.
    ///   - got: the value in the decoder's format.
    package func worded(_ names: ValueNames = .none, got: String? = nil) -> WordedMismatch {
        let own = names.at(path.split(separator: "."))
        let found = got ?? actual.text(own)
        guard got == nil, let (wanted, octets) = octets else {
            return WordedMismatch(path: path, expected: expected.text(own), actual: found)
        }
        let text = CaseValue.octets(wanted).description
        return WordedMismatch(path: path, expected: text, actual: text == found ? found + Self.difference(wanted, octets) : found)
    }

    /// The octets that are expected, in whatever notation, and those of the value.
    private var octets: (wanted: [UInt8], actual: [UInt8])? {
        guard case .predicate(.equals(let operand), let variables) = expected, case .value(.octets(let actual)) = actual else { return nil }
        switch try? variables.resolve(operand) {
        case .octets(let wanted): return (wanted, actual)
        case .text(let text): return Hexadecimal.octets(text).map { ($0, actual) }
        case .list(let list): return CaseValue.list(list).asOctets.map { ($0, actual) }
        default: return nil
        }
    }

    /// The first difference between long octets that begin alike.
    private static func difference(_ wanted: [UInt8], _ actual: [UInt8]) -> String {
        let place = zip(wanted, actual).prefix { $0 == $1 }.count
        return place < actual.count ? ", with \(Hexadecimal.text([actual[place]])) at \(place)" : ", without octet \(place)"
    }

    package var text: String { worded().text }

    /// The record has no such field.
    package var isMissing: Bool { if case .words = actual { path.isEmpty == false } else { false } }

    /// The first fault in a list or text of faults that should be empty.
    package var fault: String? {
        guard case .predicate(.length(.equals(.literal(.number(0)))), _) = expected, case .value(let value) = actual else { return nil }
        switch value {
        case .text(let text) where !text.isEmpty: return text
        case .list(let list): return list.first?.description
        default: return nil
        }
    }
}

/// The mismatch as text.
package struct WordedMismatch: Equatable {
    package var path: String
    package var expected: String
    package var actual: String

    package var text: String { path.isEmpty ? "expected \(expected), got \(actual)" : "\(path): expected \(expected), got \(actual)" }
}
