import HCI
import Packets
import Simulation
import Timing
import Transport
import TransportUSB

/// What stands at the two ends of a run.
public struct BenchSetup: Sendable {
    public var tester: DeviceSelector
    /// Nil when the subject is an accessory on a port that the run serves, or somewhere on the air.
    public var subject: DeviceSelector?
    public var seed: UInt64
    /// What a wall clock adds to the ends of windows, for the time that packets spend in USB and in a busy machine.
    public var slack: Microseconds
    /// Which addresses the devices are to have; the public one, or a static one where there is none, where it says nothing.
    public var ownAddresses: [Side: OwnAddress] = [:]
    public static let usualSlack = Microseconds.milliseconds(100)
    /// Opens real devices, and gives them their firmware.
    public var opener = DeviceOpener(firmware: .system)

    public init(tester: DeviceSelector, subject: DeviceSelector?, seed: UInt64, slack: Microseconds = usualSlack) {
        self.tester = tester
        self.subject = subject
        self.seed = seed
        self.slack = slack
    }

    /// The seed of one case, whatever order the cases run in.
    func seed(of id: String) -> UInt64 {
        var source = RandomSource(seed: seed, label: id)
        return source.next()
    }
}

/// Makes a fresh bench for each case.
struct BenchFactory {
    let setup: BenchSetup
    let recorder: Recorder
    let catalogue: Catalogue
    /// Where a foreign accessory has its controller.
    let port: SubjectPort?
    /// Real devices, open for the whole run.
    let devices: HeldDevices?
    /// What is wrong with the subject beyond the case's own settings.
    let fault: Fault
    /// What a variant's world has otherwise than the usual one.
    let surroundings: World

    var sharesLoop: Bool { port != nil || devices != nil }
    var isVirtual: Bool { setup.tester == .virtual && setup.subject == .virtual && port == nil }
    /// Whether the subject has no HCI that the bench could use.
    var isAccessoryOnly: Bool { port != nil || setup.subject == nil }
    var subjectName: String { port.map { "accessory on \($0.address)" } ?? setup.subject?.description ?? "accessory" }

    func makeLoop() -> RunLoop { port?.loop ?? devices?.loop ?? RunLoop(mode: isVirtual ? .virtual : .wall) }

    func makeBench(for testCase: TestCase, loop: RunLoop) throws -> CaseBench {
        let log = ObservationLog(loop: loop)
        let hostSides = Set(Side.allCases.filter { testCase.usesHost($0, catalogue) })
        if let port { return try portBench(testCase, port, log) }
        switch (setup.tester, setup.subject) {
        case (.virtual, .virtual?): return try virtualBench(testCase, loop, log, hostSides)
        case (.virtual, _), (_, .virtual?):
            throw StepFailure(.environment, "a virtual device and a real one never meet on the air")
        default: return try deviceBench(testCase, log, hostSides)
        }
    }

    private func portBench(_ testCase: TestCase, _ port: SubjectPort, _ log: ObservationLog) throws -> CaseBench {
        if let absence = port.watch.absence { throw absence }
        port.watch.log = log
        let transport = try port.world.addController(.tester, settings: testCase.world.tester)
        let end = Endpoint(.tester, on: transport, log: log, recorder: recorder, loop: port.loop)
        let sides: Set<Side> = testCase.usesHost(.tester, catalogue) ? [.tester] : []
        return CaseBench(
            loop: port.loop, log: log, ends: [end], world: port.world, hostSides: sides, slack: setup.slack,
            ownAddresses: setup.ownAddresses, seed: setup.seed)
    }

    private func virtualBench(_ testCase: TestCase, _ loop: RunLoop, _ log: ObservationLog, _ hostSides: Set<Side>) throws -> CaseBench {
        let world = SimulatedWorld(loop: loop, seed: setup.seed(of: testCase.id))
        let conditions = testCase.world.under(surroundings)
        if conditions.packetErrorRate > 0 { world.setPacketErrorRate(conditions.packetErrorRate) }
        recorder.logAir(of: world)
        var ends: [Endpoint] = []
        for side in Side.allCases {
            let settings = (side == .tester ? conditions.tester : conditions.subject) + (side == .subject ? fault.settings : [])
            let transport = try world.addController(side, settings: settings, rewrites: side == .subject ? fault.rewrites : [])
            ends.append(Endpoint(side, on: transport, log: log, recorder: recorder, loop: loop))
        }
        try world.simulation.settle(conditions.neighbours)
        return CaseBench(
            loop: loop, log: log, ends: ends, world: world, hostSides: hostSides, kind: testCase.subject, fault: fault,
            accessory: AccessoryConduct(conditions.accessory), ownAddresses: setup.ownAddresses, seed: setup.seed)
    }

    private func deviceBench(_ testCase: TestCase, _ log: ObservationLog, _ hostSides: Set<Side>) throws -> CaseBench {
        guard let devices else { throw StepFailure(.environment, "no device is open") }
        let ends = Side.allCases.compactMap { side in
            devices.devices[side].map { Endpoint(side, on: $0, log: log, recorder: recorder, loop: devices.loop) }
        }
        return CaseBench(
            loop: devices.loop, log: log, ends: ends, world: nil, hostSides: hostSides, kind: testCase.subject, slack: setup.slack,
            ownAddresses: setup.ownAddresses, seed: setup.seed)
    }
}

extension TestCase {
    /// Whether some step acts through a host of the side; an accessory of ours always has one.
    func usesHost(_ side: Side, _ catalogue: Catalogue) -> Bool {
        if subject == .accessory, side == .subject { return true }
        return Self.usesHost(setup + steps + teardown, side, catalogue, depth: 0)
    }

    private static func usesHost(_ steps: [Step], _ side: Side, _ catalogue: Catalogue, depth: Int) -> Bool {
        guard depth < 8 else { return false }
        return steps.contains { step in
            step.anywhere { inner in
                switch inner.kind {
                case .action(let action): inner.side == side && NamedActions.named(action.name)?.needsHost == true
                case .procedure(let use):
                    catalogue.procedures[use.name].map { procedure in
                        let cast = procedure.cast(use.isDirected ? inner.side : nil)
                        return usesHost(procedure.steps.map { $0.with(cast) }, side, catalogue, depth: depth + 1)
                    } ?? false
                default: false
                }
            }
        }
    }
}
