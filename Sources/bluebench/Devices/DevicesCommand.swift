import ArgumentParser
import BBDongles
import BBPackets
import BBReport
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation

/// `bluebench devices`: lists the dongles of this machine.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List USB dongles with chip, version, features and what prevents their use.",
        discussion: """
            Each usable dongle is reset to be asked. With --probe each is checked: what it claims against what it does, data and events of many \
            lengths, roles, the air and, with --with, a connection to a second dongle. The last line recommends a tester and a second dongle.
            """)

    @Argument(
        help: ArgumentHelp("Only these devices: usb:..., and with --probe also tcp:, unix: and serial:.", valueName: "device"),
        completion: Completions.devices)
    var devices: [String] = []
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var firmware: FirmwareOptions
    @Flag(help: "Test each dongle: compare what it claims with what it does.") var probe = false
    @Option(help: ArgumentHelp("With --probe: a second dongle that advertises and accepts a connection.", valueName: "device")) var with:
        String?
    @Option(
        help: ArgumentHelp("With --probe: time to listen for advertisers. Default: 3.", valueName: "s"), transform: Arguments.whole(1...600)
    )
    var listen: Int?
    @Option(help: ArgumentHelp("Exit code 3 unless this many dongles can be used.", valueName: "n"), transform: Arguments.whole(1...100))
    var require: Int?
    @Option(
        help: ArgumentHelp(
            "Timeout for the named devices to be usable, or as many as --require asks for, or any.", valueName: "s"),
        transform: Arguments.whole(1...86_400))
    var waitForDevice: Int?

    func run() throws {
        guard probe || with == nil && listen == nil else {
            throw CommandFailure(.usage, "--with and --listen need --probe")
        }
        let (signals, stopping) = (SignalHandler(), StopFlag())
        signals.onStop { stopping.raise() }
        let rows = try DeviceRows(command: self, stopping: stopping)
        let found = try waitForDevice.map { try rows.wait(for: devices, atLeast: needed, seconds: $0) } ?? rows.all(devices)
        let reference = probe ? ReferencePair.choose(found.compactMap(\.candidate)) : nil
        if json {
            let document = DeviceRow.Document(devices: found, reference: reference)
            Console.write(try ResultsJSON.encode(document, keys: .convertToSnakeCase))
        } else if found.isEmpty {
            Console.line("no USB Bluetooth dongle is plugged in")
        } else {
            for row in found { for line in row.lines { Console.line(line) } }
            if let reference { Console.line(reference.line) }
        }
        if stopping.isRaised { throw CommandFailure(.bench, "interrupted") }
        let lost = found.filter(\.isLost).map(\.selector)
        if !lost.isEmpty { throw CommandFailure(.bench, "\(lost.joined(separator: ", ")) went away during the check") }
        let usable = found.count { $0.impediment == nil }
        guard usable < needed else { return }
        let kinds = Set(found.compactMap(\.impedimentKind)).map(\.rawValue).sorted()
        let reason = kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))"
        throw CommandFailure(.bench, "only \(usable) of \(needed) required dongles can be used\(reason)")
    }

    /// The number of dongles that must be usable: the given one, or all named dongles if the command waits for them.
    private var needed: Int { require ?? (waitForDevice == nil ? 0 : max(1, devices.count)) }
}

/// The option for additional rows of the table of known dongles.
struct KnownDonglesOptions: ParsableArguments {
    @Option(help: ArgumentHelp("YAML file with further rows for the table of known dongles.", valueName: "file"), completion: .file())
    var knownDongles: String?

    func read() throws -> KnownDongles {
        var table = KnownDongles.builtIn
        guard let path = knownDongles else { return table }
        guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8) else {
            throw CommandFailure(.usage, "--known-dongles: \(path) cannot be read as text")
        }
        do throws(TableErrors) { try table.add(text, file: path) } catch {
            for problem in error.list.dropLast() { Console.problem("\(problem)") }
            throw CommandFailure(.usage, error.list.last.map { "\($0)" } ?? "")
        }
        return table
    }
}
