import ArgumentParser
import Capture
import Foundation
import Host
import Packets

/// `bluebench show`: decodes a capture, one line for each packet.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Decode a stored capture.",
        discussion: """
            Reads btsnoop, pcapng, pcap, PacketLogger and hcidump files. Each line: number, seconds since the first packet, interface, direction \
            (> from the host, < from the controller, ~ on the air), packet.
            """)

    @Argument(help: "Capture; - for standard input.", completion: .file()) var file: String
    @Option(
        help: ArgumentHelp(
            "Only lines with every word of TEXT, case-insensitive; a word after ! must be absent.", valueName: "text"))
    var filter: String?
    @Option(help: ArgumentHelp("Start at a packet, or at a time since the first packet: 120, 3.5s.", valueName: "place"))
    var from: CapturePlace?
    @Option(help: ArgumentHelp("Stop after a packet or a time.", valueName: "place")) var to: CapturePlace?
    @Option(help: ArgumentHelp("Only packets of a connection: its handle, or access address on the air.", valueName: "number"))
    var connection: String?
    @Option(help: ArgumentHelp("Stop after n lines.", valueName: "n"), transform: Arguments.whole(1...Int.max)) var limit: Int?

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
    @Flag(help: "Show the layers and fields of each packet with their octet ranges.") var tree = false

    func run() throws {
        let reader: CaptureReader
        do { reader = try CaptureReader(path: file == "-" ? "/dev/stdin" : file) } catch { throw CommandFailure(.usage, "\(error)") }
        // Each access of an option looks its value up.
        let (limit, tree) = (limit ?? .max, tree)
        var keys = try decryption()
        let copy = try decrypted.map { try DecryptedCopy($0) }
        let words = (filter ?? "").lowercased().split(separator: " ")
        let (from, to) = (from, to)
        let handle = try connection.map(Self.number)
        var output = Output()
        var decoder = PacketDecoder()
        var start: CaptureTime?
        var shown = 0
        var contents = Contents()
        do {
            // A copy is always completed; lines without a reader are not printed.
            while shown < limit, copy != nil || !Console.isOutputGone, var record = try reader.next() {
                contents.note(record.content)
                if case .air(let frame) = record.content, let opened = keys?.open(frame) { record.content = .air(opened) }
                try copy?.write(record, reader.interfaces)
                let begin = start ?? record.time
                start = begin
                let elapsed = record.time.nanoseconds.subtractingReportingOverflow(begin.nanoseconds).partialValue
                // Packets before the first line are decoded for the state of their connections.
                let isLate = to?.isBefore(reader.count, elapsed) ?? false
                if isLate, copy == nil { break }
                if isLate || from?.isAfter(reader.count, elapsed) ?? false || handle.map({ !record.concerns($0) }) ?? false {
                    if !isLate { _ = decoder.decode(record) }
                    continue
                }
                let packet = tree ? decoder.decode(record) : nil
                output.beginLine()
                Self.write(reader.count, record, since: begin, reader.interfaces, to: &output.text)
                if let packet { packet.write(to: &output.text) } else { decoder.write(record, to: &output.text) }
                guard words.isEmpty || Self.matches(output.line.lowercased(), words) else {
                    output.dropLine()
                    continue
                }
                output.endLine()
                if let packet { for line in packet.tree { output.append(line) } }
                shown += 1
            }
            try copy?.finish()
        } catch {
            output.flush()
            throw CommandFailure(.bench, "\(error)")
        }
        output.flush()
        if let lack = contents.lack { throw CommandFailure(.usage, "\(file) \(lack)") }
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

    private static func number(_ text: String) throws -> UInt32 {
        let digits = text.lowercased().hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
        guard let digits else { throw CommandFailure(.usage, "--connection \(text): a handle is a number as 0x0040 or 64") }
        return digits
    }

    private static func matches(_ line: String, _ words: [Substring]) -> Bool {
        words.allSatisfy { word in word.hasPrefix("!") && word.count > 1 ? !line.contains(word.dropFirst()) : line.contains(word) }
    }

    private static func write(
        _ number: Int, _ record: CaptureRecord, since start: CaptureTime, _ interfaces: [CaptureInterface], to text: inout TextBuffer
    ) {
        let elapsed = record.time.nanoseconds.subtractingReportingOverflow(start.nanoseconds).partialValue / 1_000
        text.write(decimal: number)
        text.write(elapsed < 0 ? " -" : " ")
        text.write(decimal: elapsed.magnitude / 1_000_000)
        text.write(".")
        text.write(decimal: elapsed.magnitude % 1_000_000, digits: 6)
        text.write(" ")
        if interfaces.count > 1, interfaces.indices.contains(record.interface) {
            text.write(PlainText.escaped(interfaces[record.interface].name))
            text.write(" ")
        }
        let way =
            switch record.content {
            case .hci(_, .hostToController?): "> "
            case .hci(_, .controllerToHost?): "< "
            case .hci(_, nil): "? "
            case .air, .baseband: "~ "
            case .note, .other: "  "
            }
        text.write(way)
    }
}

/// A place in a capture: the number of a packet, or a time since the first one.
enum CapturePlace: ExpressibleByArgument {
    case packet(Int)
    case nanoseconds(Int64)

    init?(argument: String) {
        if let number = Int(argument), number > 0 {
            self = .packet(number)
        } else if argument.hasSuffix("s"), let seconds = Double(argument.dropLast()), seconds >= 0, seconds < 1e9 {
            self = .nanoseconds(Int64(seconds * 1e9))
        } else {
            return nil
        }
    }

    func isAfter(_ packet: Int, _ elapsed: Int64) -> Bool {
        switch self {
        case .packet(let number): packet < number
        case .nanoseconds(let time): elapsed < time
        }
    }

    func isBefore(_ packet: Int, _ elapsed: Int64) -> Bool {
        switch self {
        case .packet(let number): packet > number
        case .nanoseconds(let time): elapsed > time
        }
    }
}

extension CaptureRecord {
    /// True for data, commands and events of a connection handle, and for transmissions with an access address.
    fileprivate func concerns(_ connection: UInt32) -> Bool {
        switch content {
        case .hci(let packet, _):
            if let header = packet.aclHeader { return UInt32(header.handle.rawValue & 0x0FFF) == connection }
            let layer = DecodedLayer(hci: packet)
            let field = layer.fields.named("Connection_Handle") ?? layer.returns.named("Connection_Handle")
            if let handle = field?.int { return handle & 0x0FFF == Int(connection) }
            return layer.fields.named("Handles")?.children.contains { $0.children.named("Connection_Handle")?.int == Int(connection) }
                ?? false
        case .air(let frame): return frame.bytes.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) } == connection
        case .baseband, .note, .other: return false
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

/// A copy of a capture with the same packets and interfaces, in which encrypted links are decrypted.
private final class DecryptedCopy {
    private let writer: CaptureWriter

    init(_ path: String) throws {
        do { writer = try CaptureWriter(path: path, format: .pcapng) } catch { throw CommandFailure(.usage, "\(error)") }
    }

    func write(_ record: CaptureRecord, _ interfaces: [CaptureInterface]) throws {
        for var interface in interfaces.dropFirst(writer.interfaces.count) {
            // Formats that can only be read are written in the format with the same packets.
            switch interface.linkType {
            case .nordicSniffer, .leLinkLayer: interface.linkType = .leLinkLayerWithHeader
            case .h4, .linuxMonitor: interface.linkType = .h4WithDirection
            default: break
            }
            _ = try writer.addInterface(interface)
        }
        try writer.write(record)
    }

    func finish() throws { try writer.finish() }
}

/// Lines for the standard output, written in large blocks.
private struct Output {
    var text = TextBuffer()
    private var start = 0

    private static let largestPiece = 1 << 16

    /// The text of the current line.
    var line: String { String(decoding: text.utf8[start...], as: UTF8.self) }

    mutating func beginLine() { start = text.utf8.count }

    mutating func dropLine() { text.cut(to: start) }

    mutating func endLine() {
        text.write("\n")
        if text.utf8.count >= Self.largestPiece { flush() }
    }

    mutating func append(_ line: String) {
        text.write(line)
        endLine()
    }

    mutating func flush() {
        if !text.utf8.isEmpty { Console.write(utf8: text.utf8) }
        text.cut(to: 0)
    }
}
