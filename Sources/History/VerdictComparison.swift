import Foundation

/// Output of `bluebench run --json`, as far as needed for comparisons.
public struct VerdictResults: Sendable, Decodable {
    public struct Case: Sendable, Decodable {
        public var id: String
        public var verdict: String
        public var message: String?
        /// The case failed first and passed when it was repeated.
        public var isFlaky: Bool?

        private enum CodingKeys: String, CodingKey {
            case id, verdict, message
            case isFlaky = "flaky"
        }
    }

    public struct Run: Sendable, Decodable {
        public var tester: String?
        public var subject: String?
        public var date: String?
        public var host: String?
        /// Version of the program.
        public var build: String?
        /// Dongles used.
        public var devices: [Device]?
        public var product: Product?
        public var labels: [String: String]?

        public init() {}
    }

    /// The product tested over the air.
    public struct Product: Sendable, Decodable {
        public var name: String?
        public var address: String?
        public var firmware: String?

        /// Identification that two runs of the same product share.
        var identity: String? { name ?? address }
    }

    public struct Device: Sendable, Decodable {
        public struct Numbers: Sendable, Decodable {
            /// USB vendor and product.
            public var usb: String?
            public var company: Int?
            public var revision: String?
            public var subversion: String?
            public var firmware: String?

            private enum CodingKeys: String, CodingKey {
                case usb, company, firmware
                case revision = "hci_revision"
                case subversion = "lmp_subversion"
            }
        }

        /// `tester` or `subject`.
        public var side: String
        public var numbers: Numbers?
    }

    public var run: Run?
    public var cases: [Case]

    /// - Throws: `HistoryError` with the position of the error.
    public init(json: Data, name: String) throws(HistoryError) {
        do { self = try JSONDecoder().decode(Self.self, from: json) } catch { throw HistoryError(name, error) }
    }
}

/// Compares two runs case by case.
public struct VerdictComparison: Sendable {
    public enum Finding: String, Sendable, CaseIterable, Encodable {
        case same
        case newlyFailing = "newly failing"
        case newlyPassing = "newly passing"
        case stillFailing = "still failing"
        case flaky
        /// The verdict is neither PASS nor FAIL in one of the runs.
        case changed
        case new, vanished
    }

    public struct Row: Sendable {
        public var id: String
        public var finding: Finding
        public var base: String?
        public var now: String?
        public var message: String?
    }

    public let rows: [Row]

    public init(_ base: VerdictResults, _ now: VerdictResults) {
        let before = Dictionary(base.cases.map { ($0.id, $0) }) { first, _ in first }
        let after = Set(now.cases.map(\.id))
        rows =
            now.cases.map { result in
                let old = before[result.id]
                return Row(
                    id: result.id, finding: Self.finding(old, result), base: old?.verdict, now: result.verdict, message: result.message)
            }
            + base.cases.filter { !after.contains($0.id) }.map { Row(id: $0.id, finding: .vanished, base: $0.verdict) }
    }

    private static func finding(_ base: VerdictResults.Case?, _ now: VerdictResults.Case) -> Finding {
        if now.isFlaky == true { return .flaky }
        let fails: Set<String> = ["FAIL", "ERROR"]
        guard let base else { return fails.contains(now.verdict) ? .newlyFailing : .new }
        switch (fails.contains(base.verdict), fails.contains(now.verdict)) {
        case (true, true): return .stillFailing
        case (false, true): return .newlyFailing
        case (true, false): return now.verdict == "PASS" ? .newlyPassing : .changed
        case (false, false): return base.verdict == now.verdict ? .same : .changed
        }
    }
}

extension VerdictResults.Run {
    /// Differences between runs that affect verdicts; date, host and version do not.
    public func differences(from base: Self) -> [String] {
        [
            Difference.text("tester", base.tester, tester), Difference.text("subject", base.subject, subject),
            Difference.text("the product", base.product?.identity, product?.identity),
        ].compactMap(\.self)
            + sides(base, { "the \($0)'s dongle" }, \.chip)
    }

    /// Likely reasons for changed verdicts: other firmware on the same chip.
    public func changes(since base: Self) -> [String] {
        [
            Difference.text("the product's firmware", base.product?.firmware, product?.firmware),
            Difference.text("the product's address", base.product?.address, product?.address),
        ].compactMap(\.self) + sides(base, { "the \($0)'s firmware" }, \.image)
    }

    /// Name of the subject, with the product if it is one.
    var subjectName: String { [subject ?? "?", product?.identity].compactMap(\.self).joined(separator: " ") }

    private func sides(_ base: Self, _ name: (String) -> String, _ text: (VerdictResults.Device.Numbers) -> String) -> [String] {
        func find(_ side: String, _ run: Self) -> String? { run.devices?.first { $0.side == side }?.numbers.map(text) }
        return ["tester", "subject"].compactMap { Difference.text(name($0), find($0, base), find($0, self)) }
    }
}

extension VerdictResults.Device.Numbers {
    var chip: String { [usb, company.map { "company \($0)" }].compactMap(\.self).joined(separator: ", ") }
    var image: String {
        firmware
            ?? [revision.map { "HCI revision \($0)" }, subversion.map { "LMP subversion \($0)" }].compactMap(\.self).joined(separator: ", ")
    }
}
