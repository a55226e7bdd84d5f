import ArgumentParser
import BBPackets
import BBSimulation
import BBThroughput
import BBTiming
import BBVirtualDongle

/// The two sides of the measured links.
struct ThroughputDevices: ParsableArguments {
    @Option(help: ArgumentHelp("Tester device.", valueName: "device"), completion: Completions.devices) var tester = "virtual"
    @Option(
        help: ArgumentHelp("Device under test (DUT), or air for one that advertises the throughput service.", valueName: "device"),
        completion: Completions.devices)
    var subject = "virtual"
    @Option(
        help: ArgumentHelp(
            "Serve the DUT's virtual controller to its host: tcp-listen:PORT, tcp-listen:HOST:PORT or unix-listen:PATH.",
            valueName: "socket"))
    var subjectPort: String?
    @Option(
        help: ArgumentHelp("A further DUT, on its own link at the same time. Repeatable.", valueName: "device"),
        completion: Completions.devices)
    var also: [String] = []

    static var givenSubject: String? { optionNames.dropFirst().first(where: Arguments.given) }
}

/// A product that is measured by one of its own characteristics or channels.
struct ProductOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Peer: its name, its address, or the UUID of a service that it advertises.", valueName: "peer"))
    var peer: String?
    @Option(help: ArgumentHelp("Count the notifications of this characteristic.", valueName: "uuid"), transform: Arguments.uuid)
    var notify: BluetoothUUID?
    @Option(
        help: ArgumentHelp("Write to this characteristic without response, as fast as the link takes it.", valueName: "uuid"),
        transform: Arguments.uuid)
    var write: BluetoothUUID?
    @Option(
        help: ArgumentHelp(
            "Open an L2CAP channel to this SPSM, 1 to 255, or to the published one, and send, or count what comes (--direction).",
            valueName: "number|published"),
        transform: ChannelTarget.init)
    var psm: ChannelTarget?

    /// The number of options that select a flow.
    var flows: Int { [notify != nil, write != nil, psm != nil].count { $0 } }

    /// The flow, if it is not notified.
    var kind: FlowKind? { psm != nil ? .channel : write != nil ? .write : nil }

    var measured: ProductFlow.Measured? {
        if let psm { return .channel(psm.spsm) }
        return (notify ?? write).map { .characteristic($0) }
    }
}

/// The SPSM of a peer's channel: a number, or the one that the peer publishes.
struct ChannelTarget: Sendable {
    /// Nil for the published one.
    var spsm: UInt16?

    init(_ text: String) throws {
        if text == "published" { return }
        spsm = try Arguments.whole(1...255)(text)
    }
}

/// The behaviour of the simulated controllers and their air.
struct SimulatedOptions: ParsableArguments {
    enum Filling: String, ExpressibleByArgument, CaseIterable {
        case actual
        case reserveMax = "reserve-max"
    }

    @Option(help: ArgumentHelp("Seed of every random choice.", valueName: "n"), transform: Arguments.seed) var seed: UInt64 = 1
    @Option(help: ArgumentHelp("Packet error rate, 0 to 1.", valueName: "rate"), transform: Arguments.rate) var packetErrorRate = 0.0
    @Option(help: "Length of the reply that a connection event reserves time for.") var eventFilling = Filling.actual
    @Option(
        help: ArgumentHelp("Maximum number of exchanges in a connection event.", valueName: "n", visibility: .hidden),
        transform: Arguments.whole(1...1_000))
    var exchanges: Int?
    @Option(
        help: ArgumentHelp("Number of ACL buffers of each controller.", valueName: "n", visibility: .hidden),
        transform: Arguments.whole(1...255))
    var buffers: UInt8?
    @Option(help: ArgumentHelp("Quirk of both controllers; see bluebench dongle --list-quirks.", visibility: .hidden))
    var quirk: [String] = []

    static var givenBesideSeed: String? { optionNames.dropFirst().first(where: Arguments.given) }

    func apply(to configuration: inout ControllerConfiguration) throws {
        configuration.maxExchangesPerEvent = exchanges
        configuration.eventFilling = eventFilling == .actual ? .actual : .reserveMax
        do throws(DongleConduct.Mistake) {
            try DongleConduct(quirk).apply(to: &configuration)
        } catch {
            throw CommandFailure(.usage, "--quirk: \(error)")
        }
        if let buffers { configuration.aclCount = buffers }
    }
}

/// The figures for comparison.
struct ComparisonOptions: ParsableArguments {
    @Option(
        name: .customLong("repeat"), help: ArgumentHelp("Number of measurements of each row; the median is shown.", valueName: "n"),
        transform: Arguments.whole(1...1_000))
    var `repeat` = 1
    @Option(
        help: ArgumentHelp(
            "Label of the set-up, kept with the figures. Different labels are not compared. Repeatable.", valueName: "name=value"))
    var label: [String] = []
    @Option(
        help: ArgumentHelp("Earlier figures. Exit code 1 where a row is below --at-least.", valueName: "file"),
        completion: .file())
    var baseline: String?
    @Option(help: ArgumentHelp("With --baseline: the smallest share that passes. Default: 95%.", valueName: "percent")) var atLeast: String?
}

/// The output files for rows and packets.
struct ThroughputFiles: ParsableArguments {
    @Option(help: ArgumentHelp("Write the rows as JSON.", valueName: "file"), completion: .file()) var json: String?
    @Option(help: ArgumentHelp("Write the rows as comma-separated values.", valueName: "file"), completion: .file()) var csv: String?
    @Option(help: ArgumentHelp("Write the rows as a Markdown table.", valueName: "file"), completion: .file()) var markdown: String?
    @Option(
        help: ArgumentHelp(
            "Write an HTML page with the rows, and in simulated time with their first connection events.", valueName: "file"),
        completion: .file())
    var html: String?
    @Option(help: ArgumentHelp("Write the HCI packets of tester and DUT to a capture.", valueName: "file"), completion: .file())
    var capture: String?
    @Option(help: ArgumentHelp("Write every transmission on the simulated air as pcapng.", valueName: "file"), completion: .file())
    var air: String?
    @Option(
        help: ArgumentHelp("Write the keys that decrypt --air, one line per session: access address, long term key.", valueName: "file"),
        completion: .file())
    var keylog: String?

    /// The ladder writes only JSON and tables.
    static var givenBesideLadder: String? { optionNames.drop { $0 != "--html" }.first(where: Arguments.given) }
}
