import ArgumentParser
import Foundation
import Packets
import Report
import Simulation
import Throughput
import Timing
import Transport

/// `bluebench throughput`: measures a sweep of flows and compares each row with its ceiling.
struct ThroughputCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "throughput", abstract: "Measure what a link carries, beside the most it could, and say where the rest went.",
        discussion: """
            Every combination of the lists is a row. Notifications go from the subject to the tester, writes the other way, unless --direction \
            says otherwise. With two virtual devices a row takes virtual time only. A subject of its own offers the service of \
            docs/guide/throughput-service.md and is found over the air (--subject air), or connects its host to a port of this program (--subject-port).
            """)

    @Option(help: "virtual, usb:BUS-PORT, usb:VID:PID[/SERIAL], tcp:HOST:PORT, unix:PATH or serial:PATH.") var tester = "virtual"
    @Option(help: "The same, or air: a device that advertises the throughput service.") var subject = "virtual"
    @Option(help: ArgumentHelp("Serve the subject's controller here: tcp-listen:PORT or tcp-listen:HOST:PORT.", valueName: "port"))
    var subjectPort: String?
    @Option(
        help: ArgumentHelp(
            "A product without the throughput service: its name, its address, or the UUID of a service that it advertises.",
            valueName: "peer"))
    var peer: String?
    @Option(help: ArgumentHelp("With --peer: count what this characteristic notifies.", valueName: "uuid"), transform: Arguments.uuid)
    var notify: BluetoothUUID?
    @Option(
        help: ArgumentHelp("With --peer: write to this characteristic without response, as fast as it takes it.", valueName: "uuid"),
        transform: Arguments.uuid)
    var write: BluetoothUUID?
    @Option(help: "notify, write, request, ping (round trips); over BR/EDR l2cap, rfcomm.") var over = "notify"
    @Option(help: "from-subject, to-subject.") var direction: String?
    @Option(help: "1m, 2m, coded-s2, coded-s8.") var phy = "2m"
    @Option(help: "Octets in a link-layer packet, 27...251.") var dataLength = "251"
    @Option(help: "ATT_MTU, 23...517.") var mtu = "247"
    @Option(help: "Of flows over BR/EDR: the longest packet types that are sent, dm1...3-dh5.") var packets = "3-dh5"
    @Option(help: ArgumentHelp("Octets in an SDU over BR/EDR; by default as many as fill a packet.", valueName: "octets")) var sdu: String?
    @Option(help: "Connection interval in ms, 7.5...4000 in steps of 1.25.") var interval = "15"
    @Flag(help: "Each row over LE with a flow over BR/EDR beside it, on the same radios: two rows.") var beside = false
    @Option(
        help: ArgumentHelp("Several links at once, each to a simulated subject of its own; rows for each, and their sum.", valueName: "n"),
        transform: Arguments.whole(1...20))
    var links = 1
    @Option(
        help: ArgumentHelp("A further subject, a device with a link of its own at the same time; may be repeated.", valueName: "device"),
        completion: Completions.devices)
    var also: [String] = []
    @Flag(help: "Data both ways at once on each link: notifications and writes; rows for each, and their sum.") var both = false
    @Flag(help: "Each row on an encrypted link; the devices pair.") var encrypted = false
    @Option(help: "How long each row counts, in seconds.", transform: Arguments.seconds) var seconds = 5.0
    @Option(
        name: .customLong("repeat"), help: ArgumentHelp("Measure each row so many times; the one in the middle is shown.", valueName: "n"),
        transform: Arguments.whole(1...1_000))
    var repetitions = 1
    @Option(
        help: ArgumentHelp(
            "A word of one's own about the set-up, kept with the figures; others do not compare with it.", valueName: "name=value"))
    var label: [String] = []
    @Option(
        help: ArgumentHelp("Compare the figures with those of a file, and fail where one is below --at-least.", valueName: "file"),
        completion: .file())
    var baseline: String?
    @Option(help: ArgumentHelp("With --baseline: how much of its figures is enough: 95%.", valueName: "percent")) var atLeast: String?
    @Option(help: "Fixes every random choice.", transform: Arguments.seed) var seed: UInt64 = 1
    @Flag(help: "The ladder of WWDC 2017, session 712, instead of a sweep.") var ladder = false
    @Flag(help: "Under each row, where the missing part went.") var explain = false
    @Flag(help: "Tell each row and each repetition as it begins, on the standard error stream.") var progress = false
    @Option(help: ArgumentHelp("Write the rows as JSON.", valueName: "file"), completion: .file()) var json: String?
    @Option(help: ArgumentHelp("Write the rows as comma-separated values.", valueName: "file"), completion: .file()) var csv: String?
    @Option(help: ArgumentHelp("Write the rows as a table in Markdown.", valueName: "file"), completion: .file()) var markdown: String?
    @Option(
        help: ArgumentHelp("Write one HTML page with the rows, and with virtual devices their first events.", valueName: "file"),
        completion: .file())
    var html: String?
    @Option(help: ArgumentHelp("Write the packets of tester and subject to a capture.", valueName: "file"), completion: .file())
    var capture: String?
    @Option(
        help: ArgumentHelp("Write the keys that decrypt --air, a line for each session: access address, long term key.", valueName: "file"),
        completion: .file())
    var keylog: String?
    @Option(
        help: ArgumentHelp("Write every transmission on the simulated air to a pcapng capture.", valueName: "file"), completion: .file())
    var air: String?
    @Option(help: "How simulated controllers fill events: actual or reserve-max.") var eventFilling = "actual"
    @Option(
        help: ArgumentHelp("At most so many exchanges in an event of the simulated controllers.", valueName: "k"),
        transform: Arguments.whole(1...1_000))
    var exchanges: Int?
    @Option(help: ArgumentHelp("Of all simulated packets, 0...1, how many arrive corrupted.", valueName: "p")) var packetError = 0.0
    @Option(help: ArgumentHelp("ACL buffers of the simulated controllers.", valueName: "n"), transform: Arguments.whole(1...255))
    var buffers: UInt8?
    @Option(help: ArgumentHelp("A fault of both simulated controllers: t-ifs=US, crc-octets=N, extra-exchanges=N.", visibility: .hidden))
    var quirk: [String] = []
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let plan = try makePlan()
        var settings = try makeSettings()
        if plan.needsBREDR { (settings.tester.profile, settings.subject.profile) = (.dual, .dual) }
        let ends = try BenchEnds(tester: tester, subject: peer == nil ? subject : BenchEnds.overTheAir, port: subjectPort)
        guard ends.areVirtual || air == nil else { throw CommandFailure(.usage, "--air needs two virtual devices: no dongle logs its air") }
        guard ends.areVirtual && encrypted || keylog == nil else {
            throw CommandFailure(.usage, "--keylog needs two virtual devices and --encrypted: it would hold nothing")
        }
        try checkOptions(ends)
        settings.links = links
        let gate = try BaselineGate(baseline, atLeast: atLeast)
        let signals = SignalHandler()
        let stop = StopFlag()
        var output = try ThroughputOutput(
            .init(json: json, csv: csv, markdown: markdown, html: html), isExplaining: explain, showsProgress: progress, seed: seed,
            setup: makeSetup(ends), stop: stop)
        let loop = Timing.RunLoop(mode: ends.areVirtual ? .virtual : .wall)
        let captures = try Captures(packets: capture, air: air, keys: keylog, on: loop)
        signals.onStop { stop.raise() }
        do {
            if ladder {
                try runLadder(settings, &output)
            } else if ends.areVirtual {
                try runVirtual(plan, settings, loop, captures, &output)
            } else {
                try runDevices(plan, ends, settings, loop, captures, &output)
            }
        } catch {
            // The first error is reported.
            try? captures.finish()
            throw CommandFailure(error)
        }
        do { try captures.finish() } catch { throw CommandFailure(error) }
        let code = output.exitCode
        if code != .pass { throw code }
        try gate?.check(output.report)
    }

    // MARK: Options

    /// Rejects options without effect, and a path that occurs twice.
    private func checkOptions(_ ends: BenchEnds) throws {
        guard (peer != nil) == (notify != nil || write != nil), notify == nil || write == nil else {
            throw CommandFailure(.usage, "a product is measured by --peer and one of --notify and --write")
        }
        if peer != nil,
            let option = ["--subject", "--subject-port", "--over", "--direction", "--beside", "--links", "--also", "--both", "--ladder"]
                .first(where: Arguments.given)
        {
            throw CommandFailure(.usage, "--peer is the subject, and --notify or --write the flow: \(option) would change nothing")
        }
        let ofSweep = [
            "--over", "--direction", "--phy", "--data-length", "--mtu", "--interval", "--exchanges", "--capture", "--air",
            "--keylog", "--encrypted", "--html", "--packets", "--sdu", "--beside", "--links", "--also", "--both", "--repeat", "--label",
            "--baseline",
        ]
        if ladder, let option = (ofSweep + ["--tester", "--subject", "--subject-port"]).first(where: Arguments.given) {
            throw CommandFailure(.usage, "--ladder has its own rows, between two virtual devices: \(option) would change nothing")
        }
        let isSimulated = ends.tester == .virtual
        let ofSimulation = ["--packet-error", "--exchanges", "--event-filling", "--buffers", "--quirk"]
        if !isSimulated, let option = ofSimulation.first(where: Arguments.given) {
            throw CommandFailure(.usage, "\(option) is for virtual devices: it would change nothing about \(ends.tester)")
        }
        try checkTogether(ends)
        var paths = OutputPaths()
        for (option, path) in [
            ("--json", json), ("--csv", csv), ("--markdown", markdown), ("--html", html), ("--capture", capture), ("--air", air),
            ("--keylog", keylog),
        ] {
            try paths.add(option, path)
        }
    }

    private func checkTogether(_ ends: BenchEnds) throws {
        guard links > 1 || both || !also.isEmpty else { return }
        if links > 1, !ends.areVirtual { throw CommandFailure(.usage, "--links is for virtual devices: name further ones by --also") }
        if !also.isEmpty, ends.areVirtual {
            throw CommandFailure(.usage, "--also is for real devices: virtual ones are counted by --links")
        }
        guard ends.areVirtual || ends.subjectDevice != nil else {
            throw CommandFailure(.usage, "\(both ? "--both" : "--also") needs a subject whose controller this program drives: a device")
        }
        var taken = [ends.tester] + [ends.subjectDevice].compactMap(\.self)
        for name in also {
            let device: DeviceSelector
            do { device = try DeviceSelector(name) } catch { throw CommandFailure(error) }
            guard device != .virtual, !taken.contains(device) else {
                throw CommandFailure(.usage, "--also \(name): a further subject is a real device of its own")
            }
            taken.append(device)
        }
    }

    /// Returns the description of the setup, which is stored with the results.
    private func makeSetup(_ ends: BenchEnds) throws -> ThroughputSetup {
        let facts = RunFacts.ofThisMachine(version: Bluebench.version)
        var setup = ThroughputSetup()
        (setup.tester, setup.subject) = (tester, subjectPort.map { _ in "a host on a port" } ?? ([subject] + also).joined(separator: ", "))
        (setup.host, setup.build, setup.date, setup.seconds) = (facts.host, facts.version, facts.date, seconds)
        if ends.tester == .virtual { (setup.packetError, setup.eventFilling) = (packetError, eventFilling) }
        (setup.exchanges, setup.buffers) = (exchanges, buffers.map { Int($0) })
        for text in label {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw CommandFailure(.usage, "--label \(text): write NAME=VALUE") }
            setup.labels = (setup.labels ?? [:]).merging([parts[0]: parts[1]]) { $1 }
        }
        return setup
    }

    private func makePlan() throws -> SweepPlan {
        var plan = SweepPlan()
        plan.over = try Self.list(write == nil ? over : FlowKind.write.rawValue, "--over", FlowKind.allCases)
        plan.directions = try direction.map { try Self.list($0, "--direction", FlowDirection.allCases) }
        plan.phys = try Self.list(phy, "--phy", LinkPHY.allCases)
        plan.dataLengths = try Self.numbers(dataLength, "--data-length")
        plan.mtus = try Self.numbers(mtu, "--mtu")
        plan.intervals = try interval.split(separator: ",").map { text in
            guard let milliseconds = Double(text), milliseconds > 0, milliseconds < 100_000 else {
                throw CommandFailure(.usage, "--interval \(text) is no time in ms")
            }
            return Microseconds(Int64((milliseconds * 1_000).rounded()))
        }
        plan.packets = try Self.packetTypes(packets)
        plan.sdus = try sdu.map { try Self.numbers($0, "--sdu") } ?? [nil]
        plan.encryption = [encrypted]
        plan.isShared = beside
        (plan.links, plan.isBothWays) = (links + also.count, both)
        plan.seconds = seconds
        if !plan.needsBREDR, !ladder, let option = ["--packets", "--sdu"].first(where: Arguments.given) {
            throw CommandFailure(
                .usage, "\(option) is for flows over BR/EDR: it changes nothing without --over l2cap, --over rfcomm or --beside")
        }
        do { try plan.check() } catch { throw CommandFailure(.usage, "\(error)") }
        return plan
    }

    private static func list<Item: RawRepresentable<String>>(_ text: String, _ option: String, _ all: [Item]) throws -> [Item] {
        try text.split(separator: ",").map { name in
            guard let item = all.first(where: { $0.rawValue == name }) else {
                throw CommandFailure(.usage, "\(option) \(name): use " + all.map(\.rawValue).joined(separator: ", "))
            }
            return item
        }
    }

    private static func packetTypes(_ text: String) throws -> [BREDRPacketType] {
        let all = PacketFamily.allCases.flatMap(\.types)
        return try text.split(separator: ",").map { name in
            guard let type = all.first(where: { $0.rawValue.lowercased() == name }) else {
                throw CommandFailure(.usage, "--packets \(name): use " + all.map { $0.rawValue.lowercased() }.joined(separator: ", "))
            }
            return type
        }
    }

    private static func numbers(_ text: String, _ option: String) throws -> [Int] {
        try text.split(separator: ",").map { part in
            guard let number = Int(part) else { throw CommandFailure(.usage, "\(option) \(part) is no number") }
            return number
        }
    }

    private func makeSettings() throws -> VirtualPair.Settings {
        var settings = VirtualPair.Settings()
        settings.seed = seed
        guard (0...1).contains(packetError) else { throw CommandFailure(.usage, "--packet-error \(packetError) is not in 0...1") }
        settings.packetErrorRate = packetError
        var both = ControllerSettingsOverlay()
        both.exchanges = exchanges
        both.buffers = buffers
        switch eventFilling {
        case "actual": both.filling = .actual
        case "reserve-max": both.filling = .reserveMax
        default: throw CommandFailure(.usage, "--event-filling \(eventFilling): use actual or reserve-max")
        }
        both.quirks = try Self.quirks(quirk)
        both.apply(to: &settings.tester)
        both.apply(to: &settings.subject)
        return settings
    }

    private static func quirks(_ texts: [String]) throws -> ControllerQuirks {
        var quirks = ControllerQuirks()
        for text in texts {
            let parts = text.split(separator: "=")
            guard parts.count == 2, let number = Int(parts[1]) else { throw CommandFailure(.usage, "--quirk \(text): write NAME=NUMBER") }
            switch parts[0] {
            case "t-ifs": quirks.interFrameSpace = Microseconds(number)
            case "crc-octets": quirks.crcOctets = number
            case "extra-exchanges": quirks.extraExchangesPerEvent = number
            default: throw CommandFailure(.usage, "--quirk \(parts[0]): use t-ifs, crc-octets or extra-exchanges")
            }
        }
        return quirks
    }
}

/// The settings of both simulated controllers on the command line.
struct ControllerSettingsOverlay {
    var exchanges: Int?
    var buffers: UInt8?
    var filling = ControllerConfiguration.EventFilling.actual
    var quirks = ControllerQuirks()

    func apply(to configuration: inout ControllerConfiguration) {
        configuration.maxExchangesPerEvent = exchanges
        configuration.eventFilling = filling
        configuration.quirks = quirks
        if let buffers { configuration.aclCount = buffers }
    }
}
