import Foundation
import Packets
import Throughput

/// A run to be kept: the content of a file of results, and what else is known about it.
public struct HistoryEntry: Sendable {
    public enum Content: Sendable {
        case throughput(ThroughputResults)
        case verdicts(VerdictResults)
    }

    public var content: Content
    /// When it was made: UTC, as in ISO 8601, without the zone.
    public var date: String
    /// What was tested.
    public var build: String
    /// The user's words that do not decide what may be compared.
    public var labels: [String: String]
    /// The same for the same run only, however its file is laid out.
    let identity: String

    /// - Parameters:
    ///   - json: what `throughput --json` or `run --json` has written.
    ///   - date: for a file that does not tell when it was made.
    ///   - build: nil for what the file's label `build` says, or the version of the program.
    /// - Throws: `HistoryError` for a file of another kind, or without a result.
    public init(json: Data, name: String, date: String, build: String? = nil, labels: [String: String] = [:]) throws(HistoryError) {
        let document: Any
        var json = json
        do {
            let found = try JSONSerialization.jsonObject(with: json)
            document = Self.plain(found)
            json = try JSONSerialization.data(withJSONObject: document, options: .fragmentsAllowed)
        } catch { throw HistoryError("\(name) is no JSON") }
        guard let fields = document as? [String: Any] else { throw HistoryError("\(name) has no results") }
        self.labels = labels
        if fields["rows"] != nil {
            let results = try ThroughputResults(json: json, name: name)
            guard !results.rows.isEmpty else { throw HistoryError("\(name) has no rows") }
            content = .throughput(results)
            self.date = results.setup?.date ?? date
            self.build = build ?? results.setup?.labels?[ThroughputSetup.buildLabel] ?? results.setup?.build ?? "unknown"
        } else {
            let results = try VerdictResults(json: json, name: name)
            guard !results.cases.isEmpty else { throw HistoryError("\(name) has no cases") }
            content = .verdicts(results)
            self.date = results.run?.date ?? date
            self.build =
                build ?? results.run?.labels?[ThroughputSetup.buildLabel] ?? results.run?.product?.firmware ?? results.run?.build
                ?? "unknown"
        }
        identity = Self.identity(of: document)
    }

    var kind: HistoryRun.Kind { if case .throughput = content { .throughput } else { .verdicts } }

    /// What decides which runs are of one trend.
    var key: String {
        switch content {
        case .throughput(let results): Self.canonical((results.setup ?? ThroughputSetup()).comparable)
        case .verdicts(let results): "verdicts of \(results.run?.subjectName ?? "?") by \(results.run?.tester ?? "?")"
        }
    }

    /// The set-up in words.
    var setupName: String {
        switch content {
        case .throughput(let results): (results.setup ?? ThroughputSetup()).comparable.name
        case .verdicts(let results): "\(results.run?.tester ?? "?") tests \(results.run?.subjectName ?? "?")"
        }
    }

    var host: String {
        switch content {
        case .throughput(let results): results.setup?.host ?? ""
        case .verdicts(let results): results.run?.host ?? ""
        }
    }

    var program: String {
        switch content {
        case .throughput(let results): results.setup?.build ?? ""
        case .verdicts(let results): results.run?.build ?? ""
        }
    }

    static func canonical(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// The document with control characters written out: SQLite ends a text at U+0000.
    private static func plain(_ value: Any) -> Any {
        switch value {
        case let text as String: PlainText.escaped(text)
        case let list as [Any]: list.map(plain)
        case let fields as [String: Any]:
            Dictionary(fields.map { (PlainText.escaped($0.key), plain($0.value)) }) { first, _ in first }
        default: value
        }
    }

    /// FNV-1a over the document with its keys in order, and its length.
    private static func identity(of document: Any) -> String {
        let octets = (try? JSONSerialization.data(withJSONObject: document, options: [.sortedKeys])) ?? Data()
        let hash = octets.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return "\(octets.count)-" + String(hash, radix: 16)
    }
}

extension ThroughputSetup {
    /// The label that names what was measured, and so differs from run to run.
    static let buildLabel = "build"

    /// What decides about figures, and nothing else.
    var comparable: Self {
        var setup = self
        (setup.host, setup.build, setup.date) = (nil, nil, nil)
        setup.labels?[Self.buildLabel] = nil
        if setup.labels?.isEmpty == true { setup.labels = nil }
        return setup
    }

    var name: String {
        let ends = "\(tester ?? "?") and \(subject ?? "?")"
        let controllers = [testerController, subjectController].compactMap { $0 }
        let settings = [
            seconds.map { "\($0) s" }, packetError.flatMap { $0 == 0 ? nil : "packet error \($0)" },
            eventFilling.flatMap { $0 == "actual" ? nil : $0 }, exchanges.map { "\($0) exchanges" }, buffers.map { "\($0) buffers" },
        ].compactMap { $0 }
        let words = (labels ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return ([ends] + controllers + settings + words).joined(separator: ", ")
    }
}
