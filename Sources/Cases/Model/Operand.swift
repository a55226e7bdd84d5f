/// A value in a case file: a literal, or a parameter or saved result that is evaluated when the step runs.
public indirect enum Operand: Sendable, Hashable {
    case literal(CaseValue)
    /// `$name.Field.0`: a saved value and the path inside it.
    case reference(Reference)
    case list([Operand])
    case record([Entry])
    /// `{octet: 0xAA, times: 31}`: a repeated octet.
    case filled(octet: UInt8, times: Operand)
    /// `{part: $value, from: 21, length: 22}`: octets of a value, as far as it has them; without a length, all from there on.
    case part(of: Operand, from: Int, length: Int?)
    /// `{address: $tester.address}`: the six octets of a device address, least significant first.
    case address(Operand)
    /// `{join: ["02", {address: $tester.address}, "02"]}`: octets one after the other.
    case joined([Operand])

    public struct Entry: Sendable, Hashable {
        public var name: String
        public var value: Operand
        public var position: Position
    }
}

/// The name of a saved value and the path inside it.
public struct Reference: Sendable, Hashable, CustomStringConvertible {
    public var name: String
    public var path: [String]
    public var position: Position

    public var description: String { "$" + ([name] + path).joined(separator: ".") }
}

/// The values saved by previous steps.
public struct Variables: Sendable {
    private var values: [String: CaseValue] = [:]

    public init() {}

    public subscript(name: String) -> CaseValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    public func resolve(_ operand: Operand) throws(BadReference) -> CaseValue {
        switch operand {
        case .literal(let value): return value
        case .reference(let reference): return try resolve(reference)
        case .list(let list):
            var resolved: [CaseValue] = []
            for element in list { resolved.append(try resolve(element)) }
            return .list(resolved)
        case .record(let entries):
            var record = CaseRecord()
            for entry in entries { record[entry.name] = try resolve(entry.value) }
            return .record(record)
        case .filled(let octet, let times):
            guard case .number(let count) = try resolve(times), count >= 0, count <= 65_535 else {
                throw BadReference(text: "a fill needs a count of 0...65535")
            }
            return .octets([UInt8](repeating: octet, count: count))
        case .part(let whole, let start, let length):
            let value = try resolve(whole)
            guard let octets = value.asOctets else { throw BadReference(text: "a part needs octets, not \(value)") }
            let rest = octets.dropFirst(start)
            return .octets(Array(length.map { rest.prefix($0) } ?? rest))
        case .address(let operand):
            let value = try resolve(operand)
            guard let address = value.asDeviceAddress else { throw BadReference(text: "an address is needed, not \(value)") }
            return .octets((0..<6).map { UInt8(truncatingIfNeeded: address >> (8 * $0)) })
        case .joined(let parts):
            var octets: [UInt8] = []
            for part in parts {
                let value = try resolve(part)
                guard let more = value.asOctets else { throw BadReference(text: "octets are joined, not \(value)") }
                octets += more
            }
            return .octets(octets)
        }
    }

    private func resolve(_ reference: Reference) throws(BadReference) -> CaseValue {
        guard var value = values[reference.name] else { throw BadReference(text: "nothing was saved as \(reference.name)") }
        for part in reference.path {
            switch value {
            case .record(let record):
                guard let inner = record[part] else {
                    throw BadReference(text: "\(reference): there is no \(part) in \(record.names.joined(separator: ", "))")
                }
                value = inner
            case .list(let list):
                guard let index = Int(part), list.indices.contains(index) else {
                    throw BadReference(text: "\(reference): there is no element \(part) in a list of \(list.count)")
                }
                value = list[index]
            case .number, .text, .octets: throw BadReference(text: "\(reference): \(value) has no parts")
            }
        }
        return value
    }
}

/// A reference that cannot be resolved when its step runs.
public struct BadReference: Error, Sendable {
    public var text: String
}

extension Operand {
    /// The operand in the syntax of case files.
    package var text: String {
        switch self {
        case .literal(let value): value.description
        case .reference(let reference): reference.description
        case .list(let list): "[" + list.map(\.text).joined(separator: ", ") + "]"
        case .record(let entries): "{" + entries.map { "\($0.name): \($0.value.text)" }.joined(separator: ", ") + "}"
        case .filled(let octet, let times): "\(times.text) octets of \(octet)"
        case .part(let whole, let start, let length):
            "the octets of \(whole.text) from \(start)" + (length.map { ", \($0) of them" } ?? "")
        case .address(let address): "the octets of \(address.text)"
        case .joined(let parts): parts.map(\.text).joined(separator: ", then ")
        }
    }
}
