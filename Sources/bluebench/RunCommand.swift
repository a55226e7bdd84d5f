import ArgumentParser
import Conformance
import Foundation
import Packets
import Report
import Timing
import Transport
import TransportUSB

/// `bluebench run`: cases against a subject.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run cases against a subject and write a report.",
        discussion: """
            Devices: virtual, tcp:HOST:PORT, unix:PATH, serial:PATH[,SPEED], usb:BUS-PORT, usb:VID:PID[/SERIAL]. \
            An accessory with a host of its own connects to the virtual controller that --subject-port serves.
            """)

    @Argument(help: "Suites or cases: phy, phy/central-asks-2m, 'gap-*'. All by default.") var filters: [String] = []
    @Option(help: ArgumentHelp("Who tests.", valueName: "device")) var tester = "virtual"
    @Option(help: ArgumentHelp("Who is tested.", valueName: "device")) var subject = "virtual"
    @Option(
        help: ArgumentHelp("Serve the subject's controller to a foreign host: tcp-listen:PORT or unix-listen:PATH.", valueName: "where"))
    var subjectPort: String?
    @Option(help: ArgumentHelp("Seconds to wait for the foreign host.", valueName: "s")) var timeOut = 30
    @Option(help: ArgumentHelp("Where the cases are.", valueName: "folder")) var cases = CaseFolder.standard
    @Option(name: .customLong("case"), help: ArgumentHelp("Only this case; may be repeated.", valueName: "id")) var only: [String] = []
    @Option(name: .customLong("suite"), help: ArgumentHelp("Only this suite; may be repeated.", valueName: "name")) var suites: [String] =
        []
    @Option(name: .customLong("tag"), help: ArgumentHelp("Only cases with this tag: usb. May be repeated.", valueName: "name"))
    var tags: [String] = []
    @Option(help: ArgumentHelp("Fixes every random choice.", valueName: "n")) var seed: UInt64 = 1
    @Option(
        help: ArgumentHelp(
            "What real devices may be late: added to the ends of windows in which something must come. 100 by default.", valueName: "ms"))
    var slack: Int?
    @Option(help: ArgumentHelp("Run the cases in an order drawn from this seed.", valueName: "seed")) var shuffle: UInt64?
    @Option(name: .customLong("set"), help: ArgumentHelp("Set a parameter: NAME=VALUE or SUITE/CASE.NAME=VALUE.", valueName: "n=v"))
    var values: [String] = []
    @Flag(help: "List the cases that would run.") var list = false
    @Flag(help: "Continue the run whose results are in the report folder.") var resume = false
    @Flag(help: "Measure throughput too, and draw it into the page: two virtual devices only.") var throughput = false
    @OptionGroup var firmware: FirmwareOptions
    @Option(
        help: ArgumentHelp(
            "When a device is lost, or not there yet, wait so long for it to come back; the case that was broken off is run again.",
            valueName: "s"))
    var waitForReplug: Int?
    @OptionGroup var outputs: ReportOptions

    func run() throws {
        let catalogue = try CaseFolder.load(cases)
        let ends = try BenchEnds(tester: tester, subject: subject, port: subjectPort, absent: "none")
        let setup = try setup(ends)
        var plan: RunPlan
        do {
            plan = try RunPlan(catalogue: catalogue, setup: setup, filters: filters + only + suites, tags: tags, shuffle: shuffle)
        } catch {
            throw CommandFailure(.usage, error.list.map { "\($0.position.file): \($0.text)" }.joined(separator: "; "))
        }
        plan.parameters = try RunParameters.read(values, plan.cases)
        if list {
            for testCase in plan.cases { Console.line("\(testCase.id)  \(PlainText.escaped(testCase.title))") }
            return
        }
        guard !plan.cases.isEmpty else { throw CommandFailure(.bench, "no case ran: there is none in \(cases)") }
        try execute(&plan, ends)
    }

    private func setup(_ ends: BenchEnds) throws -> BenchSetup {
        if throughput, !ends.areVirtual {
            throw CommandFailure(.usage, "--throughput needs two virtual devices; measure others by `bluebench throughput`")
        }
        var setup = BenchSetup(tester: ends.tester, subject: ends.subjectDevice, seed: seed)
        setup.opener = DeviceOpener(firmware: firmware.folders)
        guard let slack else { return setup }
        guard !ends.areVirtual else {
            throw CommandFailure(.usage, "--slack is for wall time: nothing is late between two virtual devices")
        }
        guard (0...10_000).contains(slack) else { throw CommandFailure(.usage, "--slack is 0 to 10000 ms") }
        setup.slack = .milliseconds(slack)
        return setup
    }

    private func execute(_ plan: inout RunPlan, _ ends: BenchEnds) throws {
        var files = try outputs.prepare()
        let header = ResultStore.Header(seed: seed, tester: plan.setup.tester.description, subject: subjectPort ?? subject)
        var store: ResultStore?
        do {
            if let path = files.store { store = try ResultStore(path: path, header: header, isResumed: resume) }
        } catch { throw CommandFailure(.usage, "\(error)") }
        plan.known = resume ? (store?.known ?? [:]).filter { $0.value.isFinal } : [:]
        let progress = ProgressLine(total: plan.cases.count)
        let port = try openPort(ends)
        let signals = SignalHandler()
        let devices = try realDevices(plan.setup)
        let recorder: Recorder
        do { recorder = try Recorder(path: files.capture, airPath: outputs.air, isContinued: resume, devices: devices) } catch {
            throw CommandFailure(.usage, "\(error)")
        }
        if let port { port.logAir(to: recorder) }
        let runner = Runner(plan, recorder: recorder, observer: progress, port: port, devices: devices)
        signals.onStop { [stopping = runner.stopping] in stopping.raise() }
        let reports = runner.open()
        if let reports {
            for line in RunHeader.lines(reports, plan.setup, isWall: devices != nil || port != nil) { Console.line(line) }
        }
        var result = try runner.run { result in
            do { try store?.add(result) } catch { throw CommandFailure(.bench, "\(error)") }
        }
        progress.end()
        if let devices {
            devices.close()
            result.devices = devices.reports
            result.usb = USBTally.current
        }
        do { try recorder.finish() } catch { Console.complain("the capture is incomplete: \(error)") }
        if throughput { files.throughput = try StandardSweep.run(seed: seed, json: files.throughputJSON) }
        try files.write(result)
        conclude(result, slack: plan.setup.slack, hadDevices: reports != nil)
        if let lost = runner.lost { Console.complain(lost) }
        if result.exitCode != 0 { throw ExitCode(result.exitCode) }
    }

    /// The last lines: the count of verdicts, and what the machine or the devices did to the run.
    private func conclude(_ result: RunResult, slack: Microseconds, hadDevices: Bool) {
        if hadDevices { Console.line(ProgressLine.summary(result)) }
        if let late = result.worstLatenessMilliseconds, late > slack.milliseconds / 2 {
            Console.line(
                "the machine served the bench up to \(Int(late)) ms late; the slack of windows is \(Int(slack.milliseconds)) ms")
        }
        for device in result.devices { if let race = device.race { Console.line("\(device.side) \(device.device): \(race)") } }
    }

    /// Real devices stay open for the whole run.
    private func realDevices(_ setup: BenchSetup) throws -> HeldDevices? {
        if let waitForReplug {
            guard (1...86_400).contains(waitForReplug) else { throw CommandFailure(.usage, "--wait-for-replug is 1...86400 seconds") }
            guard setup.tester != .virtual else {
                throw CommandFailure(.usage, "--wait-for-replug needs real devices: a virtual one is never unplugged")
            }
        }
        guard setup.tester != .virtual else { return nil }
        return HeldDevices(setup, timeOut: waitForReplug.map { .seconds($0) })
    }

    private func openPort(_ ends: BenchEnds) throws -> SubjectPort? {
        guard case .port(let address) = ends.subject else { return nil }
        do {
            let port = try SubjectPort(address, seed: seed)
            Console.line("waiting for an accessory's host on \(port.address)")
            try port.waitForHost(.seconds(timeOut))
            return port
        } catch {
            throw CommandFailure(error)
        }
    }
}

/// Values of parameters on the command line.
enum RunParameters {
    static func read(_ texts: [String], _ cases: [TestCase]) throws -> [String: CaseValue] {
        var values: [String: CaseValue] = [:]
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw CommandFailure(.usage, "--set takes NAME=VALUE, not '\(text)'") }
            let matching = cases.flatMap { testCase in
                testCase.parameters.filter { $0.name == parts[0] || testCase.id + "." + $0.name == parts[0] }
            }
            guard let parameter = matching.first else {
                throw CommandFailure(.usage, "no case that would run has a parameter '\(parts[0])'")
            }
            let number = Int(parts[1]) ?? (parts[1].hasPrefix("0x") ? Int(parts[1].dropFirst(2), radix: 16) : nil)
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
