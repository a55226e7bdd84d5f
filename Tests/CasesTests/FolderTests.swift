import BBPackets
import Foundation
import Testing

@testable import BBCases

struct FolderTests {
    /// Files of a folder, by path, and the error messages.
    @Test(
        arguments: [
            (["phy/a.yml": "x"], "phy/a.yml:1:1: case files end in .yaml"),
            (["a.yaml": "x"], "a case lies in the folder of its suite"),
            (["procedures/a.yaml": "about: a\nsteps:\n  - {use: a}"], "procedures/a.yaml:3:5: procedure a uses itself"),
            (
                ["procedures/a.yaml": "about: a\nsteps:\n  - {use: b}", "procedures/b.yaml": "about: b\nsteps:\n  - {use: a}"],
                "procedure a uses itself by way of b"
            ),
            (
                ["procedures/a.yaml": "about: a\nroles: {x: tester, y: tester}\nsteps:\n  - {wait: 1 s}"],
                "two roles are taken by the two sides"
            ),
        ] as [([String: String], String)])
    func aFolderIsReadAsAWhole(_ files: [String: String], _ expected: String) throws {
        let folder = try Folder(files)
        do {
            _ = try Catalogue.load(folder.path, vocabulary: Samples.vocabulary)
            #expect(Bool(false), "nothing was found")
        } catch { #expect(error.description.contains(expected), "\(error)") }
    }

    @Test func oneFileIsCheckedWithItsFolder() throws {
        let text = Samples.head("steps:\n  - {use: advertise, as: tester, with: {interval: 40}, states: s}")
        let folder = try Folder(["procedures/advertise.yaml": Samples.procedures, "phy/a.yaml": text, "phy/b.yaml": "bad"])
        let catalogue = try Catalogue.load(file: folder.path + "/phy/a.yaml", vocabulary: Samples.vocabulary)
        #expect(catalogue.cases.map(\.id) == ["phy/a"])
        #expect(throws: Problems.self) { try Catalogue.load(file: folder.path + "/phy/b.yaml", vocabulary: Samples.vocabulary) }
    }

    /// Filters and the cases read; the other files are not YAML.
    @Test(
        arguments: [
            (["phy/a"], ["phy/a"]), (["a"], ["phy/a"]), (["phy/a*"], ["phy/a"]), (["good"], ["good/c", "good/r[n=1]", "good/r[n=2]"]),
            (["good/r[n=2]", "phy/a"], ["good/r[n=1]", "good/r[n=2]", "phy/a"]), (["good/*2]"], ["good/c", "good/r[n=1]", "good/r[n=2]"]),
        ] as [([String], [String])])
    func onlyWhatIsNamedIsRead(_ filters: [String], _ expected: [String]) throws {
        let folder = try Self.partlyDamaged()
        #expect(Catalogue.canFind(filters, in: [folder.path]))
        let catalogue = try Catalogue.load(folder.path, matching: filters, vocabulary: Samples.vocabulary)
        #expect(catalogue.cases.map(\.id) == expected)
        #expect(Set(catalogue.procedures.keys).isSubset(of: ["advertise", "outer"]))
        #expect(throws: Problems.self) { try Catalogue.load(folder.path, vocabulary: Samples.vocabulary) }
    }

    /// If file names do not tell their content, all files are read, and errors in them are reported.
    @Test(arguments: ["accessory", "controller", "phy/x", "nothing*", "procedures/outer", "./a", "nowhere/a"])
    func otherNamesNeedAllFiles(_ filter: String) throws {
        #expect(!Catalogue.canFind([filter], in: [try Self.partlyDamaged().path]))
    }

    @Test func theProceduresOfANamedCaseAreRead() throws {
        let folder = try Self.partlyDamaged()
        let catalogue = try Catalogue.load(folder.path, matching: ["phy/a"], vocabulary: Samples.vocabulary)
        #expect(Set(catalogue.procedures.keys) == ["advertise", "outer"])
        do {
            _ = try Catalogue.load(folder.path, matching: ["uses/broken"], vocabulary: Samples.vocabulary)
            #expect(Bool(false), "nothing was found")
        } catch { #expect(error.description.contains("procedures/broken.yaml"), "\(error)") }
    }

    private static func partlyDamaged() throws -> Folder {
        try Folder([
            "procedures/advertise.yaml": Samples.procedures, "procedures/broken.yaml": "about: [",
            "procedures/outer.yaml": "about: o\nsteps:\n  - {use: advertise, as: tester, with: {interval: 40}}",
            "phy/a.yaml": Samples.head("steps:\n  - {use: outer, states: s}"), "phy/b.yaml": "bad: [", "mutants/m.yaml": "[",
            "uses/broken.yaml": Samples.head("steps:\n  - {use: broken, states: s}"),
            "good/c.yaml": Samples.head("steps:\n  - {wait: 1 s, states: s}"),
            "good/r.yaml": Samples.head("parameters: {n: 1}\nrounds: [{n: 1}, {n: 2}]\nsteps:\n  - {check: $n, is: 1, states: s}"),
        ])
    }
}

/// A temporary folder with files.
final class Folder {
    let path: String

    init(_ files: [String: String]) throws {
        path = NSTemporaryDirectory() + "bluebench-" + UUID().uuidString
        for (name, text) in files {
            let file = path + "/" + name
            let parent = file.split(separator: "/").dropLast().reduce(into: "") { $0 += "/" + $1 }
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
