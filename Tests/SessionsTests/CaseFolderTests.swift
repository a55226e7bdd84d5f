import BBCases
import BBHost
import BBPackets
import BBTransport
import Testing

@testable import BBSessions

/// Case folders of a command, and failures as the command line tells them.
struct CaseFolderTests {
    private static let good = """
        title: The subject draws random numbers
        purpose: A number is drawn.
        reference: Core Vol 4, Part E, 7.8.23
        needs: subject.LE_Rand
        steps:
          - send: LE_Rand
            as: subject
            answer: {Status: Success}
            states: The command succeeds.

        """
    private static let bad = good.replacing("LE_Rand\n    as", with: "LE_Rnd\n    as").replacing("as: subject", with: "as: nobody")

    private static func failure(_ body: () throws -> Void) -> CommandFailure? {
        do { try body() } catch { return error as? CommandFailure }
        return nil
    }

    @Test func aFolderIsRead() throws {
        try withFolder(["mine/draw.yaml": Self.good]) { folder in
            let (all, named) = (try CaseFolder.load(folder), try CaseFolder.load(folder, matching: ["mine/draw"]))
            #expect(all.cases.map(\.id) == ["mine/draw"] && named.cases.map(\.id) == ["mine/draw"])
            let warnings = try CaseFolder.check(file: "\(folder)/mine/draw.yaml")
            #expect(warnings.isEmpty)
        }
    }

    /// The cases that are named come from the folder and from the built-in ones.
    @Test func builtInCasesAreFoundBesideOwn() throws {
        try withFolder(["mine/draw.yaml": Self.good]) { folder in
            let both = try CaseFolder.load(folder, matching: ["mine", "phy/read"])
            #expect(both.cases.first?.id == "mine/draw" && both.cases.contains { $0.file == "phy/read" })
        }
    }

    /// Each mistake has its place; the message counts them if there are several.
    @Test(
        arguments: [
            (["mine/a.yaml": bad], 2, "2 mistakes in 1 file"), (["mine/a.yaml": bad, "mine/b.yaml": bad], 4, "4 mistakes in 2 files"),
            (["mine/a.yaml": good.replacing("title: ", with: "titel: ")], 2, "2 mistakes in 1 file"),
            (["mine/a.yaml": good.replacing("answer:", with: "anser:")], 1, ""),
        ] as [([String: String], Int, String)])
    func mistakesHaveTheirPlaces(_ files: [String: String], _ count: Int, _ message: String) throws {
        try withFolder(files) { folder in
            let failure = try #require(Self.failure { _ = try CaseFolder.load(folder) })
            #expect(failure.code == .usage && failure.message == message, "\(failure)")
            #expect(failure.mistakes.count == count, "\(failure.mistakes)")
            #expect(failure.mistakes.allSatisfy { $0.contains(#/[ab]\.yaml:\d+:\d+: /#) })
            #expect(failure.mistakes == failure.mistakes.sorted())
        }
    }

    @Test func aFolderThatIsNotThereIsRefused() {
        let failure = Self.failure { _ = try CaseFolder.load("/nowhere") }
        #expect(failure?.message.hasPrefix("there are no cases in /nowhere") == true)
        #expect(Self.failure { _ = try CaseFolder.publicTests("/nowhere") }?.message.contains("public-tests is missing") == true)
    }

    @Test(
        arguments: [
            (CommandFailure(.fail, "x"), .fail, "x"), (CancellationError(), .bench, "interrupted"),
            (HostError.peer(.timedOut(.connection)), .bench, "timed out"), (HostError.peer(.disconnected(.connectionTimeout)), .fail, ""),
        ] as [(any Error, CommandFailure.Code, String)])
    func anErrorOfALowerRoomHasItsCode(_ error: any Error, _ code: CommandFailure.Code, _ text: String) {
        let failure = CommandFailure(error)
        #expect(failure.code == code && !failure.message.isEmpty, "\(failure)")
        if !text.isEmpty, text != "timed out" { #expect(failure.message == text) }
    }

    @Test(
        arguments: [
            ("C0:B1:BE:00:00:01", "C0:B1:BE:00:00:01/random"), ("00:1B:DC:00:00:01/public", "00:1B:DC:00:00:01/public"),
            ("C0:B1:BE:00:00:01/other", nil), ("C0:B1:BE:00:00", nil), ("C0:B1:BE:00:00:1", nil),
        ] as [(String, String?)])
    func anAddressIsReadAndWritten(_ text: String, _ argument: String?) {
        #expect((try? DeviceAddress(argument: text))?.argument == argument)
    }
}
