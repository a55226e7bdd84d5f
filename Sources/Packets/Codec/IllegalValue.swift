/// A field value that the declaration does not allow. A controller answers it with Invalid HCI Command Parameters.
public struct IllegalValue: Error, Sendable, Hashable {
    public var field: String
    public var value: Int
    /// The legal values.
    public var allowed: [ClosedRange<Int>]

    public init(field: String, value: Int, allowed: [ClosedRange<Int>]) {
        self.field = field
        self.value = value
        self.allowed = allowed
    }

    @inline(never)
    static func check(_ value: Int, _ field: StaticString, _ allowed: ClosedRange<Int>) throws(IllegalValue) {
        if !allowed.contains(value) { throw IllegalValue(field: field.description, value: value, allowed: [allowed]) }
    }

    @inline(never)
    static func check(_ value: Int, _ field: StaticString, _ allowed: [ClosedRange<Int>]) throws(IllegalValue) {
        for range in allowed where range.contains(value) { return }
        throw IllegalValue(field: field.description, value: value, allowed: allowed)
    }
}

extension IllegalValue: CustomStringConvertible {
    public var description: String {
        var ranges = ""
        for range in allowed {
            ranges += (ranges.isEmpty ? "" : ", ") + "\(range.lowerBound)"
            if range.upperBound > range.lowerBound { ranges += "...\(range.upperBound)" }
        }
        return "\(field) is \(value), not \(ranges)"
    }
}

extension ClosedRange where Bound: FixedWidthInteger {
    /// The legal values of a field as integers of any size: `HCICommands.LESetDataLength.txOctetsRange.integers`.
    public var integers: ClosedRange<Int> { Int(clamping: lowerBound)...Int(clamping: upperBound) }
}
