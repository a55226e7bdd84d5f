import Foundation

/// The cases and procedures of a folder.
public struct Catalogue: Sendable {
    /// The cases; a case with rounds occurs once for each.
    public var cases: [TestCase]
    public var procedures: [String: Procedure]
    /// The accessory profiles by file name.
    public var profiles: [String: AccessoryProfile]
    /// Names without effect in the files that were checked.
    public var warnings: [Problem] = []

    public init(
        cases: [TestCase], procedures: [String: Procedure], profiles: [String: AccessoryProfile] = [:]
    ) {
        self.cases = cases
        self.procedures = procedures
        self.profiles = profiles
    }

    /// Returns a rule of a profile; nil if it does not exist.
    package func rule(_ name: String, of profile: String?) -> AccessoryProfile.Rule? {
        profile.flatMap { profiles[$0] }?.rules[name]
    }

    /// The folders beside the suites that contain no cases.
    public static let reserved: Set<String> = ["procedures", "mutants", "variants", "profiles", PublicTests.folder]
    /// The file beside the suites with the constants of all cases.
    static let constantsFile = "constants.yaml"

    /// The part of a folder that is read and checked.
    enum Scope {
        case everything
        /// One case or procedure, `<suite>/<case>.yaml`.
        case file(String)
        /// The cases that can match the filters, and the files that they use.
        case named([String])
    }

    /// Reads all cases of `folder`: `<suite>/<case>.yaml`, the procedures that they use, and the profiles.
    ///
    /// - Parameter base: another folder with procedures and constants; those of `folder` take precedence.
    /// - Throws: `Problems` with the mistakes of all files.
    public static func load(_ folder: String, base: String? = nil, vocabulary: Vocabulary) throws(Problems) -> Catalogue {
        try load(folder, .everything, base: base, vocabulary: vocabulary)
    }

    /// Reads the files whose names match a filter, and the procedures that their cases use; other files are not opened.
    ///
    /// - Parameters:
    ///   - filters: ids, suites, or parts of ids with `*`; each must match the name of a file in this folder or another.
    ///   - needsProfiles: false to read the profiles only for a case that refers to a rule.
    /// - Throws: `Problems` with the mistakes of the files that were read.
    public static func load(
        _ folder: String, matching filters: [String], needsProfiles: Bool = false, base: String? = nil, vocabulary: Vocabulary
    ) throws(Problems) -> Catalogue {
        try load(folder, .named(filters), needsProfiles: needsProfiles, base: base, vocabulary: vocabulary)
    }

    /// Reads one case or procedure, `<folder>/<suite>/<case>.yaml`, with the procedures that it uses.
    ///
    /// - Parameter base: another folder with procedures and constants; those of the file's own folder take precedence.
    /// - Throws: `Problems` with the mistakes of that file.
    public static func load(file: String, base: String? = nil, vocabulary: Vocabulary) throws(Problems) -> Catalogue {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count > 2 ? parts.dropLast(2).joined(separator: "/") : parts.count == 2 ? "." : ".."
        let suite =
            parts.count > 1
            ? String(parts[parts.count - 2]) : FileManager.default.currentDirectoryPath.split(separator: "/").last.map(String.init) ?? ""
        return try load(folder, .file(suite + "/" + (parts.last.map(String.init) ?? file)), base: base, vocabulary: vocabulary)
    }

    private static func load(
        _ folder: String, _ scope: Scope, needsProfiles: Bool = false, base: String? = nil, vocabulary: Vocabulary
    ) throws(Problems) -> Catalogue {
        var sources = CatalogueSources(folder, scope, base: base == folder ? nil : base, vocabulary)
        sources.read(needsProfiles: needsProfiles)
        var mistakes = sources.problems.filter { !$0.isWarning }
        if mistakes.isEmpty, case .everything = scope { mistakes = vocabulary.covers?.differences(from: sources.cases) ?? [] }
        guard mistakes.isEmpty else { throw Problems(mistakes) }
        var catalogue = Catalogue(
            cases: sources.cases.flatMap(\.unrolled), procedures: sources.procedures,
            profiles: sources.profiles)
        catalogue.warnings = sources.problems.filter(\.isWarning)
        return catalogue
    }

    /// The folders beside the suites that contain no cases.
    static let caseless: Set<String> = ["mutants", "variants", "profiles", PublicTests.folder]

    /// Returns the case files of a folder that match a filter, `<suite>/<case>.yaml`, in order. If every filter names its suite, only the
    /// folders of these suites are read.
    static func caseFiles(below folder: String, matching filters: [String]) -> [String] {
        let suites = filters.map(suite)
        let found =
            suites.contains(nil)
            ? files(below: folder, without: reserved)
            : Set(suites.compactMap(\.self)).sorted().flatMap { suite in files(below: folder + "/" + suite).map { suite + "/" + $0 } }
        return found.filter { file in isCase(file) && filters.contains { CaseFilter.canMatch(file: file, $0) } }
    }

    static func isCase(_ file: String) -> Bool { file.hasSuffix(".yaml") && file.utf8.count { $0 == UInt8(ascii: "/") } == 1 }

    /// Returns the suite that a filter names: `phy` for `phy/read`; nil if cases of other suites can match, too.
    private static func suite(of filter: String) -> String? {
        guard let slash = filter.firstIndex(of: "/") else { return nil }
        let suite = String(filter[..<slash])
        return suite.contains("*") || suite.hasPrefix(".") || reserved.contains(suite) ? nil : suite
    }

    /// True if every filter matches the name of a case file in these folders. False for a kind of subject, which no file name shows.
    public static func canFind(_ filters: [String], in folders: [String]) -> Bool {
        filters.allSatisfy { filter in
            SubjectKind(rawValue: filter) == nil && folders.contains { !caseFiles(below: $0, matching: [filter]).isEmpty }
        }
    }

    static func stem(_ file: String, ending: String = ".yaml") -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        return name.hasSuffix(ending) ? String(name.dropLast(ending.count)) : name
    }

    /// Returns the YAML files of a folder by relative path, in order.
    static func yamlFiles(below folder: String) -> [String] { files(below: folder).filter { $0.hasSuffix(".yaml") } }

    /// A folder that is a symbolic link is followed; links inside it are not.
    static func files(below folder: String, without skipped: Set<String> = []) -> [String] {
        var files: [String] = []
        var open = [""]
        while let place = open.popLast() {
            for entry in FolderEntry.all(in: folder + "/" + place) {
                let path = place + entry.name
                if !entry.isFolder { files.append(path) } else if !skipped.contains(path) { open.append(path + "/") }
            }
        }
        return files.sorted()
    }
}
