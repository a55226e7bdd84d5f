import ArgumentParser
import Capture
import Host
import Packets
import Throughput
import Timing
import Transport

extension ThroughputCommand {
    /// Two hosts on simulated controllers, in virtual time.
    func runVirtual(_ plan: SweepPlan, _ settings: VirtualPair.Settings, _ output: inout ThroughputOutput) throws {
        do {
            let log = try capture.map { try CaptureLog(path: $0) }
            let airLog = try air.map { try CaptureLog(path: $0, format: .pcapng) }
            let pair = try VirtualPair(settings, capture: log)
            if let airLog { try pair.logAir(into: airLog) }
            output.watch(pair)
            try sweep(plan, pair.bench, pair.loop, &output)
            try log?.finish()
            try airLog?.finish()
        } catch let error as CaptureError {
            throw CommandFailure(.usage, "\(error)")
        }
    }

    /// Devices that exist, or a subject with a host of its own, in real time.
    func runDevices(_ plan: SweepPlan, _ settings: VirtualPair.Settings, _ output: inout ThroughputOutput) throws {
        let loop = RunLoop(mode: .wall)
        do {
            let log = try capture.map { try CaptureLog(path: $0, epoch: .epoch(of: loop)) }
            defer { if let log { Self.finish(log) } }
            if let subjectPort {
                guard tester == "virtual" else { throw CommandFailure(.usage, "--subject-port needs --tester virtual") }
                let port = try ListeningSubject(settings, listeningOn: try Self.listeningAddress(subjectPort), loop: loop, capture: log)
                Console.complain("waiting for the subject's host on \(port.address)")
                try loop.run { try await port.arrived(within: .seconds(60)) }
                return try sweep(plan, port.bench, loop, &output)
            }
            guard tester != "virtual", subject != "virtual" else {
                throw CommandFailure(.usage, "a virtual device and a real one never meet on the air")
            }
            guard tester != "air" else { throw CommandFailure(.usage, "--tester air: the tester needs a controller") }
            let first = try end("tester", on: tester, loop, log)
            let second = subject == "air" ? nil : try end("subject", on: subject, loop, log)
            defer { try? loop.run { [first, second] in for end in [first, second] { end?.host.close() } } }
            try sweep(plan, ThroughputBench(loop: loop, tester: first, subject: second), loop, &output)
        } catch {
            throw BenchTool.failure(for: error)
        }
    }

    /// A host on a device, whose packets go into the capture.
    private func end(_ role: String, on device: String, _ loop: RunLoop, _ log: CaptureLog?) throws -> ThroughputBench.End {
        var transport = try BenchTool.open(DeviceSelector(device), firmware: firmware, on: loop)
        if let log { transport = CaptureTransport(transport, into: log, interface: try log.addController(role), on: loop) }
        return ThroughputBench.End(
            host: Host(loop: loop, transport: transport, database: GATTDatabase(deviceName: "bluebench"), seed: seed))
    }

    private static func finish(_ log: CaptureLog) {
        do { try log.finish() } catch { Console.complain("the capture is incomplete: \(error)") }
    }

    static func listeningAddress(_ text: String) throws -> SocketAddress {
        let parts = text.split(separator: ":").map(String.init)
        guard parts.count >= 2, parts[0] == "tcp-listen", let port = UInt16(parts[parts.count - 1]) else {
            throw CommandFailure(.usage, "--subject-port \(text): write tcp-listen:PORT or tcp-listen:HOST:PORT")
        }
        return .tcp(host: parts.count > 2 ? parts[1..<(parts.count - 1)].joined(separator: ":") : "127.0.0.1", port: port)
    }

    private func sweep(_ plan: SweepPlan, _ bench: ThroughputBench, _ loop: RunLoop, _ output: inout ThroughputOutput) throws {
        let requests = plan.rows
        let seconds = plan.seconds
        try loop.run { try await bench.start() }
        output.begin(rows: requests.count)
        for request in requests {
            output.announce(request)
            let row = try output.stop.run(on: loop) { await bench.measure(request, seconds: seconds) }
            if output.stop.isRaised { break }
            try output.add(row, at: loop.now)
        }
        try output.finish(at: loop.now)
    }

    /// Each rung on controllers of its own, which keep to the packets per event that the published figure implies.
    func runLadder(_ settings: VirtualPair.Settings, _ output: inout ThroughputOutput) throws {
        output.beginLadder()
        var virtual = Microseconds.zero
        for var rung in LadderRung.all where !output.stop.isRaised {
            if let request = rung.request {
                var own = settings
                own.tester.maxExchangesPerEvent = rung.exchangesPerEvent
                own.subject.maxExchangesPerEvent = rung.exchangesPerEvent
                let pair = try VirtualPair(own)
                let (octets, seconds) = (rung.valueOctets, seconds)
                let row = try pair.loop.run {
                    try await pair.bench.start()
                    return await pair.bench.measure(request, seconds: seconds, valueOctets: octets)
                }
                (rung.measured, rung.packetsPerEvent) = (row.goodput, row.packetsPerEvent)
                virtual = virtual + pair.loop.now
                try output.add(rung: rung, row)
            } else {
                try output.add(rung: rung, nil)
            }
        }
        try output.finish(at: virtual)
    }
}
