import ArgumentParser
import BBCases
import BBConformance
import BBSessions
import BBTransportUSB
import Foundation

/// The shell completions of a word. Only names are read, because reading all cases would take too long.
enum Completions {
    static let cases = CompletionKind.custom { words, _, prefix in caseNames(in: folder(in: words), prefix) }
    static let suites = CompletionKind.custom { words, _, _ in suiteNames(in: folder(in: words)) }
    static let tags = CompletionKind.custom { _, _, _ in CaseTag.all.keys.sorted() }
    static let devices = CompletionKind.custom { _, _, _ in
        ["virtual", "tcp:", "unix:", "serial:"] + ((try? USBEnumeration.dongles()) ?? []).map(\.location.description)
    }

    /// Returns the folder of the cases on the command line.
    private static func folder(in words: [String]) -> String {
        if let tied = words.last(where: { $0.hasPrefix("--cases=") }) { return String(tied.dropFirst("--cases=".count)) }
        guard let place = words.lastIndex(of: "--cases"), place + 1 < words.count else { return CaseFolder.standard }
        return words[place + 1]
    }

    static func suiteNames(in folder: String) -> [String] {
        names(in: folder).filter { name in
            var isFolder: ObjCBool = false
            return !Catalogue.reserved.contains(name) && FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isFolder)
                && isFolder.boolValue
        }
    }

    /// Returns the suites, or the cases of the selected suite.
    static func caseNames(in folder: String, _ prefix: String) -> [String] {
        let suites = suiteNames(in: folder)
        guard let slash = prefix.firstIndex(of: "/") else { return suites + suites.map { $0 + "/" } }
        let suite = String(prefix[..<slash])
        guard suites.contains(suite) else { return [] }
        return names(in: "\(folder)/\(suite)").filter { $0.hasSuffix(".yaml") }.map { "\(suite)/\($0.dropLast(".yaml".count))" }
    }

    private static func names(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { !$0.hasPrefix(".") }.sorted()
    }
}
