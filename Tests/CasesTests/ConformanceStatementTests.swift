import Foundation
import Testing

@testable import BBCases

/// Implementation conformance statements in their forms, and the public test cases that they make applicable.
struct ConformanceStatementTests {
    /// The name of a file, its text, and the items with their values.
    static let forms: [(String, String, [String: Bool])] = [
        ("a.txt", "# a host\nTSPC_GATT_3_1 TRUE\r\n\tTSPC_GATT_1a_2  false\n", ["TSPC_GATT_3_1": true, "TSPC_GATT_1A_2": false]),
        ("a.txt", "TSPC_GATT_3_1 yes\nTSPC_ALL No extra words", ["TSPC_GATT_3_1": true, "TSPC_ALL": false]),
        (
            "gap.rst",
            "GAP ICS\n=======\n\n=====  ====  ====\nName  Selected  Text\nTSPC_GAP_0_1\tFalse (*)\tBR/EDR (C.1)\nTSPC_GAP_0_2\tTrue\tLE\n",
            ["TSPC_GAP_0_1": false, "TSPC_GAP_0_2": true]
        ),
        (
            "gatt.rst",
            "| Parameter Name | Selected | Description |\n+----+----+\n| TSPC_GATT_3_1 | x | Exchange MTU (C.11) |\n| TSPC_GATT_3_2 |   | All (O) |\n",
            ["TSPC_GATT_3_1": true, "TSPC_GATT_3_2": false]
        ),
        (
            "w.pqw6",
            """
            <WORKSPACE_INFORMATION NAME="w"><PICS><Name>GAP</Name><Rows>
              <Row>
                <Name>TSPC_GAP_0b_1</Name>
                <Description>BR/EDR (C.1) &amp; more</Description>
                <Value>FALSE</Value>
                <Mandatory>TRUE</Mandatory>
              </Row>
              <Row><Name>TSPC_GAP_0b_2</Name><Value>TRUE</Value></Row>
              <Row><Name>TSPX_delay</Name><Value>0000</Value></Row>
            </Rows></PICS></WORKSPACE_INFORMATION>
            """, ["TSPC_GAP_0B_1": false, "TSPC_GAP_0B_2": true]
        ),
        (
            "w.pts",
            "\u{FEFF}<?xml version=\"1.0\"?>\n<project><name>P</name><pics><profile><name>GATT</name>\n<item><table>1a</table><row>3</row></item>\n"
                + "<item><table>4</table><row>2</row></item></profile></pics></project>", ["TSPC_GATT_1A_3": true, "TSPC_GATT_4_2": true]
        ),
    ]

    @Test(arguments: forms) func aStatementIsReadInItsForm(_ file: String, _ text: String, _ items: [String: Bool]) throws {
        #expect(try ConformanceStatement(text, file: file).items == items)
    }

    @Test func anExportHasTheSupportedItemsOnly() throws {
        let (closed, open) = (
            try ConformanceStatement(Self.forms[5].1, file: "w.pts"), try ConformanceStatement("TSPC_GATT_3_1 TRUE", file: "a")
        )
        #expect(closed["TSPC_GATT_1a_3"] == true && closed["TSPC_GATT_9_9"] == false)
        #expect(open["TSPC_GATT_3_1"] == true && open["TSPC_GATT_9_9"] == nil)
    }

    static let mistakes: [(String, String, String)] = [
        ("a.txt", "TSPC_GATT_3_1 MAYBE", "a.txt:1:15: after TSPC_GATT_3_1, TRUE or FALSE is expected, not 'MAYBE'"),
        ("a.txt", "TSPC_GATT_3_1 TRUE\n  TSPC_GATT_3_2", "a.txt:2:16: after TSPC_GATT_3_2, TRUE or FALSE is expected"),
        ("a.txt", "TSPC_GATT_3_1 TRUE\nTSPC_GATT_3_1 FALSE", "a.txt:2:1: TSPC_GATT_3_1 is TRUE in one place and FALSE in another"),
        (
            "a.txt", "TSPC_GATT_3_1 TRUE\n  GATT 3/2 FALSE",
            "a.txt:2:3: 'GATT' is neither an item, such as TSPC_GATT_3_1, nor a public test case"
        ),
        ("a.rst", "Only text\n", "a.rst:1:1: no item of a conformance statement, such as TSPC_GATT_3_1 TRUE"),
        ("a.txt", "# nothing\n", "a.txt:1:1: no item of a conformance statement"),
        ("a.rst", "| TSPC_GATT_3_1 | maybe | text |", "a.rst:1:18: after TSPC_GATT_3_1, TRUE or FALSE is expected, not 'maybe'"),
        (
            "w.pqw6", "<a>\n <Name>TSPC_GAP_1_1</Name>\n  <Value>0</Value></a>",
            "w.pqw6:3:10: after TSPC_GAP_1_1, TRUE or FALSE is expected, not '0'"
        ),
        ("w.pqw6", "<a><Name>TSPC_GAP_1_1</Name", "w.pqw6:1:1: no item"), ("w.pqw6", "<", "w.pqw6:1:1: no item"),
    ]

    @Test(arguments: mistakes) func aMistakeHasItsPlace(_ file: String, _ text: String, _ expected: String) {
        let problems = #expect(throws: Problems.self) { try ConformanceStatement(text, file: file) }
        #expect(problems?.description.contains(expected) == true, "\(String(describing: problems))")
    }

    // MARK: Items of test cases

    static let tables = [
        "public-tests/gatt.tsv": "id\nA/1\nA/2\nA/3\nA/4\nA/5\n",
        "public-tests/ics/gatt.tsv": "# revision: r\nitems\tids\nTSPC_G_1_1 and TSPC_G_1_2\tA/1, A/2\nnot TSPC_G_1_1\tA/3\n"
            + "TSPC_G_1_1 or (TSPC_G_2_1 and TSPC_G_1_2)\tA/4\nTSPC_G_1_2\tA/3\n",
    ]

    /// A statement, an id, and what the statement says about it.
    static let answers: [(String, String, Applicability)] = [
        ("TSPC_G_1_1 TRUE\nTSPC_G_1_2 TRUE", "A/2", .applies), ("TSPC_G_1_1 TRUE\nTSPC_G_1_2 FALSE", "A/1", .denied("TSPC_G_1_2 is FALSE")),
        ("TSPC_G_1_1 FALSE", "A/1", .denied("TSPC_G_1_1 is FALSE")), ("TSPC_G_1_1 TRUE", "A/1", .open("TSPC_G_1_2")),
        ("TSPC_G_1_1 TRUE\nTSPC_G_1_2 TRUE", "A/3", .applies), ("TSPC_G_1_1 TRUE", "A/3", .open("TSPC_G_1_2")),
        ("TSPC_G_1_1 TRUE\nTSPC_G_1_2 FALSE", "A/3", .denied("TSPC_G_1_1 is TRUE, TSPC_G_1_2 is FALSE")),
        ("TSPC_G_1_1 TRUE", "A/4", .applies), ("TSPC_G_1_1 FALSE\nTSPC_G_1_2 TRUE", "A/4", .open("TSPC_G_2_1")),
        ("TSPC_G_1_1 FALSE", "A/5", .open("no item is known for it")), ("A/5", "A/5", .applies), ("A/5", "A/1", .denied("not in the list")),
        ("TSPC_G_1_1 FALSE\nA/1", "A/1", .applies), ("TSPC_g_1_1 TRUE\ntspc_ TRUE\n".replacing("tspc_ TRUE\n", with: ""), "A/4", .applies),
    ]

    @Test(arguments: answers) func aStatementAnswers(_ text: String, _ id: String, _ expected: Applicability) throws {
        let folder = try Folder(Self.tables)
        let items = try PublicTestItems.load(folder.path, for: try #require(try PublicTests.load(folder.path)))
        #expect(try ConformanceStatement(text, file: "a").applicability(of: id, items) == expected)
    }

    @Test(
        arguments: [
            ("items\tids\nTSPC_G_1_1 and\tA/1\n", "ics/gatt.tsv:2:15: the name of a feature is missing"),
            ("items\tids\nTSPC_G_1_1\tA/1, A/9\n", "ics/gatt.tsv:2:12: no table has the public test case 'A/9'; did you mean A/1?"),
            ("items\nTSPC_G_1_1\n", "ics/gatt.tsv:1:1: the columns are items, ids"),
            ("item\tids\n", "ics/gatt.tsv:1:1: unknown column 'item'"),
        ])
    func aTableOfItemsIsChecked(_ text: String, _ expected: String) throws {
        let folder = try Folder(Self.tables.merging(["public-tests/ics/gatt.tsv": text]) { $1 })
        let tests = try #require(try PublicTests.load(folder.path))
        let problems = #expect(throws: Problems.self) { try PublicTestItems.load(folder.path, for: tests) }
        #expect(problems?.list.first?.description.contains(expected) == true, "\(String(describing: problems))")
    }

    // MARK: Masks

    private static let masks = [
        "public-tests/declared/le-features.tsv":
            "# revision: r\nname\titems\nLE_Encryption\tTSPC_LL_9_1\nLE_2M_PHY\tTSPC_LL_9_7 or TSPC_LL_9_6\nFrame_Space_Update\tTSPC_LL_9_54\n",
        "public-tests/declared/commands.tsv": "name\titems\nLE_Rand\tTSPC_HCI_16_33\n",
        "public-tests/declared/lmp-features.tsv": "bit\tname\titems\n136\tSecure_Connections\tTSPC_LMP_2_26\n",
    ]

    /// A statement, its file, and the bits that it decides.
    @Test(arguments: [
        ("TSPC_LL_9_1 TRUE\nTSPC_LL_9_7 FALSE", "a", "LE_Encryption 0 true"),
        ("TSPC_LL_9_7 FALSE\nTSPC_LL_9_6 FALSE\nTSPC_LL_9_54 TRUE", "a", "LE_2M_PHY 8 false, Frame_Space_Update 65 true"),
        ("TSPC_LL_9_6 TRUE", "a", "LE_2M_PHY 8 true"), ("TSPC_HCI_16_33 TRUE", "a", "LE_Rand 223 true"),
        ("TSPC_LMP_2_26 FALSE", "a", "Secure_Connections 136 false"), ("LL/CON/PER/BV-40-C", "a", ""),
        (
            "<p><pics><profile><name>LL</name><item><table>9</table><row>1</row></item></profile></pics></p>", "w.pts",
            "LE_Encryption 0 true, LE_2M_PHY 8 false, Frame_Space_Update 65 false"
        ),
    ])
    func aStatementDecidesBits(_ text: String, _ file: String, _ expected: String) throws {
        let folder = try Folder(Self.masks)
        let declared = DeclaredItems(try ConformanceStatement(text, file: file), try DeclaredMasks.load(folder.path))
        let bits = DeclaredMasks.Mask.allCases.flatMap { declared.bits(of: $0) }
        #expect(bits.map { "\($0.name) \($0.position) \($0.isDeclared)" }.joined(separator: ", ") == expected)
    }

    /// A word of a condition, and if it holds for a statement with TSPC_HCI_9_6 TRUE and TSPC_HCI_9_7 FALSE.
    @Test(arguments: [
        ("declared.TSPC_HCI_9_6", true), ("declared.TSPC_HCI_9_7", false), ("denied.TSPC_HCI_9_6", false), ("denied.TSPC_HCI_9_7", true),
        ("declared.TSPC_HCI_9_8", false), ("denied.TSPC_HCI_9_8", false), ("subject.LE_Rand", false),
    ])
    func aStatementHasWordsForConditions(_ word: String, _ holds: Bool) throws {
        let statement = try ConformanceStatement("TSPC_HCI_9_6 TRUE\nTSPC_HCI_9_7 FALSE", file: "a")
        #expect(DeclaredItems(statement, DeclaredMasks()).words(among: [word]).contains(word) == holds)
    }

    @Test(
        arguments: [
            ("declared/le-features.tsv", "name\titems\nLE_Encrypt\tTSPC_LL_9_1\n", ":2:1: 'LE_Encrypt' is not a bit of this mask"),
            ("declared/le-features.tsv", "name\titems\nLE_Encryption\tTSPC_LL_9_1 or\n", ":2:29: the name of a feature is missing"),
            ("declared/other.tsv", "name\titems\n", ":1:1: there is no such mask; a table is named commands, le-features, lmp-features"),
        ])
    func aTableOfBitsIsChecked(_ file: String, _ text: String, _ expected: String) throws {
        let folder = try Folder(["public-tests/" + file: text])
        let problems = #expect(throws: Problems.self) { try DeclaredMasks.load(folder.path) }
        #expect(problems?.list.first?.description.contains(expected) == true, "\(String(describing: problems))")
    }

    // MARK: Expected failures

    @Test func aListHasIDsAndReasons() throws {
        let folder = try Folder(["e.txt": "# ours\r\n\r\nphy/a  MTU is wrong \r\n ssp/b[x=1 2,y=3]\tlater\nSM/PER/JW/BV-02-C issue #7\n"])
        let entries = try ExpectedFailureList.load(folder.path + "/e.txt")
        #expect(entries.map(\.id) == ["phy/a", "ssp/b[x=1 2,y=3]", "SM/PER/JW/BV-02-C"])
        #expect(entries.map(\.reason) == ["MTU is wrong", "later", "issue #7"])
        #expect(entries.map { "\($0.position.line):\($0.position.column)" } == ["3:1", "4:2", "5:1"])
    }

    @Test(arguments: [
        ("phy/a", "e.txt:1:6: the reason is missing: write it after phy/a"), ("phy/a x\nphy/a y", "e.txt:2:1: phy/a is already in line 1"),
    ])
    func aMistakeInAListHasItsPlace(_ text: String, _ expected: String) throws {
        let folder = try Folder(["e.txt": text])
        let problems = #expect(throws: Problems.self) { try ExpectedFailureList.load(folder.path + "/e.txt") }
        #expect(problems?.description.contains(expected) == true, "\(String(describing: problems))")
    }
}
