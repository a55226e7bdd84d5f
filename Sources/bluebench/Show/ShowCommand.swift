import ArgumentParser
import BBCapture
import BBDiagnosis
import BBHost
import BBPackets
import BBSessions
import Foundation

/// `bluebench show`: decodes a capture, one line for each packet.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Decode a stored capture.",
        discussion: """
            Reads btsnoop, pcapng, pcap, PacketLogger and hcidump files, logs of BTstack, Bumble and Zephyr with whole packets, text2pcap's \
            hexadecimal, bug reports of Android, and zip, gzip and tar archives of them. Each line: number, seconds since the first packet, interface, direction \
            (> from the host, < from the controller, ~ on the air), packet. On a terminal a line is cut to its width.
            """)

    @Argument(help: "Capture; - for standard input.", completion: .file()) var file: String
    @OptionGroup(title: "Selection") var selected: SelectionOptions
    @Option(help: ArgumentHelp("Stop after n lines.", valueName: "n"), transform: Arguments.whole(1...Int.max)) var limit: Int?

    @OptionGroup(title: "Output") var form: ShowFormOptions

    @Option(
        help: ArgumentHelp(
            "Decrypt an air log with these keys, one line per session: access address, long term key.",
            valueName: "file"), completion: .file()) var keylog: String?
    @Option(
        help: ArgumentHelp("Decrypt an air log with the keys of a bond file.", valueName: "file"), completion: .file())
    var bonds: String?
    @Option(
        help: ArgumentHelp(
            "Write the decrypted capture as pcapng; needs --keylog or --bonds.",
            valueName: "file"),
        completion: .file()) var decrypted: String?

    @Option(
        help: ArgumentHelp(
            "Compare the selected PDUs with those of another capture, by interface, direction and name. Exit code 1 if they differ.",
            valueName: "file"), completion: .file())
    var diff: String?
    @Flag(help: "Wait for more at the end of a growing file, until Ctrl-C.") var follow = false
    @OptionGroup(title: "Notes") var noted: NoteOptions

    func validate() throws {
        try form.validate()
        try noted.validate()
        if follow, form.marks != nil { throw ValidationError("--follow excludes --mark and --only-marked: they need the whole file") }
        if diff != nil, hasOtherOutput { throw ValidationError("--diff excludes other outputs; options that select packets may be added") }
        if form.isAnonymousCopy, follow || limit != nil || noted.packets != nil || decrypted != nil {
            throw ValidationError("--hide with the export of a capture excludes --follow, --limit, --decrypted and notes")
        }
        if follow, noted.packets != nil { throw ValidationError("--follow excludes --flag, --unflag and --comment: it only shows notes") }
    }

    /// True with an option that `--diff` would ignore.
    private var hasOtherOutput: Bool {
        follow || limit != nil || form.tree || form.export != nil || form.marks != nil || form.lines.hide || form.lines.kind != .lines
            || noted.packets != nil || noted.flagged || keylog != nil || bonds != nil || decrypted != nil
    }

    func run() throws {
        if let diff {
            let difference = CaptureDifference(try selected.selection(), names: form.lines.names) { Console.line($0) }
            guard try difference.tell((file, diff)) else { throw ExitCode.fail }
            return
        }
        if form.isAnonymousCopy, let export = form.export {
            return Console.complain(try AnonymousCopy(file, selected.selection()).write(to: export))
        }
        // Marks are read before the packets.
        let marks = try form.marks.map { try PacketMarks(file, rules: $0, showsSecrets: !form.lines.hide) }
        let notes = try notes()
        let selection = try selected.selection(isHiding: form.lines.hide)
        let keys = try decryption()
        var paths = OutputPaths()
        try paths.add([("--decrypted", decrypted), ("--export", form.export)])
        let copy = try decrypted.map { try CaptureCopy($0, format: .pcapng, isSecret: true) }
        let follower = follow ? CaptureFollower(SignalHandler()) : nil
        let pass = ShowPass(
            output: try form.output(), decoder: PacketDecoder(names: form.lines.names), selection: selection, marks: marks,
            onlyMarked: form.onlyMarked, notes: notes, changes: noted, copy: copy, keys: keys, limit: limit ?? .max)
        let reader: CaptureReader
        do {
            let wait = follower.map { follower in { pass.waitsForMore(follower) } }
            reader = try CaptureReader(path: file == "-" ? "/dev/stdin" : file, onEnd: wait)
        } catch {
            if follower?.isStopped == true { return }
            throw CommandFailure(.usage, "\(error)")
        }
        if let remark = reader.remark { Console.complain(remark) }
        do {
            try pass.show(reader)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            try? pass.finish()
            // A record that was being written at the end is no damage.
            if follower?.isStopped == true { return }
            throw CommandFailure(.bench, "\(error)")
        }
        if follower == nil, let lack = pass.contents.lack { throw CommandFailure(.usage, "\(file) \(lack)") }
        if let lack = pass.lackOfMatches(among: reader.count) { Console.complain(lack) }
        try pass.saveNotes()
        if let omitted = pass.omitted {
            Console.complain(
                "\(form.export ?? "") lacks \(Console.count(omitted, "packet")) for which the format has no place; use .pcapng")
        }
    }

    /// The notes beside the file; nil for a stream.
    private func notes() throws -> CaptureNotes? {
        guard file != "-", (try? FileKind(file))?.isRegular == true else {
            if noted.packets != nil { throw CommandFailure(.usage, "notes need a file: \(file) is a stream") }
            if follow { throw CommandFailure(.usage, "--follow needs a regular file; a pipe such as \(file) is followed anyway") }
            return nil
        }
        return try CaptureNotes(beside: file)
    }

    private func decryption() throws -> AirDecryption? {
        guard keylog != nil || bonds != nil else {
            if decrypted != nil { throw CommandFailure(.usage, "--decrypted needs --keylog or --bonds, which have the keys") }
            return nil
        }
        var keys = try keylog.map(Self.keys) ?? AirKeys()
        let store = try bonds.map { try BondOptions.read($0) }
        for key in store?.all.flatMap({ [$0.localLongTermKey, $0.peerLongTermKey] }) ?? [] {
            guard let key else { continue }
            keys.add(
                UInt128(littleEndianOctets: key.value), encryptedDiversifier: key.encryptedDiversifier, randomNumber: key.randomNumber)
        }
        return AirDecryption(keys: keys)
    }

    private static func keys(_ path: String) throws -> AirKeys {
        do {
            return try AirKeys(try String(contentsOfFile: path, encoding: .utf8))
        } catch let error as AirKeys.Malformed {
            throw CommandFailure(.usage, "\(path): \(error)")
        } catch {
            throw CommandFailure(.usage, "cannot read \(path): \(systemReason(error))")
        }
    }
}
