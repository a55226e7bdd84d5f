import Testing

@testable import BBCases

/// Tables of public test cases, and cases that claim them.
struct PublicTableTests {
    static let head = "# revision: GATT.TS.p30\nid\trole\tbench\tshown\tcases\tmissing\n"

    /// A table and its first mistake.
    static let mistakes: [(String, String)] = [
        ("", "gatt.tsv:1:1: the table is empty: its first line names the columns"),
        ("id\tcass\n", "gatt.tsv:1:4: unknown column 'cass'; did you mean cases?"),
        ("id\trole\trole\n", "gatt.tsv:1:9: the column 'role' is there twice"),
        ("id\tshown\n", "gatt.tsv:1:1: without the columns role, bench, cases, missing"),
        ("role\n", "gatt.tsv:1:1: without the columns id, bench, shown, cases, missing"),
        ("id\trole\tbench\tshown\tcases\tmissing\n", "gatt.tsv:1:1: a line above names the suite and its revision"),
        ("id\nA/B\tx\n", "gatt.tsv:2:5: 2 cells for 1 columns"),
        ("id\nA B\n", "gatt.tsv:2:1: an id is one word, such as SM/PER/JW/BV-02-C"),
        ("id\nA/B\n# more\nC/D\nA/B\n", "gatt.tsv:5:1: A/B is already in "),
        (head + "A/B\tclient\tXD\tnone\t\twhy\n", "gatt.tsv:3:12: 'XD' is not the letters of a bench: use D, B, P, A in this order, or -"),
        (head + "A/B\tclient\tBD\tnone\t\twhy\n", "gatt.tsv:3:12: 'BD' is not the letters of a bench"),
        (head + "A/B\tclient\tDD\tnone\t\twhy\n", "gatt.tsv:3:12: 'DD' is not the letters of a bench"),
        (head + "A/B\tclient\t\tnone\t\twhy\n", "gatt.tsv:3:12: '' is not the letters of a bench"),
        (head + "A/B\tclient\tD\tful\ts/c\t\n", "gatt.tsv:3:14: unknown extent 'ful': use full, part, none, later or no"),
        (head + "A/B\tclient\tD\tno\t\twhy\n", "gatt.tsv:3:14: shown is 'no' only where bench is '-'"),
        (head + "A/B\tclient\t-\tnone\t\twhy\n", "gatt.tsv:3:14: bench is '-', so shown is 'no' or 'later'"),
        (head + "A/B\tclient\tD\tpart\t\twhy\n", "gatt.tsv:3:19: shown is 'part', so a case must cover A/B"),
        (head + "A/B\tclient\tD\tfull\n", "gatt.tsv:3:18: shown is 'full', so a case must cover A/B"),
        (head + "A/B\tclient\tD\tnone\tphy/c\twhy\n", "gatt.tsv:3:19: shown is 'none', so no case can cover A/B"),
        (head + "A/B\tclient\tD\tpart\tphy/c, phy/c\twhy\n", "gatt.tsv:3:19: 'phy/c' is there twice"),
        (head + "A/B\tclient\tD\tnone\t\t\n", "gatt.tsv:3:20: shown is 'none', so this column says what is missing or why"),
        (head + "A/B\tclient\tD\tfull\tphy/c\tall\n", "gatt.tsv:3:25: shown is 'full', so nothing is missing"),
        (
            "# revision: r\nid\trole\tbench\tshown\tcases\tmissing\tbasis\nA/B\tclient\tD\tfull\tphy/c\t\tguess\n",
            "gatt.tsv:3:26: unknown basis 'guess': use read or title"
        ),
    ]

    @Test(arguments: mistakes) func aMistakeHasItsPlace(_ text: String, _ expected: String) throws {
        let folder = try Folder(["public-tests/gatt.tsv": text])
        let problems = #expect(throws: Problems.self) { try PublicTests.load(folder.path) }
        #expect(problems?.list.first?.description.contains(expected) == true, "\(String(describing: problems))")
    }

    /// Tables for the cases below, and the mistake that loading the folder reports.
    static let claims: [(String, String)] = [
        ("A/B\tclient\tD\tfull\tphy/all\t\nC/D\tclient\tD\tpart\tphy/some\twhy\n", ""),
        (
            "A/B\tclient\tD\tfull\tphy/all, phy/some\t\nC/D\tclient\tD\tpart\tphy/some\twhy\n",
            "gatt.tsv:3:19: the cases that cover A/B are others: remove phy/some"
        ),
        (
            "A/B\tclient\tD\tfull\tphy/other\t\nC/D\tclient\tD\tpart\tphy/some\twhy\n",
            "gatt.tsv:3:19: the cases that cover A/B are others: add phy/all; remove phy/other"
        ),
        (
            "A/B\tclient\tD\tfull\tphy/all\t\nC/D\tclient\tD\tnone\t\twhy\n",
            "gatt.tsv:4:19: the cases that cover C/D are others: add phy/some"
        ),
        ("A/B\tclient\tD\tfull\tphy/all\t\nC/D\tclient\tD\tfull\tphy/some\n", "gatt.tsv:4:14: no case covers C/D in full"),
        ("A/B\tclient\tD\tpart\tphy/all\twhy\nC/D\tclient\tD\tpart\tphy/some\twhy\n", "phy/all.yaml:4:15: "),
        ("A/B\tclient\tD\tfull\tphy/all\t\n", "phy/some.yaml:4:10: no table has the public test case 'C/D'"),
        (
            "A/B\tclient\t-\tlater\t\twhy\nC/D\tclient\tD\tlater\tphy/some\twhy\n",
            "gatt.tsv:3 says 'later' of A/B: write partial here, or full there"
        ),
    ]

    @Test(arguments: claims) func aTableHasWhatTheCasesClaim(_ rows: String, _ expected: String) throws {
        func text(_ covers: String) -> String { Samples.head("covers: \(covers)\nsteps:\n  - {wait: 1 s, states: s}\n") }
        let folder = try Folder([
            "public-tests/gatt.tsv": Self.head + rows, "phy/all.yaml": text("{A/B: full}"), "phy/some.yaml": text("{C/D: partial}"),
        ])
        var vocabulary = Samples.vocabulary
        vocabulary.covers = try PublicTests.load(folder.path)
        do {
            _ = try Catalogue.load(folder.path, vocabulary: vocabulary)
            #expect(expected.isEmpty)
        } catch {
            #expect(!expected.isEmpty && error.description.contains(expected), "\(error)")
            #expect(error.list.count == 1)
        }
    }

    /// A list of ids is a table with that column alone; it says nothing about the cases.
    @Test(arguments: ["id\nREQ-12\nREQ-13\n", "# ours\r\nid\r\n\r\nREQ-12\r\nREQ-13"]) func aListHasOnlyIDs(_ text: String) throws {
        let folder = try Folder([
            "public-tests/ours.tsv": text, "public-tests/ics/ours.tsv": "not a table",
            "phy/a.yaml": Samples.head("covers: {REQ-12: full, GAP/CONN/TERM/BV-01-C: full}\nsteps:\n  - {wait: 1 s, states: s}\n"),
        ])
        let list = try #require(try PublicTests.load(folder.path))
        #expect(list.ids == ["REQ-12", "REQ-13"] && list["REQ-13"]?.shown == nil && list["REQ-14"] == nil)
        var vocabulary = Samples.vocabulary
        (vocabulary.covers, vocabulary.builtInCovers) = (list, vocabulary.covers)
        #expect(try Catalogue.load(folder.path, vocabulary: vocabulary).warnings.isEmpty)
    }

    @Test func aRowHasItsCells() throws {
        let folder = try Folder(["public-tests/gatt.tsv": Self.head + "A/B\tclient\tDB\tpart\tphy/a, phy/b\tMTU 512\nC/D\t\t-\tno\t\twhy\n"]
        )
        let row = try #require(try PublicTests.load(folder.path)?["A/B"])
        #expect((row.suite, row.revision, row.role, row.bench) == ("gatt", "GATT.TS.p30", "client", "DB"))
        #expect((row.shown, row.cases, row.missing, row.basis) == (.part, ["phy/a", "phy/b"], "MTU 512", .read))
        #expect(try PublicTests.load("/nowhere") == nil)
    }
}
