import BBCapture
import BBHost
import BBPackets
import BBSimulation
import BBTiming
import BBTraffic

/// A tester and a subject between which flows are measured, each row on a new link.
public final class ThroughputBench {
    /// Reads the counters of a simulated controller's link since it was established.
    public typealias Probe = (ConnectionHandle) -> LinkCounters?

    /// One of the two hosts, with access to its controller.
    public struct End {
        public var host: Host
        /// Reads the controller's counters; nil if it is not simulated in this process.
        public var probe: Probe?

        public init(host: Host, probe: Probe? = nil) {
            self.host = host
            self.probe = probe
        }
    }

    let loop: RunLoop
    let tester: End
    /// End of the subject; nil for a foreign host found over the air.
    let subject: End?
    /// Limits of the simulated controllers' connection events besides the common rule.
    public var limits = Ceiling.EventLimits()
    /// Observer of the simulated air, if event timelines are requested.
    public var watch: EventWatch?
    /// The subject, if it lacks the throughput service.
    public var product: ProductFlow?
    /// Timeout for finding a foreign subject.
    public var timeout = Microseconds.seconds(30)
    let testerServer: ThroughputServer
    let subjectServer: ThroughputServer?
    /// Benches with the same tester and one further subject each, for rows with several links.
    private(set) var others: [ThroughputBench] = []
    var foreignAddress: DeviceAddress?

    /// Adds the throughput service to the databases of the hosts, which may be started later.
    public init(loop: RunLoop, tester: End, subject: End?) {
        self.loop = loop
        self.tester = tester
        self.subject = subject
        testerServer = ThroughputServer(tester.host, loop: loop)
        subjectServer = subject.map { ThroughputServer($0.host, loop: loop) }
    }

    private init(beside first: ThroughputBench, subject: End) {
        (loop, tester, self.subject) = (first.loop, first.tester, subject)
        testerServer = first.testerServer
        subjectServer = ThroughputServer(subject.host, loop: loop)
    }

    /// The tester and all subjects in this process.
    var allEnds: [End] { [tester] + ([self] + others).compactMap(\.subject) }

    /// Adds another subject, which may be started later.
    public func add(subject: End) { others.append(ThroughputBench(beside: self, subject: subject)) }

    /// Starts the hosts.
    public func start() async throws {
        try await tester.host.start()
        var taken = [tester.host.controller.address.bdADDR]
        for host in ([self] + others).compactMap(\.subject?.host) {
            host.othersAddresses.formUnion(taken.filter { $0 != 0 })
            try await host.start()
            taken.append(host.controller.address.bdADDR)
        }
    }

    /// Measures one row. It does not throw; errors are reported in the row.
    public func measure(_ request: ThroughputRow.Request, seconds: Double, valueOctets: Int? = nil) async -> ThroughputRow {
        var row = ThroughputRow(request)
        guard !request.over.isBREDR else {
            await measureClassic(&row, seconds: seconds)
            return row
        }
        do {
            let setup = try await LinkSetup(self, request)
            row.link = setup.parameters
            do {
                try await RowMeasurement(self, setup, seconds: seconds, valueOctets: valueOctets).run(&row)
            } catch {
                note(error, in: &row)
            }
            await setup.end()
        } catch {
            note(error, in: &row)
        }
        reset()
        return row
    }

    /// Removes the flows of links that have ended.
    func reset() {
        testerServer.reset()
        for bench in [self] + others { bench.subjectServer?.reset() }
    }

    private func measureClassic(_ row: inout ThroughputRow, seconds: Double) async {
        do {
            let setup = try await ClassicLinkSetup(self, row.request)
            do {
                try await ClassicRowMeasurement(self, setup, seconds: seconds).run(&row)
            } catch {
                note(error, in: &row)
            }
            await setup.end()
        } catch {
            note(error, in: &row)
        }
    }

    func note(_ error: any Error, in row: inout ThroughputRow) {
        switch error {
        case let failure as MeasurementFailure: (row.failure, row.isEnvironment) = (failure.description, failure.isEnvironment)
        case HostError.environment(let fault): (row.failure, row.isEnvironment) = (HostError.environment(fault).description, true)
        case let failure as HostError: row.failure = failure.description
        default: (row.failure, row.isEnvironment) = ("\(error)", true)
        }
    }
}

extension ThroughputBench.End {
    /// A host on a simulated controller whose counters can be read.
    static func simulated(
        _ name: String, _ configuration: ControllerConfiguration, in simulation: Simulation, _ settings: VirtualPair.Settings,
        capture: CaptureLog?, on loop: RunLoop
    ) throws -> Self {
        let (identifier, pipe) = try simulation.addController(configuration)
        let transport = try pipe.captured(into: capture, as: name, on: loop)
        // With the same seed, two hosts would have the same keys in virtual time and reject each other's.
        var random = RandomSource(seed: settings.seed, label: name)
        let database = GATTDatabase(deviceName: name, hasEnhancedBearers: settings.hasEnhancedBearers)
        let host = Host(loop: loop, transport: transport, database: database, seed: random.next())
        return Self(host: host) { handle in simulation.statistics(of: handle, on: identifier).map(LinkCounters.init) }
    }
}
