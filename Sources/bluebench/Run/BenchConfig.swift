import ArgumentParser
import BBCases
import BBThroughput
import Foundation
import Synchronization

/// The options that a command takes from `bench.yaml` in the working folder, or from the file of `--config`.
enum BenchConfig {
    static let standard = "bench.yaml"
    private static let option = "--config"
    /// The value of `--config` for no file.
    private static let none = "none"
    private static let fullCommands = [RunCommand.configuration.commandName, ThroughputCommand.configuration.commandName]
    /// The keys of the file that commands for one device take.
    private static let shared: Set<String> = ["firmware", "known-dongles", "force-usb", "usb-mode", "usb-timeout"]

    static let kinds: [String: BenchFile.Kind] = [
        // Devices.
        "tester": .text, "tester-address": .text, "subject-address": .text, "quirk": .list, "slack": .number, "wait-for-replug": .number,
        "firmware": .path, "known-dongles": .path, "force-usb": .truth, "usb-mode": .text, "usb-timeout": .number,
        // A foreign host.
        "wait-for-host": .number, "btp": .text, "virtual-time": .truth, "client-timeout": .number,
        // The product around a case.
        "before-case": .text, "after-case": .text, "power-cycle": .text, "command-timeout": .number, "dut-log": .text, "boot-line": .text,
        // The run.
        "retry": .number, "fail-on-flaky": .truth, "max-failures": .number, "timeout": .number, "swap": .truth, "durations": .path,
        "ics": .path, "expected-failures": .path, "label": .list,
        // Simulated controllers and channels of `throughput`.
        "event-filling": .text, "exchanges": .number, "buffers": .number, "mps": .text, "credits": .number, "at-least": .text,
    ]

    /// Options on the command line that rule out one of the file: such a run has a tester of its own.
    private static let exclusions: [String: Set<String>] = ["tester": ["subject-port", "ladder", "from"]]

    private struct Taken {
        var file = ""
        var entries: [BenchFile.Entry] = []
        /// True for a command with `--config`.
        var isFull = false
    }

    private static let taken = Mutex(Taken())

    /// Adds the options of the file to a command line.
    ///
    /// - Throws: a usage error for a file with a mistake, or one that does not exist although it is named.
    static func complete(_ arguments: [String]) throws -> [String] {
        guard let word = arguments.first, !arguments.contains(where: ["-h", "--help", "--help-hidden", "--version"].contains),
            let command = Bluebench.configuration.subcommands.first(where: { $0.configuration.commandName == word })
        else { return arguments }
        let isFull = fullCommands.contains(word)
        guard let path = isFull ? path(arguments) : found else { return arguments }
        let known = isFull ? Set(kinds.keys) : shared
        let options = Set(command.optionNames.map { String($0.dropFirst(2)) }).intersection(known)
        guard !options.isEmpty else { return arguments }
        let entries: [BenchFile.Entry]
        do {
            let file = try BenchFile.read(path, kinds: kinds)
            try check(file)
            let given = Set(arguments.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2).prefix { $0 != "=" }) })
            entries = file.entries(for: options, given: given, exclusions: exclusions)
        } catch {
            throw CommandFailure(error)
        }
        taken.withLock { $0 = Taken(file: path, entries: entries, isFull: isFull) }
        return [word] + entries.flatMap(\.arguments) + arguments.dropFirst()
    }

    /// The file in the working folder; nil if there is none.
    private static var found: String? { FileManager.default.fileExists(atPath: standard) ? standard : nil }

    private static func path(_ arguments: [String]) -> String? {
        guard let named = Arguments.value(of: option) else { return found }
        return named == none ? nil : named
    }

    /// Checks the values by the options' own parsers.
    private static func check(_ file: BenchFile) throws(Problems) {
        let commands: [(type: any ParsableCommand.Type, names: [String])] = [RunCommand.self, ThroughputCommand.self].map {
            ($0, $0.optionNames)
        }
        let problems = file.entries.compactMap { entry -> Problem? in
            guard let command = commands.first(where: { $0.names.contains("--" + entry.name) })?.type else { return nil }
            return problem(with: entry, of: command)
        }
        guard problems.isEmpty else { throw Problems(problems) }
    }

    private static func problem(with entry: BenchFile.Entry, of command: any ParsableCommand.Type) -> Problem? {
        do {
            _ = try command.parse(entry.arguments)
            return nil
        } catch {
            let text = command.message(for: error)
            guard text.hasPrefix("The value '"), let start = text.range(of: "is invalid for ") else { return nil }
            // The rest names the option and its value's name before it says what the option takes.
            let reason = text[start.upperBound...].dropFirst().drop { $0 != "'" }.drop { "':. ".contains($0) }
            return Problem(entry.position, "\(entry.name) is '\(entry.text ?? "")': \(reason)")
        }
    }

    // MARK: Origins

    /// The options of a bench that the command has, with their origins: those of the command line, then those of the file.
    static func origins(of command: any ParsableArguments.Type) -> [GivenOption] {
        let names = command.names.filter { kinds[String($0.text.dropFirst(2))] != nil && Arguments.given($0.text) }
        let given = names.map { name in
            // Of an option that is no list the last value counts.
            let values = Arguments.values(of: name.text)
            let counted = kinds[String(name.text.dropFirst(2))] == .list ? values : Array(values.suffix(1))
            return GivenOption(name.text, name.isFlag ? nil : counted.joined(separator: ", "), from: GivenOption.commandLine)
        }
        let taken = taken.withLock { $0 }
        return given + taken.entries.map { GivenOption("--" + $0.name, $0.text, from: taken.file) }
    }

    /// Names the file in a usage error about an option that is from there.
    static func explained(_ message: String) -> String {
        let taken = taken.withLock { $0 }
        let names = taken.entries.map { "--" + $0.name }.filter { name in
            message.ranges(of: name).contains { range in
                let next = message[range.upperBound...].first
                return next.map { !$0.isLetter && $0 != "-" } ?? true
            }
        }
        guard !names.isEmpty else { return message }
        let origin = "; \(names.joined(separator: " and ")) \(names.count == 1 ? "is" : "are") from \(taken.file)"
        return message + origin + (taken.isFull ? " (--config none: without it)" : "")
    }
}

/// The option for the file with a bench's options.
struct ConfigOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Options of this bench (docs/guide/bench-file.md), or none. Default: bench.yaml, if it is in the working folder.",
            valueName: "file"), completion: .file())
    var config: String?
}
