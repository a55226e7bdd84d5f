import BBPackets

/// A new value for one field of a PDU, named by its path: `Status`, or `Handles.Num_Completed_Packets` (in every row). Return parameters of
/// Command Complete are named without a prefix.
public struct FieldChange: Sendable, Hashable {
    public enum Source: Sendable, Hashable {
        case value(FieldValue)
        /// Adds this number to the original value.
        case more(Int)
        /// Copies another field of the same PDU.
        case field(String)
    }

    public var path: [String]
    public var source: Source

    public init(_ path: String, _ source: Source) {
        self.path = path.split(separator: ".").map(String.init)
        self.source = source
    }
}

extension DynamicPDU {
    /// Applies the changes. A missing field is added if it can have a value of its own.
    public mutating func apply(_ changes: [FieldChange]) {
        let before = fields
        for change in changes {
            guard let first = change.path.first else { continue }
            let isReturn = !fields.contains { $0.name == first } && declaration?.field(named: first) == nil
            if isReturn, let index = fields.firstIndex(where: { $0.name == "Return_Parameters" }),
                case .structure(var returns) = fields[index].value, case .structure(let old) = before[index].value
            {
                change.apply(change.path[...], to: &returns, before: old)
                fields[index].value = .structure(returns)
            } else {
                change.apply(change.path[...], to: &fields, before: before)
            }
        }
    }
}

extension FieldChange {
    fileprivate func apply(_ path: ArraySlice<String>, to fields: inout [DynamicField], before: [DynamicField]) {
        guard let name = path.first else { return }
        let old = before.first { $0.name == name }?.value
        guard let index = fields.firstIndex(where: { $0.name == name }) else {
            if path.count == 1, let value = value(old, before) { fields.append(DynamicField(name, value)) }
            return
        }
        guard path.count > 1 else {
            if let value = value(old, before) { fields[index].value = value }
            return
        }
        fields[index].value = changed(path.dropFirst(), fields[index].value, before: old)
    }

    private func changed(_ path: ArraySlice<String>, _ value: FieldValue, before: FieldValue?) -> FieldValue {
        switch value {
        case .structure(var inner):
            apply(path, to: &inner, before: before?.structure ?? inner)
            return .structure(inner)
        case .list(let rows):
            let old = before?.list ?? rows
            return .list(rows.enumerated().map { changed(path, $1, before: old.indices.contains($0) ? old[$0] : nil) })
        case .integer, .octets: return value
        }
    }

    private func value(_ old: FieldValue?, _ beside: [DynamicField]) -> FieldValue? {
        switch source {
        case .value(let value): value
        case .more(let more): old?.integer.map { .integer($0 + Int128(more)) }
        case .field(let name): beside.first { $0.name == name }?.value
        }
    }
}
