import BBHCI
import BBPackets
import BBTiming
import BBTransport
import BBVirtualDongle

@testable import BBCases
@testable import BBConformance

/// Runs one case in the simulation with packets changed between one end and its controller.
enum Trial {
    enum Direction: Sendable {
        case toHost
        case toController
    }

    typealias Change = (Direction, HCIPacket) -> [HCIPacket]

    /// - Parameters:
    ///   - lateness: time by which a wait of the case was over too late.
    ///   - change: replacements for a packet.
    static func run(
        _ id: String, at changed: Side = .subject, own: [Side: OwnAddress] = [:], bounds: RunBounds = RunBounds(),
        catalogue: Catalogue? = nil, declared: DeclaredItems? = nil, lateness: Microseconds = .zero, change: @escaping Change
    ) throws -> CaseResult {
        let catalogue = try catalogue ?? SuiteTests.catalogue()
        guard let testCase = catalogue.cases.first(where: { $0.id == id }) else {
            return CaseResult(id: id, title: "there is no such case", verdict: .error)
        }
        return try run(testCase, catalogue, own: own, bounds: bounds, declared: declared, lateness: lateness) { side, world, _ in
            let settings = side == .tester ? testCase.world.tester : testCase.world.subject
            let pipe = try world.addController(side, settings: settings)
            return side == changed ? ChangingTransport(pipe, change) : pipe
        }
    }

    /// Runs a case with switches on one end's dongle.
    static func run(
        _ id: String, _ conduct: DongleConduct, at changed: Side, catalogue: Catalogue? = nil
    ) throws -> CaseResult {
        let catalogue = try catalogue ?? SuiteTests.catalogue()
        guard let testCase = catalogue.cases.first(where: { $0.id == id }) else {
            return CaseResult(id: id, title: "there is no such case", verdict: .error)
        }
        return try run(testCase, catalogue) { side, world, loop in
            let settings = side == .tester ? testCase.world.tester : testCase.world.subject
            guard side == changed else { return try world.addController(side, settings: settings) }
            let pipe = InProcessTransport.pair(on: loop)
            try world.addController(side, settings: settings, on: ConductTransport(pipe.controller, conduct: conduct, on: loop))
            return pipe.host
        }
    }

    private static func run(
        _ testCase: TestCase, _ catalogue: Catalogue, own: [Side: OwnAddress] = [:], bounds: RunBounds = RunBounds(),
        declared: DeclaredItems? = nil, lateness: Microseconds = .zero, pipe: (Side, SimulatedWorld, RunLoop) throws -> any HCITransport
    ) throws -> CaseResult {
        let loop = RunLoop()
        let (log, recorder) = (ObservationLog(loop: loop), try Recorder(path: nil))
        let world = SimulatedWorld(loop: loop, seed: 1)
        let ends = try Side.allCases.map { side in
            Endpoint(side, on: try pipe(side, world, loop), log: log, recorder: recorder, loop: loop)
        }
        let sides = Set(Side.allCases.filter { testCase.usesHost($0, catalogue) })
        var plan = BenchPlan()
        plan.hosts = HostPlan(sides: sides, kind: testCase.subject)
        plan.addresses.own = own
        plan.declared = declared
        let bench = CaseBench(loop: loop, log: log, ends: ends, world: world, plan: plan)
        let run = CaseRun(testCase, catalogue: catalogue, bench: bench, bounds: bounds) { _ in }
        run.lateness = lateness
        var result = try loop.run { await run.run(parameters: [:]) }
        result.virtualMilliseconds = loop.now.milliseconds
        return result
    }

    /// The project's cases with an additional one, `phy/made`, which may use an additional procedure.
    static func catalogue(with text: String, procedure: (name: String, text: String)? = nil) throws -> Catalogue {
        var catalogue = try SuiteTests.catalogue()
        let vocabulary = Vocabulary.declared(covers: nil)
        if let procedure {
            var reader = SourceReader(file: SuiteTests.folder + "/procedures/\(procedure.name).yaml", vocabulary: vocabulary)
            guard let root = reader.compose(procedure.text), let read = reader.procedure(root, name: procedure.name),
                reader.problems.isEmpty
            else { throw Problems(reader.problems) }
            catalogue.procedures[procedure.name] = read
        }
        var reader = SourceReader(file: SuiteTests.folder + "/phy/made.yaml", vocabulary: vocabulary)
        reader.signatures = catalogue.procedures.mapValues(\.parameters)
        guard let root = reader.compose(text), let testCase = reader.testCase(root, id: "phy/made"), reader.problems.isEmpty else {
            throw Problems(reader.problems)
        }
        catalogue.cases.append(contentsOf: testCase.unrolled)
        return catalogue
    }

    /// A pipe that replaces packets.
    private final class ChangingTransport: HCITransport, HCITransportSink {
        var name: String { inner.name }
        private let inner: any HCITransport
        private let change: Change
        private var sink: (any HCITransportSink)?

        init(_ inner: any HCITransport, _ change: @escaping Change) {
            self.inner = inner
            self.change = change
        }

        func open(_ sink: any HCITransportSink) throws(TransportError) {
            self.sink = sink
            try inner.open(self)
        }

        func send(_ packet: HCIPacket) { for packet in change(.toController, packet) { inner.send(packet) } }
        func close() { inner.close() }
        func received(_ packet: HCIPacket, at time: Microseconds) {
            for packet in change(.toHost, packet) { sink?.received(packet, at: time) }
        }
        func closed(_ reason: TransportError) { sink?.closed(reason) }
    }
}
