import Foundation
import Testing
import Yams

@testable import PDUGenerator

/// The generator's reader of declarations beside a complete reader of YAML.
@Suite struct DeclarationReaderTests {
    /// Text of a value: as flow YAML with every scalar in quotes.
    private static func text(_ node: PDUGenerator.Node) -> String {
        switch node.content {
        case .scalar(let text): "'\(text)'"
        case .sequence(let items): "[" + items.map { Self.text($0) }.joined(separator: ",") + "]"
        case .mapping(let pairs): "{" + pairs.map { Self.text($0.key) + ":" + Self.text($0.value) }.joined(separator: ",") + "}"
        }
    }

    private static func text(_ node: Yams.Node) -> String {
        switch node {
        case .sequence(let items): "[" + items.map { Self.text($0) }.joined(separator: ",") + "]"
        case .mapping(let pairs): "{" + pairs.map { Self.text($0.key) + ":" + Self.text($0.value) }.joined(separator: ",") + "}"
        default: "'\(node.string ?? "")'"
        }
    }

    @Test func everyDeclarationMeansTheSameInYAML() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appending(path: "Sources/Packets/PDUs")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        let declarations = files.filter { $0.pathExtension == "yaml" }
        #expect(declarations.count > 40)
        for file in declarations {
            let source = try String(contentsOf: file, encoding: .utf8)
            let (ours, foreign) = (try DeclarationReader.read(source), try Yams.compose(yaml: source))
            #expect(ours.map { Self.text($0) } == foreign.map { Self.text($0) }, "\(file.lastPathComponent)")
        }
    }

    @Test(
        "Values are read as in YAML",
        arguments: [
            "a: 1\nb:\n  c: x y # note\n  d:\n", "- a\n- b: 1\n  c: 2\n-   d: 3\n", "a:\n- x\n- y: z\nb: '\n".replacing("'", with: "\"\""),
            "a: {b: [c, -1, \"d, e\"], f: {}}\ng: []\n", "\"a [v2]\": \"b: c\"\n", "# nothing\n\n", "a: b#c\nd: e:f\n",
            "- [a, b]\n- {c: d}\n",
            "- \"a: b\"\n",
        ])
    func value(_ source: String) throws {
        #expect(try DeclarationReader.read(source).map { Self.text($0) } == Yams.compose(yaml: source).map { Self.text($0) })
    }

    @Test(
        "A mistake has its line and column",
        arguments: [
            ("a: 1\na: 2\n", 2, 1), ("a: 1\n   b: 2\n", 2, 4), ("a: [b\n", 1, 6), ("a: \"b\n", 1, 4), ("a: \"b\" c\n", 1, 7),
            ("a: |\n  b\n", 1, 4), ("a: b: c\n", 1, 4), ("a:\n    b: 1\n  c: 2\n", 3, 3), ("a\n", 1, 1), ("a: {b}\n", 1, 5),
            ("a: *b\n", 1, 4), ("a: \"\\n\"\n", 1, 4), ("a: {b: c d}}\n", 1, 12), ("\ta: 1\n", 1, 1),
        ])
    func mistake(_ source: String, _ line: Int, _ column: Int) {
        do {
            let node = try DeclarationReader.read(source)
            Issue.record("was read: \(node.map { Self.text($0) } ?? "nothing")")
        } catch let mistake as DeclarationReader.Mistake {
            #expect((mistake.line, mistake.column) == (line, column), "\(mistake.text)")
        } catch {
            Issue.record(error)
        }
    }
}
