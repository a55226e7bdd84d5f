/// The best dongles for a test bench among those checked.
public struct ReferencePair: Sendable, Equatable, Encodable {
    /// The best dongle, for use as the tester.
    public var tester: String
    /// Another dongle for repeating failed cases, of another type if possible.
    public var second: String?
    public var reason: String

    public struct Candidate: Sendable {
        public var name: String
        public var report: CheckUpReport
        /// The table marks it as unfit for a reference.
        public var isUnfit: Bool

        public init(name: String, report: CheckUpReport, isUnfit: Bool) { (self.name, self.report, self.isUnfit) = (name, report, isUnfit) }

        fileprivate var impediment: String? {
            if let ended = report.ended { return ended }
            if let fault = report.faults.first(where: { CheckUpAdvice.forbidsReference($0.name) }) { return fault.name }
            return isUnfit ? "known as unfit" : nil
        }

        fileprivate var faults: Int { report.faults.count }
    }

    /// Selects the dongle with the fewest faults, and a second one of another type.
    ///
    /// - Returns: nil if no dongle was checked.
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
            reasons.append("\(second.name) has \(isOther ? "another make" : "the same make, as there is no other")")
        } else if candidates.count > 1 {
            reasons.append("no second dongle is fit")
        }
        return ReferencePair(tester: best.name, second: second?.name, reason: (reasons + unfit).joined(separator: "; "))
    }

    /// The recommendation in one line.
    public var line: String {
        guard !tester.isEmpty else { return reason }
        return "reference: " + [tester, second].compactMap(\.self).joined(separator: " and ") + " (\(reason))"
    }
}

extension CheckUpAdvice {
    /// True if the finding makes a dongle unfit for a reference.
    static func forbidsReference(_ name: String) -> Bool {
        let advice = of(name)
        return advice.contains("as a reference") || advice.contains("do not use it")
    }
}
