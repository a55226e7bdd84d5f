import Foundation
import Testing

@testable import PDUGenerator

/// Mistakes in declarations stop the build with a place and a reason.
@Suite struct SchemaTests {
    private static let layers = """
        layers:
          HCICommands: {header: command, title: Commands, about: Commands.}
          ATT: {header: opcode, title: ATT, about: ATT.}
        enums:
          Error_Code:
            0x00: Success
        """

    private func load(_ text: String) throws -> [DeclarationFile] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bluebench-schema-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = [("Layers", Self.layers), ("One", text)].map { (folder.appending(path: $0.0 + ".yaml"), $0.1) }
        for (url, text) in files { try Data(text.utf8).write(to: url) }
        var loader = SchemaLoader()
        try loader.load(files.map { ($0.0.path, $0.0.lastPathComponent) })
        _ = try RelationIndex(loader.files, layers: loader.layers)
        return loader.files
    }

    private static func command(_ lines: String...) -> String {
        (["layer: HCICommands", "pdus:", "  Reset:", "    supported: none"] + lines.map { "    " + $0 }).joined(separator: "\n")
    }

    private static func att(_ line: String) -> String { "layer: ATT\npdus:\n  ATT_ONE:\n    code: 1\n    " + line }

    @Test(
        arguments: [
            (command("fields:", "  - A: u8 as(hexadecimal)"), ":6:9: error: unknown format hexadecimal: use hex, text"),
            (command("fields:", "  - Address: address kind(Type)", "  - Address_Type: u8"), ":6:7: error: Address: there is no field Type"),
            (command("since: 4.3"), ":5:12: error: since one of 4.1, 4.2"),
            (command("codec: hands"), ":5:12: error: a codec is one of generated, hand, none"),
            (command("ends: Status"), ":3:3: error: Reset ends with Command Status: name it in `completes:` of an event"),
            (att("answers: ATT_TWO"), ":5:14: error: there is no ATT_TWO in ATT"),
            (att("refuses: Reason"), ":5:14: error: ATT_ONE has no field Reason"),
            (att("completes: Reset"), ":5:16: error: only an event completes a command"),
            (att("opens: door"), ":5:12: error: opens one of le, bredr"),
            (att("changes: le"), ":5:14: error: changes one of parameters, subrate"),
            (att("asks: yes"), ":5:11: error: `true`, or no line"),
            ("layer: ATT\ncodec: none\npdus:\n  ATT_ONE:\n    code: 1", ":2:8: error: every PDU of ATT has a struct"),
        ])
    func aMistakeHasAPlace(_ text: String, _ message: String) throws {
        let error = #expect(throws: SchemaError.self) { try load(text) }
        #expect("\(try #require(error))".contains("One.yaml" + message), "\(String(describing: error))")
    }

    @Test func aFileOrAPDUHasNoStruct() throws {
        let text =
            "layer: HCICommands\ncodec: none\npdus:\n  Reset:\n    supported: none\n  Other:\n    supported: none\n    codec: generated"
        let file = try #require(try load(text).first)
        #expect(file.pdus.map(\.codec) == [.none, .generated])
        let code = CodecEmitter(file: file, namedTypes: [:], relations: try RelationIndex([file], layers: [file.layer])).emit()
        #expect(!code.contains("struct Reset") && code.contains("struct Other"))
        #expect(DescriptionEmitter.emit(file).contains("Reset"))
    }
}
