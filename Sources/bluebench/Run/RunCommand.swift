import ArgumentParser
import BBCases
import BBConformance
import BBHCI
import BBHost
import BBPackets
import BBProducts
import BBReport
import BBSessions
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation

/// `bluebench run`: runs cases against a subject.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run test cases against a device and write a report.",
        discussion: """
            DEVICE is virtual, tcp:HOST:PORT, unix:PATH, serial:PATH[,SPEED], usb:BUS-PORT or usb:VID:PID[/SERIAL]. Two virtual devices run in \
            simulated time. An accessory with its own host connects to the virtual controller of --subject-port, or is found over the air with --peer. \
            --help-hidden also lists what a bench always passes and bench.yaml can hold.

            Exit codes: 0 pass, 1 FAIL, 2 usage, 3 bench error, or INCONC without a FAIL.
            """)

    @Argument(
        help: "Suites, cases, or accessory or controller for all cases of that kind: phy, phy/central-asks-2m, 'gap-*'. Default: all.",
        completion: Completions.cases)
    var filters: [String] = []
    @OptionGroup(title: "Bench") var config: ConfigOption
    @OptionGroup(title: "Cases") var selection: CaseOptions
    @OptionGroup(title: "Public test cases") var publicOptions: PublicOptions
    @OptionGroup var devices: BenchOptions
    @OptionGroup(title: "Course of the run") var controls: RunControls
    @OptionGroup(title: "Commands around a case", visibility: .hidden) var commands: CommandOptions
    @OptionGroup(title: "Log of the product", visibility: .hidden) var log: LogOptions
    @OptionGroup(title: "Report") var outputs: ReportOptions
    @OptionGroup(title: "Captures") var captures: CaptureOptions
    @OptionGroup(title: "Terminal") var terminal: TerminalOptions

    func run() throws {
        // Reading the cases takes a while on a busy machine: a signal meanwhile stops the run, and its report is written.
        let signals = SignalHandler(keepsFirst: true)
        try checkOptions()
        let catalogue = try CaseFolder.load(selection.cases, matching: filters, needsProfiles: devices.product.profile != nil)
        let isAlone = devices.isForOne && catalogue.hasCasesForOne(filters)
        let ends = try BenchEnds(tester: devices.tester, subject: devices.subjectName, port: devices.host.subjectPort, isAlone: isAlone)
        var setup = try setup(ends)
        setup.isAlone = isAlone
        var plan: RunPlan
        do {
            plan = try RunPlan(catalogue: catalogue, setup: setup, filters: filters, tags: selection.tag, shuffle: selection.shuffle)
        } catch {
            throw CommandFailure(.usage, error.list.map { "\($0.position.file): \($0.text)" }.joined(separator: "; "))
        }
        plan.swapsFailures = controls.swap && hasTwoDongles
        plan.keepsTraces = outputs.showPackets
        controls.apply(to: &plan)
        let tests = try publicSelection()
        plan.setup.declared = tests?.declared
        if let tests { try publicOptions.expect(in: &plan, tests, cases: selection.cases) }
        guard try selection.narrow(&plan, filters, tests, report: outputs.report) else { return }
        plan.parameters = try RunParameters.read(selection.set, plan.cases)
        if let description = devices.product.device {
            do { plan.device = try DeviceDescription.load(description) } catch { throw CommandFailure(.usage, "\(error)") }
            plan.deviceFile = URL(fileURLWithPath: description).lastPathComponent
        }
        plan.commands = commands.commands(report: outputs.report)
        plan.labels = try outputs.labelling.labels()
        if selection.list {
            list(&plan)
            return
        }
        guard !plan.cases.isEmpty else { throw CommandFailure(.bench, "no case ran: \(selection.cases) has none") }
        try execute(&plan, ends, signals, tests)
    }

    /// The tables of public test cases, if an option or a document needs them.
    private func publicSelection() throws -> PublicSelection? {
        guard publicOptions.ics != nil || publicOptions.expectedFailures != nil || outputs.documents.showsPublicTests else { return nil }
        return try PublicSelection(folder: selection.cases, ics: publicOptions.ics)
    }

    /// Lists the cases; of a device that is described, those that concern it.
    private func list(_ plan: inout RunPlan) {
        let others = plan.device.flatMap { plan.chooseFor($0, isAccessoryOnly: devices.subjectName == BenchEnds.overTheAir) }
        for testCase in plan.cases { Console.line("\(testCase.id)  \(PlainText.escaped(testCase.title))") }
        if let others {
            Console.line("not run: \(others)")
        } else if devices.product.peer != nil {
            Console.line("a run leaves out what does not concern the device; --device names its description")
        }
    }

    private var hasTwoDongles: Bool { devices.host.subjectPort == nil && devices.ends.subject != "none" }

    /// Rejects options without effect.
    private func checkOptions() throws {
        try selection.check(report: outputs.report)
        try controls.check(report: outputs.report, page: outputs.documents.html, repeats: commands.powerCycle != nil)
        if controls.quick, devices.product.peer == nil, devices.product.device == nil, devices.product.accessory == .reference {
            throw CommandFailure(.usage, "--quick needs an accessory: --peer or --device names it, or --accessory a simulated one")
        }
        if captures.keylog != nil, !devices.areVirtual {
            throw CommandFailure(.usage, "--keylog needs two virtual devices: a real controller does not reveal its keys")
        }
        if Arguments.given("--swap"), !hasTwoDongles {
            throw CommandFailure(.usage, "--swap needs two dongles of the bench: this DUT has its own controller")
        }
        try devices.check()
        try commands.check()
        try log.check()
    }

    private func setup(_ ends: BenchEnds) throws -> BenchSetup {
        if controls.throughput, !ends.areVirtual {
            throw CommandFailure(.usage, "--throughput needs two virtual devices; measure others by `bluebench throughput`")
        }
        var setup = BenchSetup(tester: ends.tester, subject: ends.subjectDevice, seed: selection.seed)
        try devices.apply(to: &setup, areVirtual: ends.areVirtual)
        return setup
    }
}

/// The parameter values on the command line.
enum RunParameters {
    private static func hint(for name: String, _ cases: [TestCase]) -> String {
        let names = Set(cases.flatMap { $0.parameters.map(\.name) }).sorted()
        let near = Suggestion.text(for: name, among: names)
        return near.isEmpty && !names.isEmpty ? "; there are \(names.joined(separator: ", "))" : near
    }

    static func read(_ texts: [String], _ cases: [TestCase]) throws -> [String: CaseValue] {
        var values: [String: CaseValue] = [:]
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw CommandFailure(.usage, "--set takes NAME=VALUE, not '\(text)'") }
            let matching = cases.flatMap { testCase in
                testCase.parameters.filter { $0.name == parts[0] || testCase.id + "." + $0.name == parts[0] }
            }
            guard let parameter = matching.first else {
                throw CommandFailure(.usage, "no case that would run has a parameter '\(parts[0])'" + hint(for: parts[0], cases))
            }
            let time = parameter.isTime ? SourceReader.duration(parts[1]).map { Int($0.rawValue) } : nil
            let number = time ?? Int(parts[1]) ?? (parts[1].hasPrefix("0x") ? Int(parts[1].dropFirst(2), radix: 16) : nil)
            if let range = parameter.range {
                guard let number, range.contains(number) else {
                    throw CommandFailure(.usage, "\(parts[0]) is a number from \(range.lowerBound) to \(range.upperBound)")
                }
            }
            values[parts[0]] = number.map { .number($0) } ?? .text(parts[1])
        }
        return values
    }
}
