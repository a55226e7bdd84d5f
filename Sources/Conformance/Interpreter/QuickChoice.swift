import BBCases
import BBPackets

/// The choice of `--quick` among the cases of a device over the air: what each of them is about at least once, in the least time, and then
/// the shortest of the others while they fit into the limit.
struct QuickChoice {
    /// The expected duration of the chosen cases, if what they are about permits it.
    static let limit = Microseconds.seconds(240)
    /// Of rounds over ATT_MTU these are kept: the least, and one that most centrals agree on.
    static let mtus = [23, 247]

    /// One thing that a case is about.
    private enum Matter: Hashable {
        case section(String)
        case publicID(String)
        case rule(String)
        case mtu(file: String, Int)
    }

    /// The ids of the chosen cases.
    private(set) var chosen: Set<String>
    private(set) var length: Microseconds
    private let lengths: [String: Microseconds]

    /// - Parameters:
    ///   - named: the cases that are chosen in any event.
    ///   - lengths: the expected durations by id; cases without one are not chosen.
    init(_ cases: [TestCase], named: Set<String>, _ lengths: [String: Microseconds], limit: Microseconds = limit) {
        (chosen, self.lengths, length) = (named, lengths, named.compactMap { lengths[$0] }.reduce(.zero, +))
        let sorted = cases.filter { lengths[$0.id] != nil }.sorted { Self.cost($0, lengths) < Self.cost($1, lengths) }
        var matters = Dictionary(sorted.map { ($0.id, Self.matters(of: $0)) }) { first, _ in first }
        var left = matters.values.reduce(into: Set()) { $0.formUnion($1) }
        for id in chosen { left.subtract(matters[id] ?? []) }
        while !left.isEmpty {
            // Of equal ones the first, so that the choice is the same each time.
            let rated = sorted.filter { !chosen.contains($0.id) }.compactMap { testCase -> (id: String, price: Double)? in
                let count = matters[testCase.id]?.intersection(left).count ?? 0
                return count == 0 ? nil : (testCase.id, (lengths[testCase.id] ?? .zero).seconds / Double(count))
            }
            guard let best = rated.min(by: { $0.price < $1.price }) else { break }
            choose(best.id)
            left.subtract(matters.removeValue(forKey: best.id) ?? [])
        }
        var files = Set(sorted.filter { chosen.contains($0.id) }.map(\.file))
        for testCase in sorted where files.insert(testCase.file).inserted { choose(testCase.id, within: limit) }
        for testCase in sorted { choose(testCase.id, within: limit) }
    }

    private mutating func choose(_ id: String, within limit: Microseconds? = nil) {
        guard let time = lengths[id], limit.map({ length + time <= $0 }) ?? true, chosen.insert(id).inserted else { return }
        length = length + time
    }

    private static func cost(_ testCase: TestCase, _ lengths: [String: Microseconds]) -> Microseconds { lengths[testCase.id] ?? .zero }

    private static func matters(of testCase: TestCase) -> Set<Matter> {
        var matters: Set<Matter> = [.section(testCase.reference)]
        matters.formUnion(testCase.covers.map { .publicID($0.id) })
        if let rule = testCase.rule { matters.insert(.rule(rule)) }
        if let mtu = testCase.parameters.first(where: { $0.name == "mtu" })?.initial.asNumber, mtus.contains(mtu) {
            matters.insert(.mtu(file: testCase.file, mtu))
        }
        return matters
    }
}

extension Runner {
    /// Keeps the cases of `--quick`.
    ///
    /// - Returns: a sentence about the choice; nil if no device was surveyed.
    public func chooseQuick() -> String? {
        guard let lengths = lengths() else { return nil }
        let all = plan.cases.count
        let choice = QuickChoice(plan.cases, named: plan.named, lengths)
        plan.keep(choice.chosen)
        let removed = all - plan.cases.count
        if removed > 0 {
            let others = product?.notRun.map { "\($0), " } ?? ""
            product?.notRun = others + "\(removed) by --quick"
        }
        return "\(plan.cases.count) of \(all) cases: each section, public id and rule at least once"
    }
}
