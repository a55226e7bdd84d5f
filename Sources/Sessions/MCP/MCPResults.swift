import Foundation

/// The results of runs, by name.
struct MCPResults {
    let folder: URL

    /// A name that no result has.
    func newName() -> String {
        var number = 1
        while FileManager.default.fileExists(atPath: path("run-\(number)")) { number += 1 }
        return "run-\(number)"
    }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// The capture of a result; nil if there is no such result.
    func capture(_ name: String) -> String? {
        let path = folder.appendingPathComponent(name).appendingPathComponent("capture.pcapng").path
        return Self.isName(name) && FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// Verdicts, and the cases that did not pass; nil if there is no result.
    func summary(_ name: String) -> [String: Any]? {
        guard let document = document(name) else { return nil }
        var summary: [String: Any] = ["result": name, "verdicts": document["summary"] ?? [:]]
        let others = cases(document).filter { $0["verdict"] as? String != "PASS" }
        summary["others"] = others.prefix(Self.most).map { entry in
            Dictionary(uniqueKeysWithValues: ["verdict", "id", "message"].compactMap { key in entry[key].map { (key, $0) } })
        }
        if others.count > Self.most { summary["others_omitted"] = others.count - Self.most }
        return summary
    }

    func read(_ arguments: MCPArguments, _ redaction: MCPRedaction) throws(MCPMistake) -> MCPAnswer {
        let name = arguments["result"] ?? ""
        guard Self.isName(name), let document = document(name) else {
            throw MCPMistake(text: "there is no result '\(name)'; run_cases makes one")
        }
        guard let id = arguments["case"] else { return MCPAnswer(document: redaction.document(summary(name) ?? [:])) }
        guard var entry = cases(document).first(where: { $0["id"] as? String == id }) else {
            let ids = cases(document).compactMap { $0["id"] as? String }
            throw MCPMistake(text: "\(name) has no case '\(id)'; it has \(ids.prefix(Self.most).joined(separator: ", "))")
        }
        // show_capture prints the packets.
        for key in ["packets", "log"] { entry[key] = nil }
        return MCPAnswer(document: redaction.document(entry))
    }

    private static let most = 100

    /// True for a name without a path.
    private static func isName(_ name: String) -> Bool {
        name.hasPrefix("run-") && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    }

    private func document(_ name: String) -> [String: Any]? {
        guard let data = FileManager.default.contents(atPath: path(name) + "/results.json") else { return nil }
        return (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
    }

    private func cases(_ document: [String: Any]) -> [[String: Any]] { document["cases"] as? [[String: Any]] ?? [] }
}
