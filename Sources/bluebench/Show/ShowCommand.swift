import ArgumentParser
import Capture
import Diagnosis
import Foundation
import Host
import Packets

/// `bluebench show`: decodes a capture, one line for each packet.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Decode a stored capture.",
        discussion: """
            Reads btsnoop, pcapng, pcap, PacketLogger and hcidump files. Each line: number, seconds since the first packet, interface, direction \
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

    func validate() throws { try form.validate() }

    func run() throws {
        // Marks are read before the packets.
        let marks = try form.marks.map { try PacketMarks(file, rules: $0, showsSecrets: !form.lines.hide) }
        let reader: CaptureReader
        do { reader = try CaptureReader(path: file == "-" ? "/dev/stdin" : file) } catch { throw CommandFailure(.usage, "\(error)") }
        // Each access of an option looks its value up.
        let limit = limit ?? .max
        var keys = try decryption()
        let selection = try PacketSelection(selected, isHiding: form.lines.hide)
        var paths = OutputPaths()
        try paths.add([("--decrypted", decrypted), ("--export", form.export)])
        let copy = try decrypted.map { try CaptureCopy($0, format: .pcapng, isSecret: true) }
        var output = try PacketOutput(form)
        var decoder = PacketDecoder(names: form.lines.names)
        var start: CaptureTime?
        var shown = 0
        var contents = Contents()
        do {
            // A copy is always completed; lines without a reader are not printed.
            while shown < limit, copy != nil || !output.isReaderGone, var record = try reader.next() {
                contents.note(record.content)
                if case .air(let frame) = record.content, let opened = keys?.open(frame) { record.content = .air(opened) }
                try copy?.write(record, reader.interfaces)
                let begin = start ?? record.time
                start = begin
                let elapsed = record.time.nanoseconds.subtractingReportingOverflow(begin.nanoseconds).partialValue
                // Packets before the first line are decoded for the state of their connections.
                let isLate = selection.isAfterEnd(reader.count, elapsed)
                if isLate, copy == nil { break }
                if !selection.includes(reader.count, elapsed, record) {
                    if !isLate { _ = decoder.decode(record) }
                    continue
                }
                let marks = marks?[reader.count] ?? []
                if form.onlyMarked, marks.isEmpty {
                    _ = decoder.decode(record)
                    continue
                }
                let packet = PacketOutput.Packet(
                    number: reader.count, elapsed: elapsed, record: record, interfaces: reader.interfaces, marks: marks)
                if try output.show(packet, &decoder, selection) { shown += 1 }
            }
            try copy?.finish()
            try output.finish()
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            try? output.finish()
            throw CommandFailure(.bench, "\(error)")
        }
        if let lack = contents.lack { throw CommandFailure(.usage, "\(file) \(lack)") }
        if let omitted = output.omitted {
            Console.complain(
                "\(form.export ?? "") lacks \(Console.count(omitted, "packet")) for which the format has no place; use .pcapng")
        }
    }

    private func decryption() throws -> AirDecryption? {
        guard keylog != nil || bonds != nil else {
            if decrypted != nil { throw CommandFailure(.usage, "--decrypted needs --keylog or --bonds: nothing would be decrypted") }
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
            throw CommandFailure(.usage, "cannot read \(path)")
        }
    }
}

/// A check that a capture contains the requested packets.
private struct Contents {
    private var isOurs = false
    private var stranger: UInt32?

    mutating func note(_ content: CaptureRecord.Content) {
        if case .other(let type, _) = content { stranger = type.rawValue } else { isOurs = true }
    }

    /// A description of missing packets; nil if there are none.
    var lack: String? {
        isOurs ? nil : stranger.map { "has no Bluetooth packets: its link type is \($0)" } ?? "is a capture without packets"
    }
}
