import Cases
import Dongles
import HCI
import Host
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
    /// Which accessory of ours the subject is, in the simulation.
    public var accessory = AccessoryKind.reference
    /// Who the subject is where it is met over the air only; nil for the reference accessory, by its name.
    public var peer: PeerSelector?
    /// There is no tester: the subject is judged by its HCI alone.
    public var isAlone = false
    /// Devices whose private addresses the tester resolves. It is a stranger to them all the same.
    public var known: [Bond] = []
    /// Whose rules for accessories are judged, by the name of its file.
    public var profile: String?
    public static let usualSlack = Microseconds.milliseconds(100)
    /// What is known of dongles.
    public var knownDongles = KnownDongles.builtIn
    /// Opens real devices, and gives them their firmware.
    public var opener = DeviceOpener(firmware: .system)

    public init(tester: DeviceSelector, subject: DeviceSelector?, seed: UInt64, slack: Microseconds = usualSlack) {
        self.tester = tester
        self.subject = subject
        self.seed = seed
        self.slack = slack
    }

    /// The seed of one case, whatever order the cases run in.
    ///
    /// - Parameter attempt: from 1; each draws otherwise.
    func seed(of id: String, attempt: Int = 1) -> UInt64 {
        var source = RandomSource(seed: seed, label: attempt == 1 ? id : "\(id), attempt \(attempt)")
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
    /// The tester's dongle is the subject, and the subject's the tester.
    var isSwapped = false
    /// The packets of each case are kept for a report.
    var keepsTraces = false
    /// Which attempt at a case it is, from 1.
    var attempt = 1

    /// What is known of the device over the air.
    var device: DeviceFacts?

    var sharesLoop: Bool { port != nil || devices != nil }
    var isVirtual: Bool { setup.tester == .virtual && setup.subject == .virtual && port == nil }
    /// Whether the subject has no HCI that the bench could use.
    var isAccessoryOnly: Bool { port != nil || setup.subject == nil }
    var subjectName: String { port.map { "accessory on \($0.address)" } ?? setup.subject?.description ?? "accessory" }

    func makeLoop() -> RunLoop { port?.loop ?? devices?.loop ?? RunLoop(mode: isVirtual ? .virtual : .wall) }

    func makeBench(for testCase: TestCase, loop: RunLoop, hosts: Set<Side>? = nil) throws -> CaseBench {
        let log = ObservationLog(loop: loop)
        if keepsTraces { log.trail = PacketTrail() }
        let hostSides = hosts ?? Set(Side.allCases.filter { testCase.usesHost($0, catalogue) })
        let bench = try makeBench(for: testCase, loop, log, hostSides)
        bench.peer = setup.peer ?? .name(setup.accessory.name)
        bench.accessoryKind = setup.accessory
        bench.device = device
        bench.known = setup.known
        bench.isStranger = isAccessoryOnly && testCase.subject == .accessory && testCase.needs?.names.contains("tester.BR_EDR") != true
        bench.rule = testCase.rule.flatMap { catalogue.rule($0, of: setup.profile) }
        return bench
    }

    private func makeBench(for testCase: TestCase, _ loop: RunLoop, _ log: ObservationLog, _ hostSides: Set<Side>) throws -> CaseBench {
        if let port { return try portBench(testCase, port, log, hostSides) }
        if setup.isAlone { return try deviceBench(testCase, log, hostSides) }
        switch (setup.tester, setup.subject) {
        case (.virtual, .virtual?): return try virtualBench(testCase, loop, log, hostSides)
        case (.virtual, _), (_, .virtual?):
            throw StepFailure(.environment, "a virtual device and a real one never meet on the air")
        default: return try deviceBench(testCase, log, hostSides)
        }
    }

    private func portBench(_ testCase: TestCase, _ port: SubjectPort, _ log: ObservationLog, _ hostSides: Set<Side>) throws -> CaseBench {
        if let absence = port.watch.absence { throw absence }
        port.watch.log = log
        let transport = try port.world.addController(.tester, settings: testCase.world.tester)
        let end = Endpoint(.tester, on: transport, log: log, recorder: recorder, loop: port.loop)
        return CaseBench(
            loop: port.loop, log: log, ends: [end], world: port.world, hostSides: hostSides.intersection([.tester]), slack: setup.slack,
            ownAddresses: setup.ownAddresses, seed: setup.seed(of: testCase.id, attempt: attempt))
    }

    private func virtualBench(_ testCase: TestCase, _ loop: RunLoop, _ log: ObservationLog, _ hostSides: Set<Side>) throws -> CaseBench {
        let world = SimulatedWorld(loop: loop, seed: setup.seed(of: testCase.id, attempt: attempt))
        let conditions = testCase.world.under(isSwapped ? surroundings.swapped : surroundings)
        let faulty = isSwapped ? Side.tester : .subject
        if conditions.packetErrorRate > 0 { world.setPacketErrorRate(conditions.packetErrorRate) }
        recorder.logAir(of: world)
        var ends: [Endpoint] = []
        for side in Side.allCases {
            let settings = (side == .tester ? conditions.tester : conditions.subject) + (side == faulty ? fault.settings : [])
            let transport = try world.addController(side, settings: settings, rewrites: side == faulty ? fault.rewrites : [])
            ends.append(Endpoint(side, on: transport, log: log, recorder: recorder, loop: loop))
        }
        try world.simulation.settle(Neighbours(conditions.neighbours))
        return CaseBench(
            loop: loop, log: log, ends: ends, world: world, hostSides: hostSides, kind: testCase.subject, fault: fault,
            accessory: AccessoryConduct(conditions.accessory), ownAddresses: setup.ownAddresses, seed: setup.seed)
    }

    private func deviceBench(_ testCase: TestCase, _ log: ObservationLog, _ hostSides: Set<Side>) throws -> CaseBench {
        guard let devices else { throw StepFailure(.environment, "no device is open") }
        let ends = Side.allCases.compactMap { side in
            devices.devices[isSwapped ? side.other : side].map { held in
                let end = Endpoint(side, on: held, log: log, recorder: recorder, loop: devices.loop)
                end.knowledge = setup.knownDongles.knowledge(of: held.usb?.description)
                return end
            }
        }
        return CaseBench(
            loop: devices.loop, log: log, ends: ends, world: nil, hostSides: hostSides, kind: testCase.subject, slack: setup.slack,
            ownAddresses: setup.ownAddresses, seed: setup.seed(of: testCase.id, attempt: attempt))
    }
}

extension TestCase {
    /// Whether some step acts through a host of the side; an accessory of ours always has one.
    func usesHost(_ side: Side, _ catalogue: Catalogue) -> Bool {
        if subject == .accessory, side == .subject { return true }
        return castSteps(catalogue).contains { step in
            guard case .action(let action) = step.kind else { return false }
            return step.side == side && NamedActions.named(action.name)?.needsHost == true
        }
    }
}

extension TestCase {
    /// Whether the case is about what a survey finds, itself or by way of a procedure.
    func needsDevice(_ catalogue: Catalogue) -> Bool {
        subject == .accessory
            && (mentionsDevice
                || anyStep(catalogue) { step in
                    switch step.kind {
                    case .action(let action): MeetDevice.ofAnyDevice.contains(action.name)
                    case .procedure(let use): catalogue.procedures[use.name]?.mentionsDevice == true
                    default: false
                    }
                })
    }

    /// Whether the case looks for the accessory of docs/guide/accessory.md by its name.
    func meetsReference(_ catalogue: Catalogue) -> Bool {
        subject == .accessory
            && (mentionsReference
                || anyStep(catalogue) { step in
                    switch step.kind {
                    case .action(let action):
                        action.name == Meet.name && !action.arguments.contains { $0.name == "name" }
                    case .procedure(let use): use.name == "find-accessory"
                    default: false
                    }
                })
    }
}
