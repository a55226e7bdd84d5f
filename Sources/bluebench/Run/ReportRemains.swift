import BBConformance
import BBSessions
import Foundation

/// The files of a previous run in the report's folder, which remain until this run starts.
extension ReportOptions {
    /// Returns the names of its captures, from its journal or its results; nil if the folder has neither.
    static func formerCaptures(in folder: String) -> Set<String>? {
        guard let former = try? ResultsFile.read(folder) else { return nil }
        return Set(former.result.cases.compactMap(\.capture))
    }
}

extension ReportOptions.Files {
    /// Moves the previous capture, because this run's capture is needed when devices are opened.
    mutating func setCaptureAside() {
        guard let folder, let capture, formerCaptures != nil, Self.isFile(capture) else { return }
        let place = "\(folder)/.capture.\(getpid())"
        if rename(capture, place) == 0 { aside = place }
    }

    func putCaptureBack() {
        if let capture, let aside { rename(aside, capture) }
    }

    /// Keeps the previous report because this run does not start; its results are written only to files outside the folder.
    mutating func keepFormerReport() {
        guard let folder else { return }
        let isElsewhere = { (file: OutputFile) in !file.path.hasPrefix(folder + "/") }
        (json, junit) = (json.filter(isElsewhere), junit.filter(isElsewhere))
        (html, scorecard) = (html.filter(isElsewhere), scorecard.filter(isElsewhere))
        (publicJSON, publicCSV) = (publicJSON.filter(isElsewhere), publicCSV.filter(isElsewhere))
        (self.folder, throughputJSON) = (nil, nil)
    }

    /// Removes the documents and captures of the previous run that are not replaced immediately, and temporary files of a killed run.
    /// Files that this run writes only at its end must not be mistaken for its own earlier.
    ///
    /// - Parameter isContinued: true to continue the same run: only temporary files are removed.
    func removeRemains(isContinued: Bool) {
        guard let folder else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // The page is removed last: without it, nothing of the other run is left.
        for name in names.sorted(by: { $0 != "index.html" && $1 == "index.html" }) where isRemains(name, isContinued: isContinued) {
            let path = "\(folder)/\(name)"
            if path != capture, Self.isFile(path) { unlink(path) }
        }
    }

    private func isRemains(_ name: String, isContinued: Bool) -> Bool {
        if name.wholeMatch(of: /\.(results\.json|junit\.xml|index\.html|public-tests\.json|public-tests\.csv|capture)\.[0-9]+/) != nil {
            return true
        }
        guard let formerCaptures, !isContinued else { return false }
        return ["results.json", "index.html", "junit.xml", "public-tests.json", "public-tests.csv"].contains(name)
            || formerCaptures.contains(name) && name.wholeMatch(of: /capture(-[0-9]+)?\.(btsnoop|pcapng)/) != nil
    }

    private static func isFile(_ path: String) -> Bool {
        var found = stat()
        return lstat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG
    }
}
