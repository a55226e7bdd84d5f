import BBPackets
import BBThroughput
import Foundation

/// A run to be added: the content of a results file, and further properties.
public struct HistoryEntry: Sendable {
    public enum Content: Sendable {
        case throughput(ThroughputResults)
        case verdicts(VerdictResults)
    }

    public var content: Content
    /// Date of the run: UTC, in ISO 8601, without the zone.
    public var date: String
    /// Build that was tested.
    public var build: String
    /// Labels of the user that do not affect comparability.
    public var labels: [String: String]
    /// Identifier of the run, independent of the layout of its file.
    let identity: String

    /// - Parameters:
    ///   - json: output of `throughput --json` or `run --json`.
    ///   - date: date for a file that does not contain one.
    ///   - build: nil to use the label `build` of the file, or the version of the program.
    /// - Throws: `HistoryError` for a file of another kind, or without a result.
    public init(json: Data, name: String, date: String, build: String? = nil, labels: [String: String] = [:]) throws(HistoryError) {
        let document: Any
        var json = json
        do {
            let found = try JSONSerialization.jsonObject(with: json)
            document = Self.plain(found)
            json = try JSONSerialization.data(withJSONObject: document, options: .fragmentsAllowed)
        } catch { throw HistoryError("\(name) is not JSON") }
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

    /// Key of the trend that the run belongs to.
    var key: String {
        switch content {
        case .throughput(let results): Self.canonical((results.setup ?? ThroughputSetup()).comparable)
        case .verdicts(let results): "verdicts of \(results.run?.subjectName ?? "?") by \(results.run?.tester ?? "?")"
        }
    }

    /// Description of the set-up.
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

    /// The document with control characters escaped, since SQLite ends a text at U+0000.
    private static func plain(_ value: Any) -> Any {
        switch value {
        case let text as String: PlainText.escaped(text)
        case let list as [Any]: list.map(plain)
        case let fields as [String: Any]:
            Dictionary(fields.map { (PlainText.escaped($0.key), plain($0.value)) }) { first, _ in first }
        default: value
        }
    }

    /// FNV-1a over the document with sorted keys, and its length.
    private static func identity(of document: Any) -> String {
        let octets = (try? JSONSerialization.data(withJSONObject: document, options: [.sortedKeys])) ?? Data()
        let hash = octets.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return "\(octets.count)-" + String(hash, radix: 16)
    }
}

extension ThroughputSetup {
    /// The label with the measured build, which differs from run to run.
    static let buildLabel = "build"

    /// The properties that affect the comparability of figures.
    var comparable: Self {
        var setup = self
        (setup.host, setup.build, setup.date, setup.options) = (nil, nil, nil, nil)
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
