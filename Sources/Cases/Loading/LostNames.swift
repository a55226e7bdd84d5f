import Yams

/// The names that steps save or mark which could not be read. A mistake in such a step is reported once, and not again where its name is used.
struct LostNames {
    private(set) var names: Set<String> = []
    /// True if every step was read.
    let isEmpty: Bool

    private static let keys: Set<String> = ["saveAs", "name", "mark", "counter", "called"]

    init(_ steps: [Node]) {
        isEmpty = steps.isEmpty
        for step in steps { add(step) }
    }

    private mutating func add(_ node: Node) {
        switch node {
        case .scalar, .alias: break
        case .sequence(let sequence): for inner in sequence { add(inner) }
        case .mapping(let mapping):
            for (key, value) in mapping {
                if let key = key.string, Self.keys.contains(key), let name = value.string { names.insert(name) }
                add(value)
            }
        }
    }
}
