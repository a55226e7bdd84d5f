import BBCases
import BBMisbehaviour
import BBPackets

/// A defect of a controller that follows from a declaration: one change of one packet or field.
public struct GeneratedMutant: Sendable {
    public enum Change: String, Sendable, CaseIterable, Codable {
        /// The value of the field plus one, zero, with all bits set, or that of another field of the packet.
        case oneMore = "one-more"
        case zero
        case maximum
        case neighbour
        /// The reserved bits of the packet set.
        case reserved
        /// The packet not sent, sent twice, sent later, or after the next of its kind.
        case missing
        case twice
        case late
        case swapped

        static let ofPackets: [Change] = [.missing, .twice, .late, .swapped]
        public static var names: [String] { allCases.map(\.rawValue) }
    }

    /// The packet: an event or control PDU by name, or `answer NAME`.
    public var packet: String
    /// The path of the field; nil for a change of the packet.
    public var field: String?
    public var change: Change
    /// The layer for totals.
    public var layer: String
    var fault: Fault

    public var id: String { packet + (field.map { ".\($0)" } ?? "") + " " + change.rawValue }

    /// The time by which a late packet is late, in units of 30 ms.
    private static let lateness = 4

    /// All mutants in the order of the declarations.
    public static let all: [GeneratedMutant] = DeclaredPacket.all.flatMap { packet in
        packet.fields.flatMap { mutants(of: $0, in: packet) }
            + Change.ofPackets.map { GeneratedMutant(packet, nil, $0, conduct(of: $0)) }
    }

    private init(_ packet: DeclaredPacket, _ field: String?, _ change: Change, _ effect: Fault.Change) {
        (self.packet, self.field, self.change) = (packet.name, field, change)
        layer = packet.isAnswer ? "answers" : packet.layer.rawValue
        fault = Fault()
        fault.rewrites = [
            Fault.Rewrite(
                target: packet.isAnswer ? .answer : .sent, pdu: packet.pdu, fields: [], change: effect, occurrences: Occurrences(),
                position: Position(file: "generated", line: 1, column: 1))
        ]
    }

    private static func conduct(of change: Change) -> Fault.Change {
        switch change {
        case .twice: .duplicate
        case .late: .delay(events: lateness)
        case .swapped: .swap
        case .oneMore, .zero, .maximum, .neighbour, .reserved, .missing: .drop
        }
    }

    private static func mutants(of field: DeclaredPacket.Field, in packet: DeclaredPacket) -> [GeneratedMutant] {
        func mutant(_ change: Change, _ source: Fault.Edit.Source) -> GeneratedMutant {
            GeneratedMutant(packet, field.path, change, .fields([Fault.Edit(path: field.path, source: source)]))
        }
        let extremes = extremes(of: field.declaration.shape)
        guard !field.isReserved else { return extremes.map { [mutant(.reserved, .value(.literal($0.maximum)))] } ?? [] }
        var mutants: [GeneratedMutant] = []
        if isNumber(field.declaration.shape) { mutants.append(mutant(.oneMore, .more(1))) }
        if let extremes {
            mutants += [mutant(.zero, .value(.literal(extremes.zero))), mutant(.maximum, .value(.literal(extremes.maximum)))]
        }
        if let other = neighbour(of: field, in: packet) { mutants.append(mutant(.neighbour, .field(other))) }
        return mutants
    }

    private static func isNumber(_ shape: FieldDeclaration.Shape) -> Bool {
        switch shape {
        case .integer, .bit: true
        case .bytes, .uuid, .bits, .reserved, .array, .rows, .nested, .block: false
        }
    }

    /// The values with no bit and with all bits set; nil for lists and octets of variable length.
    private static func extremes(of shape: FieldDeclaration.Shape) -> (zero: CaseValue, maximum: CaseValue)? {
        func octets(_ count: Int) -> (CaseValue, CaseValue) {
            (.octets([UInt8](repeating: 0, count: count)), .octets([UInt8](repeating: 0xFF, count: count)))
        }
        switch shape {
        case .integer(let count, let isSigned, _, _) where count < 8:
            return (.number(0), .number((1 << (8 * count - (isSigned ? 1 : 0))) - 1))
        case .integer(8, false, _, _): return octets(8)
        case .bit(let width, _) where width < 63: return (.number(0), .number((1 << width) - 1))
        case .bytes(.fixed(let count)), .reserved(let count): return octets(count)
        case .integer, .bit, .bytes, .uuid, .bits, .array, .rows, .nested, .block: return nil
        }
    }

    /// The next field beside a number, or the one before it, that is a number, too.
    private static func neighbour(of field: DeclaredPacket.Field, in packet: DeclaredPacket) -> String? {
        guard isNumber(field.declaration.shape) else { return nil }
        func parent(_ path: String) -> Substring { path.lastIndex(of: ".").map { path[..<$0] } ?? "" }
        let beside = packet.fields.filter { parent($0.path) == parent(field.path) && isNumber($0.declaration.shape) && !$0.isReserved }
        guard beside.count > 1, let index = beside.firstIndex(where: { $0.path == field.path }) else { return nil }
        return beside[index + 1 < beside.count ? index + 1 : index - 1].declaration.name
    }
}
