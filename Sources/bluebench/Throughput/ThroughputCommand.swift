import ArgumentParser
import BBPackets
import BBReport
import BBSessions
import BBSimulation
import BBThroughput
import BBTiming
import BBTransport
import Foundation

/// `bluebench throughput`: measures a sweep of flows and compares each row with its ceiling.
struct ThroughputCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "throughput", abstract: "Measure the goodput of a link, compare it with its ceiling and explain the difference.",
        discussion: """
            DEVICE is virtual, usb:BUS-PORT, usb:VID:PID[/SERIAL], tcp:HOST:PORT, unix:PATH or serial:PATH. Two virtual devices run in simulated time. \
            Lists are separated by commas, and every combination of their values is a row. Notifications go from the subject to the tester, writes the \
            other way, unless --direction says otherwise. A DUT with its own host offers the service of docs/guide/throughput-service.md and is found \
            over the air (--subject air) or connects to a port (--subject-port); a product without the service is measured with --peer. With --from, \
            the flows of a capture become the rows. --help-hidden also lists what bench.yaml can hold.
            """)

    @OptionGroup(title: "Bench") var config: ConfigOption
    @OptionGroup(title: "Devices") var devices: ThroughputDevices
    @OptionGroup(title: "Product without the throughput service") var product: ProductOptions
    @OptionGroup(title: "Flows") var flows: FlowOptions
    @OptionGroup(title: "Simulation") var simulated: SimulatedOptions
    @OptionGroup(title: "Comparison") var comparison: ComparisonOptions
    @OptionGroup(title: "Files") var files: ThroughputFiles
    @OptionGroup(visibility: .hidden) var firmware: FirmwareOptions
    @Option(
        help: ArgumentHelp("Explain the flows of a capture as if they were measured; nothing is sent.", valueName: "capture"),
        completion: .file())
    var from: String?
    @Flag(help: "Under each row, list where the missing part of the ceiling went.") var explain = false
    @Flag(help: "Print each row and repetition on standard error as it begins.") var progress = false

    func run() throws {
        if let from { return try explainCapture(from) }
        let plan = try makePlan()
        var settings = try makeSettings()
        settings.hasEnhancedBearers = flows.bearers != nil
        if plan.needsBREDR { (settings.tester.profile, settings.subject.profile) = (.dual, .dual) }
        let ends = try BenchEnds(
            tester: devices.tester, subject: product.peer == nil ? devices.subject : BenchEnds.overTheAir, port: devices.subjectPort)
        try checkOptions(ends)
        settings.links = flows.links
        let gate = try BaselineGate(comparison.baseline, atLeast: comparison.atLeast)
        let setup = try makeSetup(ends)
        try gate?.expect(plan, setup)
        let signals = SignalHandler()
        let stop = StopFlag()
        var output = try ThroughputOutput(
            files, isExplaining: explain, showsProgress: progress, seed: simulated.seed, setup: setup, stop: stop)
        let loop = BBTiming.RunLoop(mode: ends.areVirtual ? .virtual : .wall)
        let captures = try Captures(packets: files.capture, air: files.air, keys: files.keylog, on: loop)
        signals.onStop { stop.raise() }
        do {
            if flows.ladder {
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
        let isProduct = product.peer != nil
        guard product.flows == (isProduct ? 1 : 0) else {
            throw CommandFailure(.usage, "--peer needs exactly one of --notify, --write and --psm, and each of these needs --peer")
        }
        if isProduct, let option = ThroughputDevices.givenSubject ?? FlowOptions.givenBesidePeer {
            throw CommandFailure(
                .usage, "--peer and \(option) exclude each other: the peer is the DUT, and --notify, --write or --psm is the flow")
        }
        if flows.ladder,
            let option = ThroughputDevices.given ?? FlowOptions.givenBesideLadder ?? ThroughputFiles.givenBesideLadder
                ?? ComparisonOptions.given
        {
            throw CommandFailure(
                .usage, "--ladder and \(option) exclude each other: the ladder has its own rows, between two virtual devices")
        }
        if flows.ladder, Arguments.given("--exchanges") {
            throw CommandFailure(.usage, "--ladder and --exchanges exclude each other: each row has its own number")
        }
        if ends.tester != .virtual, let option = SimulatedOptions.givenBesideSeed {
            throw CommandFailure(.usage, "\(option) needs two virtual devices: it would change nothing with the tester \(ends.tester)")
        }
        guard ends.areVirtual || files.air == nil else {
            throw CommandFailure(.usage, "--air needs two virtual devices: a real controller does not log the air")
        }
        guard ends.areVirtual && (flows.encrypted || flows.bearers != nil) || files.keylog == nil else {
            throw CommandFailure(.usage, "--keylog needs two virtual devices, and --encrypted or --bearers: there are no keys otherwise")
        }
        try checkTogether(ends)
        var paths = OutputPaths()
        try paths.add(files.texts)
    }

    private func checkTogether(_ ends: BenchEnds) throws {
        guard flows.links > 1 || flows.both || !devices.also.isEmpty else { return }
        if flows.links > 1, !ends.areVirtual { throw CommandFailure(.usage, "--links needs virtual devices: add real ones with --also") }
        if !devices.also.isEmpty, ends.areVirtual {
            throw CommandFailure(.usage, "--also needs real devices: use --links for virtual ones")
        }
        guard ends.areVirtual || ends.subjectDevice != nil else {
            throw CommandFailure(
                .usage, "\(flows.both ? "--both" : "--also") needs a DUT whose controller this program drives: name a device with --subject"
            )
        }
        var taken = [ends.tester] + [ends.subjectDevice].compactMap(\.self)
        for name in devices.also {
            let device: DeviceSelector
            do { device = try DeviceSelector(name) } catch { throw CommandFailure(error) }
            guard device != .virtual, !taken.contains(device) else {
                throw CommandFailure(.usage, "--also \(name) must be a real device that is not used yet")
            }
            taken.append(device)
        }
    }

    /// Returns the description of the setup, which is stored with the results.
    private func makeSetup(_ ends: BenchEnds) throws -> ThroughputSetup {
        let facts = RunFacts.ofThisMachine(version: Bluebench.version)
        var setup = ThroughputSetup()
        (setup.tester, setup.subject) = (
            devices.tester,
            devices.subjectPort.map { _ in "a host on a port" } ?? ([devices.subject] + devices.also).joined(separator: ", ")
        )
        (setup.host, setup.build, setup.date, setup.seconds) = (facts.host, facts.version, facts.date, flows.seconds)
        if ends.tester == .virtual {
            (setup.packetError, setup.eventFilling) = (simulated.packetErrorRate, simulated.eventFilling.rawValue)
            (setup.exchanges, setup.buffers) = (simulated.exchanges, simulated.buffers.map { Int($0) })
        }
        let options = BenchConfig.origins(of: ThroughputCommand.self)
        setup.options = options.isEmpty ? nil : options
        for text in comparison.label {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw CommandFailure(.usage, "--label \(text): write NAME=VALUE") }
            setup.labels = (setup.labels ?? [:]).merging([parts[0]: parts[1]]) { $1 }
        }
        return setup
    }

    private func makePlan() throws -> SweepPlan {
        let plan = try flows.plan(product: product.kind, further: devices.also.count)
        let hasChannels = plan.over.contains(.channel)
        if !hasChannels, !flows.ladder, let option = FlowOptions.givenOfChannels {
            throw CommandFailure(.usage, "\(option) needs --over channel")
        }
        if !hasChannels, !plan.needsBREDR, !flows.ladder, flows.sdu != nil {
            throw CommandFailure(
                .usage, "--sdu needs --over channel, --over l2cap or --over rfcomm")
        }
        if !plan.needsBREDR, !flows.ladder, let option = FlowOptions.givenOfBREDR {
            throw CommandFailure(
                .usage, "\(option) needs --over l2cap, --over rfcomm or --beside")
        }
        do { try plan.check() } catch { throw CommandFailure(.usage, "\(error)") }
        return plan
    }

    private func makeSettings() throws -> VirtualPair.Settings {
        var settings = VirtualPair.Settings()
        settings.seed = simulated.seed
        settings.packetErrorRate = simulated.packetErrorRate
        try simulated.apply(to: &settings.tester)
        try simulated.apply(to: &settings.subject)
        return settings
    }
}
