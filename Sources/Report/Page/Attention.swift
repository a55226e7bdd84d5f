import BBConformance
import BBPackets

/// Cases that neither passed nor were N/A, grouped by their likely cause.
struct Attention {
    let groups: [[String: Any]]

    /// Maximum number of cases listed per cause.
    private static let most = 40

    init(_ result: RunResult) {
        var causes: [(key: String, cases: [CaseResult])] = []
        var places: [String: Int] = [:]
        let order: [Verdict] = [.fail, .error, .inconclusive]
        for verdict in order {
            for testCase in result.cases.filter({ $0.verdict == verdict && !result.isExpected($0) }).sorted(by: { $0.id < $1.id }) {
                let key = verdict.rawValue + Self.cause(of: testCase)
                if let place = places[key] {
                    causes[place].cases.append(testCase)
                } else {
                    places[key] = causes.count
                    causes.append((key, [testCase]))
                }
            }
        }
        groups = causes.map { Self.group($0.cases) }
    }

    private static func group(_ cases: [CaseResult]) -> [String: Any] {
        let first = cases[0]
        let isSame = Set(cases.map { digitless($0.message) }).count == 1
        let text = isSame ? first.message : outcome(of: first)
        let message = text.split(separator: "\n", maxSplits: 1).first.map(String.init) ?? first.title
        return [
            "class": Markup.cssClass(first.verdict), "verdict": first.verdict.rawValue, "message": PlainText.escaped(message),
            "cases": cases.prefix(most).map { ["id": PlainText.escaped($0.id), "link": Markup.link($0.id)] },
            "hasCount": cases.count > 1, "count": cases.count, "hasMore": cases.count > most, "more": cases.count - most,
        ]
    }

    // MARK: Causes

    /// The common part of cases with the same cause: the same kind of packet was expected and the same kind came, or the outcome reads
    /// the same without numbers, values and packets.
    private static func cause(of testCase: CaseResult) -> String {
        if let expected = testCase.failedStep?.expected, let got = testCase.failedStep?.got {
            let (wanted, found) = (kinds(in: expected), kinds(in: got))
            if !wanted.isEmpty, !found.isEmpty { return "\(wanted) \(found)" }
        }
        let text = outcome(of: testCase)
        return digitless(text.prefix { $0 != ";" }.split(separator: "(").first.map(String.init) ?? text)
    }

    /// The message without the requirement, which differs between cases.
    private static func outcome(of testCase: CaseResult) -> String {
        guard let requirement = testCase.failedStep?.requirement, testCase.message.hasPrefix(requirement) else { return testCase.message }
        let rest = testCase.message.dropFirst(requirement.count).drop { $0 == " " }
        return rest.isEmpty ? testCase.message : String(rest)
    }

    /// Packet numbers, times, handles and values differ between cases with the same cause.
    private static func digitless(_ text: String) -> String { text.filter { !$0.isNumber } }

    /// The names of PDUs and error codes in a text: words in which an underscore joins two parts, before the fields.
    private static func kinds(in text: String) -> String {
        let head = text.prefix { $0 != "{" && $0 != "=" }
        let words = head.split { !($0.isLetter || $0.isNumber || $0 == "_") }.filter { $0.contains("_") && $0.contains(where: \.isLetter) }
        return (text.hasPrefix("no ") ? "no " : "") + words.prefix(2).joined(separator: " ")
    }
}
