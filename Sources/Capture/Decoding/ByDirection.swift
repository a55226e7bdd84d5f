import BBL2CAP

/// A value for each direction of a link, and one for packets without a direction.
struct ByDirection<Value> {
    private var values: [Value]

    init(_ value: Value) { values = [value, value, value] }

    subscript(direction: LinkDirection) -> Value {
        get { values[Self.index(direction)] }
        _modify { yield &values[Self.index(direction)] }
    }

    private static func index(_ direction: LinkDirection) -> Int {
        switch direction {
        case .forth: 0
        case .back: 1
        case .unknown: 2
        }
    }
}
