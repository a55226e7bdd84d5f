import ArgumentParser
import BBCapture
import BBConformance
import BBPackets
import BBProducts
import BBReport
import BBTiming
import BBTransport
import BBTransportUSB
import BBUpperTester
import Foundation

extension RunCommand {
    /// Runs the cases and writes the report as far as possible.
    func execute(_ plan: inout RunPlan, _ ends: BenchEnds, _ signals: SignalHandler, _ tests: PublicSelection?) throws {
        let began = MonotonicClock.now()
        // To open a pipe or a device may take for ever.
        signals.endKeeping()
        var files = try outputs.prepare(captures)
        var store = try openStore(files, ends, plan.selection)
        files.publicTests = tests
        if !controls.resume { files.setCaptureAside() }
        let secrets = captures.keys ? nil : Secrets()
        store?.secrets = secrets
        plan.known = controls.resume ? (store?.known ?? [:]).filter { $0.value.isFinal } : [:]
        let port = try openPort(ends, signals)
        let held = try realDevices(plan.setup)
        let recorder = try makeRecorder(files, held, hasAir: ends.areVirtual || port != nil)
        recorder.secrets = secrets
        let keys = try captures.keylog.map { try KeyLog($0) }
        if let keys { recorder.onKey = { keys.add($0, $1) } }
        if let port { port.logAir(to: recorder) }
        let progress = ProgressLine(
            total: plan.cases.count, done: plan.cases.count { plan.known[$0.id] != nil }, isQuiet: terminal.quiet,
            isColoured: terminal.colour.isOn)
        let runner = Runner(plan, recorder: recorder, observer: progress, port: port, devices: held, surroundings: try devices.world())
        progress.expectation = { [run = runner.plannedRun] in run.isExpected($0) ? run.expectation(of: $0)?.reason : nil }
        signals.onStop { [stopping = runner.stopping] in stopping.raise() }
        controls.limit(runner)
        let reports = runner.open()
        if reports != nil { try log.open(for: runner) }
        let keepsFormer = reports == nil && files.formerCaptures != nil && !controls.resume
        if keepsFormer {
            store = nil
            files.keepFormerReport()
        } else {
            files.removeRemains(isContinued: controls.resume)
        }
        do { try store?.begin() } catch { throw CommandFailure(error) }
        for line in RunHeader.lines(reports ?? [], plan.setup, isWall: reports != nil && (held != nil || port?.loop.mode == .wall)) {
            if !terminal.quiet { Console.line(line) }
        }
        if devices.product.peer != nil || plan.device != nil || devices.product.accessory != .reference, reports != nil {
            try look(with: runner, progress, closing: held)
        }
        var troubles = Troubles()
        let facts = facts()
        var result = runAll(runner, (store, secrets), files, facts, progress, &troubles)
        if let held {
            held.close()
            result.devices = held.reports
            result.usb = USBTally.current
        }
        troubles.attempt { try recorder.finish() }
        if keepsFormer { files.putCaptureBack() }
        if let shortfall = recorder.shortfall { troubles.texts.append(shortfall) }
        troubles.attempt { try keys?.finish() }
        troubles.attempt { try restoreFolder(files, store) }
        if controls.throughput, !result.isInterrupted {
            troubles.attempt { files.throughput = try StandardSweep.run(seed: selection.seed, json: files.throughputJSON) }
        }
        troubles.texts += try files.write(result, about: facts, hiding: secrets)
        let closing = RunClosing(
            result: result, slack: plan.setup.slack, elapsed: MonotonicClock.now() - began, folder: files.folder,
            isColoured: terminal.colour.isOn, isSimulated: ends.areVirtual)
        if reports != nil { closing.tell() }
        closing.tellWhereToGoOn()
        if let fault = port?.fault { troubles.texts.append(fault) }
        for text in runner.productLog?.remarks ?? [] { Console.complain(text) }
        if let lost = runner.lost { Console.complain(lost) }
        for text in troubles.texts { Console.complain(text) }
        if !troubles.texts.isEmpty { throw ExitCode.bench }
        if result.exitCode != 0 { throw ExitCode(result.exitCode) }
    }

    /// Runs the cases. Each result is written to the journal and to JUnit before its line is printed.
    private func runAll(
        _ runner: Runner, _ journal: (store: ResultStore?, secrets: Secrets?), _ files: ReportOptions.Files, _ facts: RunFacts,
        _ progress: ProgressLine,
        _ troubles: inout Troubles
    ) -> RunResult {
        var live: LiveReport?
        troubles.attempt {
            live = try LiveReport(files, runner.plannedRun, about: facts, hiding: journal.secrets, known: runner.knownResults)
            try live?.begin()
        }
        defer { runner.productLog?.close() }
        let result = runner.run { result in
            result.started = progress.caseBegan
            files.publicTests?.judge(&result)
            troubles.attempt { try journal.store?.add(result) }
            troubles.attempt { try live?.add(result) }
        }
        progress.end()
        return result
    }

    private func facts() -> RunFacts {
        var facts = RunFacts.ofThisMachine(version: Bluebench.version)
        facts.again = again
        facts.arguments = Array(CommandLine.arguments.dropFirst())
        facts.options = BenchConfig.origins(of: RunCommand.self)
        return facts
    }

    private func makeRecorder(_ files: ReportOptions.Files, _ devices: HeldDevices?, hasAir: Bool) throws -> Recorder {
        do {
            return try Recorder(
                path: files.capture, airPath: captures.air, hasAir: hasAir, isContinued: controls.resume,
                devices: devices)
        } catch { throw CommandFailure(error) }
    }

    /// Reports a missing device at the start instead of in each case.
    private func look(with runner: Runner, _ progress: ProgressLine, closing held: HeldDevices?) throws {
        do {
            let found = try runner.describeDevice()
            Console.line("subject  \(found.line)")
            for remark in found.remarks { Console.line("         \(remark)") }
            if let change = runner.product?.change { Console.line("device   \(change)") }
            if let profile = devices.product.profile { Console.line("profile  " + (runner.profileLine ?? profile)) }
            if let others = runner.chooseForProduct() { Console.line("not run  \(others)") }
            if controls.quick, let choice = runner.chooseQuick() { Console.line("quick    \(choice)") }
            guard runner.caseCount > 0 else {
                held?.close()
                throw CommandFailure(.bench, "no case ran: no selected case concerns this device")
            }
            progress.total = runner.caseCount
            guard let lengths = runner.expectedLengths(), !lengths.isEmpty else { return }
            progress.forecast = RunForecast(lengths)
            let length = RunForecast.words(lengths.values.reduce(.zero, +))
            Console.line(
                "length   about \(length) for \(Console.count(lengths.count, "case")); an unanswered request adds 30 s, one of the link layer 41 s"
            )
        } catch let failure as SurveyFailure {
            // The results contain the reason.
            if runner.stopping.isRaised { return }
            held?.close()
            throw CommandFailure(.bench, failure.description)
        }
    }

    private func openStore(_ files: ReportOptions.Files, _ ends: BenchEnds, _ cases: RunSelection?) throws -> ResultStore? {
        guard let path = files.store else { return nil }
        let header = ResultStore.Header(
            seed: selection.seed, tester: ends.tester.description,
            subject: devices.host.subjectPort ?? devices.ends.subject ?? "virtual",
            peer: devices.product.peer?.description, shard: selection.shard?.description, selection: cases)
        do { return try ResultStore(path: path, header: header, isResumed: controls.resume) } catch { throw CommandFailure(error) }
    }

    /// Creates the report folder again if it was removed during the run.
    private func restoreFolder(_ files: ReportOptions.Files, _ store: ResultStore?) throws {
        guard let folder = files.folder, let store else { return }
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        guard try store.restore() else { return }
        throw CommandFailure(
            .bench, "the folder \(folder) was removed or renamed during the run: the report was written again, without its capture")
    }

    // MARK: Devices

    /// Returns the real devices, which remain open for the whole run.
    func realDevices(_ setup: BenchSetup) throws -> HeldDevices? {
        guard !Arguments.given("--wait-for-replug") || setup.tester != .virtual || setup.isAlone else {
            throw CommandFailure(.usage, "--wait-for-replug needs real devices: a virtual one is never unplugged")
        }
        guard setup.tester != .virtual || setup.isAlone else { return nil }
        return HeldDevices(setup, timeOut: devices.real.waitForReplug.map { .seconds($0) })
    }

    func openPort(_ ends: BenchEnds, _ signals: SignalHandler) throws -> SubjectPort? {
        guard case .port(let address) = ends.subject else { return nil }
        do {
            let sharing = devices.host.sharing
            let port = try SubjectPort(address, seed: selection.seed, virtualTime: sharing.virtualTime ? sharing.limits : nil)
            signals.onStop(on: port.loop) { [weak port] in port?.stop() }
            Console.line("waiting for an accessory's host on \(port.address)")
            try port.waitForHost(.seconds(devices.host.timeout))
            if let btp = devices.host.btp {
                try port.connect(try BTPPlace(btp)) { Console.line("waiting for the upper tester of the host on \($0)") }
            }
            return port
        } catch is CancellationError {
            throw CommandFailure(.bench, "stopped while it waited for an accessory's host")
        } catch {
            throw CommandFailure(error)
        }
    }
}

/// Problems other than verdicts, reported at the end after all files were written.
struct Troubles {
    var texts: [String] = []

    /// Records a repeated problem only once.
    mutating func attempt(_ body: () throws -> Void) {
        do { try body() } catch {
            let text = CommandFailure(error).message
            if !texts.contains(text) { texts.append(text) }
        }
    }
}
