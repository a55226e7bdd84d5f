import ArgumentParser
import BBConformance
import BBReport
import BBSessions
import Foundation

/// `bluebench new`: creates template files.
struct NewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Write a file to start from.", subcommands: [NewCaseCommand.self])
}

/// `bluebench new case`: creates a case that passes, as a template.
struct NewCaseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "case", abstract: "Write a case that passes `bluebench check` and runs, as a starting point.",
        discussion: "docs/guide/cases.md describes the case language; `bluebench schema` lets an editor complete it.")

    @Argument(help: "Suite and name: battery/level.", completion: Completions.suites) var name: String
    @Option(help: ArgumentHelp("Folder of the suites; created if missing.", valueName: "folder"), completion: .directory) var cases =
        "mine"
    @Flag(help: "A case for an accessory over the air. Default: for a controller.") var accessory = false

    func run() throws {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.wholeMatch(of: /[a-z0-9][a-z0-9-]*/) != nil }) else {
            throw CommandFailure(.usage, "invalid name of a case '\(name)': use suite/name, in lower-case letters, digits and hyphens")
        }
        let folder = "\(cases)/\(parts[0])"
        let path = "\(cases)/\(name).yaml"
        do { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) } catch {
            throw CommandFailure(.usage, "cannot make the folder \(folder): \(systemReason(error))")
        }
        let text = accessory ? Self.accessoryCase : Self.controllerCase
        guard !FileManager.default.fileExists(atPath: path) else { throw CommandFailure(.usage, "\(path) exists already") }
        try OutputFile(path).write(text)
        Console.line("\(path)  run it: bluebench run \(name)\(cases == CaseFolder.standard ? "" : " --cases \(RunFacts.shell([cases]))")")
    }

    private static let controllerCase = """
        title: The subject draws random numbers
        purpose: Say here in a sentence or two what is checked, and why it matters.
        reference: Core Vol 4, Part E, 7.8.23
        needs: subject.LE_Rand
        steps:
          - send: LE_Rand
            as: subject
            answer: {Status: Success}
            states: The command succeeds.

        """

    private static let accessoryCase = """
        title: The accessory can be connected to
        purpose: Say here in a sentence or two what is checked, and why it matters.
        reference: Core Vol 3, Part C, 9.3.4
        subject: accessory
        setup:
          - do: meet device
            limit: 20 s
            saveAs: link
        steps:
          - do: disconnect
            with: {on: $link.handle}
            states: The connection ends when the tester wants it to.

        """
}
