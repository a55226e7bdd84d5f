import BBCases
import BBConformance
import Foundation

/// The case folders of a command, read with messages for its user.
package enum CaseFolder {
    /// The built-in cases: in the folder if it exists, otherwise at the place of installation.
    package static let standard: String = {
        let here = "Conformance"
        guard !FileManager.default.fileExists(atPath: here), let program = Bundle.main.executableURL?.resolvingSymlinksInPath() else {
            return here
        }
        let installed = program.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
            "share/bluebench/Conformance"
        ).path
        return FileManager.default.fileExists(atPath: installed) ? installed : here
    }()

    /// Loads all cases of a folder. Public ids are checked if their tables are beside the suites. Cases in another folder may use the built-in
    /// procedures and constants.
    package static func load(_ path: String) throws -> Catalogue { try read(path, nil) }

    /// Loads the cases that match the filters from a folder and the built-in ones; without filters, all cases of the folder. Other files
    /// are not opened.
    package static func load(_ path: String, matching filters: [String], needsProfiles: Bool = false) throws -> Catalogue {
        guard !filters.isEmpty else { return try load(path) }
        // A misspelt name is answered with the names of all cases.
        let isNamed =
            path == standard
            ? Catalogue.canFind(filters, in: [path])
            : Catalogue.canFind(["*"], in: [path]) && Catalogue.canFind(filters, in: [path, standard])
        let filters = isNamed ? filters : nil
        let own = try read(path, filters, needsProfiles)
        guard path != standard, FileManager.default.fileExists(atPath: standard) else { return own }
        var all = try read(standard, filters, needsProfiles)
        let known = Set(own.cases.map(\.file))
        all.cases = own.cases + all.cases.filter { !known.contains($0.file) }
        all.procedures.merge(own.procedures) { $1 }
        all.profiles.merge(own.profiles) { $1 }
        return all
    }

    private static func read(_ path: String, _ filters: [String]?, _ needsProfiles: Bool = false) throws -> Catalogue {
        guard FileManager.default.fileExists(atPath: path) else {
            throw CommandFailure(
                .usage, "there are no cases in \(path): name their folder with --cases, or change to the folder that has it")
        }
        do {
            guard let filters else { return try Catalogue.load(path, base: standard, vocabulary: try vocabulary(of: path)) }
            // What the cases claim does not change the run, and the tables take longer to read than a case.
            let vocabulary = Vocabulary.declared(covers: nil)
            return try Catalogue.load(path, matching: filters, needsProfiles: needsProfiles, base: standard, vocabulary: vocabulary)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The tables of public test cases beside the suites of a folder.
    package static func publicTests(_ path: String) throws -> PublicTests {
        do {
            if let tests = try PublicTests.load(path) { return tests }
        } catch {
            throw CommandFailure(error)
        }
        throw CommandFailure(.usage, "\(path)/\(PublicTests.folder) is missing: the tables of public test cases")
    }

    /// The tables of a folder and the built-in ones, with the items of conformance statements for them.
    package static func knownPublicTests(_ path: String) throws -> (PublicTests, PublicTestItems) {
        do {
            var tests = try PublicTests.load(path) ?? []
            guard let builtIn = path == standard ? tests : try PublicTests.load(standard) else { return (tests, PublicTestItems()) }
            let items = try PublicTestItems.load(standard, for: builtIn)
            tests.add(builtIn)
            return (tests, items)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The names for cases of a folder, with its own tables of public test cases and the built-in ones.
    private static func vocabulary(of folder: String) throws(Problems) -> Vocabulary {
        var vocabulary = Vocabulary.declared(covers: try PublicTests.load(folder))
        if folder != standard { vocabulary.builtInCovers = try PublicTests.load(standard) }
        return vocabulary
    }

    package static func mutants(_ path: String, _ catalogue: Catalogue) throws -> [Mutant] {
        do {
            return try Mutant.load(path + "/mutants", catalogue: catalogue, vocabulary: .declared(covers: []))
        } catch {
            throw CommandFailure(error)
        }
    }

    package static func variants(_ path: String) throws -> [Variant] {
        do {
            return try Variant.load(path + "/variants", vocabulary: .declared(covers: []))
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Checks one case or procedure, which may use the built-in procedures and constants. Public ids are checked only if their tables
    /// are beside the suites.
    ///
    /// - Returns: the warnings.
    package static func check(file: String) throws -> [Problem] {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent().path
        do {
            return try Catalogue.load(file: file, base: standard, vocabulary: try vocabulary(of: folder)).warnings
        } catch {
            throw CommandFailure(error)
        }
    }
}
