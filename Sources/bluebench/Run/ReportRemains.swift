import Conformance
import Foundation

/// Files of an earlier run in the report's folder: they stay until this run begins.
extension ReportOptions {
    /// The names of its captures, from its journal or its results; nil where the folder has neither.
    static func formerCaptures(in folder: String) -> Set<String>? {
        guard let former = try? ResultsFile.read(folder) else { return nil }
        return Set(former.result.cases.compactMap(\.capture))
    }
}

extension ReportOptions.Files {
    /// Moves the former capture out of the way of this run's own, which has the packets of devices that are opened.
    mutating func setCaptureAside() {
        guard let folder, let capture, formerCaptures != nil, Self.isFile(capture) else { return }
        let place = "\(folder)/.capture.\(getpid())"
        if rename(capture, place) == 0 { aside = place }
    }

    func putCaptureBack() {
        if let capture, let aside { rename(aside, capture) }
    }

    /// This run does not begin: the former report stays, and this one goes only where options of their own name a file.
    mutating func keepFormerReport() {
        guard let folder else { return }
        let isElsewhere = { (file: OutputFile) in !file.path.hasPrefix(folder + "/") }
        (json, junit) = (json.filter(isElsewhere), junit.filter(isElsewhere))
        (html, scorecard) = (html.filter(isElsewhere), scorecard.filter(isElsewhere))
        (self.folder, throughputJSON) = (nil, nil)
    }

    /// Removes the documents and captures of the former run that this one would not replace at once, and drafts that a killed run left. What this
    /// run will write at its end is not to be taken for its own before.
    ///
    /// - Parameter isContinued: it is the same run: only drafts go.
    func removeRemains(isContinued: Bool) {
        guard let folder else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // The page last: where it is gone, nothing of the other run is left.
        for name in names.sorted(by: { $0 != "index.html" && $1 == "index.html" }) where isRemains(name, isContinued: isContinued) {
            let path = "\(folder)/\(name)"
            if path != capture, Self.isFile(path) { unlink(path) }
        }
    }

    private func isRemains(_ name: String, isContinued: Bool) -> Bool {
        if name.wholeMatch(of: /\.(results\.json|junit\.xml|index\.html|capture)\.[0-9]+/) != nil { return true }
        guard let formerCaptures, !isContinued else { return false }
        return ["results.json", "index.html", "junit.xml"].contains(name)
            || formerCaptures.contains(name) && name.wholeMatch(of: /capture(-[0-9]+)?\.(btsnoop|pcapng)/) != nil
    }

    private static func isFile(_ path: String) -> Bool {
        var found = stat()
        return lstat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG
    }
}
