import ArgumentParser
import BBCapture
import BBConformance
import BBHost
import BBPackets
import BBProducts
import BBThroughput
import BBTiming
import BBTransport

extension ThroughputCommand {
    /// Measures between two hosts on simulated controllers, in virtual time.
    func runVirtual(
        _ plan: SweepPlan, _ settings: VirtualPair.Settings, _ loop: RunLoop, _ captures: Captures, _ output: inout ThroughputOutput
    ) throws {
        let pair = try VirtualPair(settings, loop: loop, capture: captures.packets)
        if files.html != nil { pair.bench.watch = EventWatch() }
        try captures.logAir(of: pair.simulation, beside: pair.bench.watch)
        output.watch(pair)
        try loop.run { try await pair.bench.start() }
        try sweep(plan, pair.bench, loop, &output)
    }

    /// Measures with real devices, or a subject with its own host, in real time.
    func runDevices(
        _ plan: SweepPlan, _ ends: BenchEnds, _ settings: VirtualPair.Settings, _ loop: RunLoop, _ captures: Captures,
        _ output: inout ThroughputOutput
    ) throws {
        if case .port(let address) = ends.subject {
            let port = try ListeningSubject(settings, listeningOn: address, loop: loop, capture: captures.packets)
            Console.complain("waiting for the subject's host on \(port.address)")
            let isReady = try begin(on: loop, output) {
                try await port.arrived(within: .seconds(60))
                try await port.bench.start()
            }
            return try sweep(plan, port.bench, loop, &output, isReady: isReady)
        }
        let tester = try end("tester", on: ends.tester, loop, captures)
        let subject = try ends.subjectDevice.map { try end("subject", on: $0, loop, captures) }
        let further = try devices.also.enumerated().map { try end("subject-\($0 + 2)", on: DeviceSelector($1), loop, captures) }
        let hosts = ([tester, subject] + further).compactMap(\.?.host)
        defer { try? loop.run { try await loop.runTogether(hosts.map { host in { await host.leave() } }) } }
        let bench = ThroughputBench(loop: loop, tester: tester, subject: subject)
        for end in further { bench.add(subject: end) }
        bench.product = productFlow
        let isReady = try begin(on: loop, output) { try await bench.start() }
        output.note(
            tester: Self.chip(of: tester.host),
            subject: subject.map { ([$0] + further).map { Self.chip(of: $0.host) }.joined(separator: "; ") })
        try sweep(plan, bench, loop, &output, isReady: isReady)
    }

    /// - Returns: false if the user has stopped it.
    private func begin(on loop: RunLoop, _ output: ThroughputOutput, _ body: @escaping () async throws -> Void) throws -> Bool {
        do { try output.stop.run(on: loop, body) } catch is CancellationError { return false }
        return true
    }

    /// The product that is measured by its own characteristic or channel, if one is given.
    private var productFlow: ProductFlow? {
        guard let peer = product.peer, let measured = product.measured else { return nil }
        let selector = PeerSelector(peer)
        return ProductFlow(measured) { host in
            do { return try await selector.find(with: host) } catch let failure as SurveyFailure {
                throw MeasurementFailure(failure.description, isEnvironment: true)
            }
        }
    }

    /// Returns the company and firmware numbers.
    private static func chip(of host: Host) -> String {
        let controller = host.controller
        let numbers = [controller.manufacturer, controller.hciRevision, controller.lmpSubversion].map { Hex.number($0) }
        return "company \(numbers[0]), HCI revision \(numbers[1]), LMP subversion \(numbers[2])"
    }

    /// Creates a host on a device whose packets are captured.
    private func end(_ role: String, on device: DeviceSelector, _ loop: RunLoop, _ captures: Captures) throws -> ThroughputBench.End {
        let opened = try firmware.open(device, on: loop).observed { try $0.captured(into: captures.packets, as: role, on: loop) }
        let database = GATTDatabase(deviceName: "bluebench", hasEnhancedBearers: flows.bearers != nil)
        return ThroughputBench.End(host: opened.host(on: loop, database: database, seed: simulated.seed))
    }

    private func sweep(
        _ plan: SweepPlan, _ bench: ThroughputBench, _ loop: RunLoop, _ output: inout ThroughputOutput, isReady: Bool = true
    ) throws {
        let requests = isReady ? plan.rows : []
        let seconds = plan.seconds
        output.begin(rows: plan.count)
        for request in requests {
            var measured: [[ThroughputRow]] = []
            let repetitions = comparison.repeat
            for repetition in 1...repetitions {
                output.announce(request, repetition: repetitions > 1 ? ", \(repetition) of \(repetitions)" : "")
                let rows = try output.stop.run(on: loop, endsVirtualTime: true) {
                    if plan.isTogether { return await bench.measureTogether(request, seconds: seconds) }
                    guard let companion = plan.companion(of: request) else { return [await bench.measure(request, seconds: seconds)] }
                    return await bench.measure(request, beside: companion, seconds: seconds)
                }
                if output.stop.isRaised { break }
                measured.append(rows)
            }
            if output.stop.isRaised { break }
            for flow in measured[0].indices {
                if let row = ThroughputRow.middle(of: measured.map { $0[flow] }) { try output.add(row, at: loop.now) }
            }
        }
        try output.finish(at: loop.now)
    }

    /// Measures each rung on its own controllers, limited to the packets per event implied by the published value.
    func runLadder(_ settings: VirtualPair.Settings, _ output: inout ThroughputOutput) throws {
        output.beginLadder()
        var virtual = Microseconds.zero
        for var rung in LadderRung.all where !output.stop.isRaised {
            var own = settings
            own.tester.maxExchangesPerEvent = rung.exchangesPerEvent
            own.subject.maxExchangesPerEvent = rung.exchangesPerEvent
            let pair = try VirtualPair(own)
            let (request, octets, seconds) = (rung.request, rung.valueOctets, flows.seconds)
            try pair.loop.run { try await pair.bench.start() }
            let row = try output.stop.run(on: pair.loop, endsVirtualTime: true) {
                await pair.bench.measure(request, seconds: seconds, valueOctets: octets)
            }
            if output.stop.isRaised { break }
            (rung.measured, rung.packetsPerEvent) = (row.goodput, row.packetsPerEvent)
            virtual = virtual + pair.loop.now
            try output.add(rung: rung, row)
        }
        try output.finish(at: virtual)
    }
}
