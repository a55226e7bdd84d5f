/// The dongles that a bench is best built on, of those that were checked.
public struct ReferencePair: Sendable, Equatable, Encodable {
    /// The best of them: the bench's own end.
    public var tester: String
    /// Another one to repeat a failing case on: of another make where there is one.
    public var second: String?
    public var reason: String

    public struct Candidate: Sendable {
        public var name: String
        public var report: CheckUpReport
        /// The table knows that it is not to be a reference.
        public var isUnfit: Bool

        public init(name: String, report: CheckUpReport, isUnfit: Bool) { (self.name, self.report, self.isUnfit) = (name, report, isUnfit) }

        fileprivate var impediment: String? {
            if let ended = report.ended { return ended }
            if let fault = report.faults.first(where: { CheckUpAdvice.forbidsReference($0.name) }) { return fault.name }
            return isUnfit ? "known as unfit" : nil
        }

        fileprivate var faults: Int { report.faults.count }
    }

    /// Chooses by what was found: the fewest faults, then a second of another make.
    ///
    /// - Returns: nil where nothing was checked.
    public static func choose(_ candidates: [Candidate]) -> ReferencePair? {
        guard !candidates.isEmpty else { return nil }
        let fit = candidates.filter { $0.impediment == nil }.sorted { ($0.faults, $0.name) < ($1.faults, $1.name) }
        let unfit = candidates.compactMap { one in one.impediment.map { "not \(one.name): \($0)" } }
        guard let best = fit.first else {
            return ReferencePair(
                tester: "", second: nil, reason: "no dongle here is fit to be a reference (\(unfit.joined(separator: "; ")))")
        }
        let others = fit.dropFirst()
        let company = best.report.numbers?.company
        let second = others.first { $0.report.numbers?.company != company } ?? others.first
        var reasons = ["\(best.name) has \(best.faults == 0 ? "no fault" : "the fewest faults, \(best.faults)")"]
        if let second {
            let isOther = second.report.numbers?.company != company
            reasons.append("\(second.name) is of \(isOther ? "another make" : "the same make, as there is no other")")
        } else if candidates.count > 1 {
            reasons.append("no second dongle is fit")
        }
        return ReferencePair(tester: best.name, second: second?.name, reason: (reasons + unfit).joined(separator: "; "))
    }

    /// The recommendation in a line.
    public var line: String {
        guard !tester.isEmpty else { return reason }
        return "reference: " + [tester, second].compactMap(\.self).joined(separator: " and ") + " (\(reason))"
    }
}

extension CheckUpAdvice {
    /// Whether the finding says that a dongle is not to be a reference.
    static func forbidsReference(_ name: String) -> Bool {
        let advice = of(name)
        return advice.contains("as a reference") || advice.contains("do not use it")
    }
}
