import BBBench
import BBCases
import BBHCI
import BBHost
import BBPackets
import BBProducts
import BBSimulation
import BBTiming
import BBTransport
import BBUpperTester

/// The devices of a run and their settings.
public struct BenchSetup: Sendable {
    public var tester: DeviceSelector
    /// Device of the subject; nil for an accessory on a served port and for a device over the air.
    public var subject: DeviceSelector?
    public var seed: UInt64
    /// The tolerance added to the ends of windows in real time, for delays of USB and of the machine.
    public var slack: Microseconds
    /// The addresses that the devices use; a side without an entry uses its public address, or a static one if it has none.
    public var ownAddresses: [Side: OwnAddress] = [:]
    /// The kind of the bench's accessory in the simulation.
    public var accessory = AccessoryKind.reference
    /// The selector of a subject over the air; nil for the reference accessory, which is found by name.
    public var peer: PeerSelector?
    /// True if there is no tester: the subject is tested only through its HCI.
    public var isAlone = false
    /// The bonds with which the tester resolves private addresses. The cases still regard the device as unbonded.
    public var known: [Bond] = []
    /// Pairing with the device over the air on each connection; nil to stay unencrypted.
    public var pairing: PairingChoice?
    /// The place of the upper tester of a host outside this program.
    public var upperTester: BTPPlace?
    /// The file name of the accessory profile whose rules are judged.
    public var profile: String?
    /// The declaration of the subject's maker; nil without a conformance statement.
    public var declared: DeclaredItems?
    public static let usualSlack = Microseconds.milliseconds(100)
    /// Opens real devices.
    public var opener = DeviceOpener()
    var usb = VirtualUSB()

    public init(tester: DeviceSelector, subject: DeviceSelector?, seed: UInt64, slack: Microseconds = usualSlack) {
        self.tester = tester
        self.subject = subject
        self.seed = seed
        self.slack = slack
    }

    /// Returns the seed of a case, which does not depend on the order of cases.
    ///
    /// - Parameter attempt: the number of the attempt, from 1; each attempt has another seed.
    func seed(of id: String, attempt: Int = 1) -> UInt64 {
        var source = RandomSource(seed: seed, label: attempt == 1 ? id : "\(id), attempt \(attempt)")
        return source.next()
    }
}

/// Creates a new bench for each case.
struct BenchFactory {
    let setup: BenchSetup
    let recorder: Recorder
    let catalogue: Catalogue
    /// The port to which a foreign accessory's host connects.
    let port: SubjectPort?
    /// Real devices, which remain open during the run.
    let devices: HeldDevices?
    /// The faults of the subject in addition to the case's settings.
    let fault: Fault
    /// The world of a variant.
    let surroundings: World
    /// True if the dongles of tester and subject are exchanged.
    var isSwapped = false
    /// True if the packets of each case are kept for a report.
    var keepsTraces = false
    /// The number of the attempt at a case, from 1.
    var attempt = 1

    /// The known facts about the device over the air.
    var device: DeviceFacts?

    var sharesLoop: Bool { port != nil || devices != nil }
    var isVirtual: Bool { setup.tester == .virtual && setup.subject == .virtual && port == nil }
    /// True if the subject has no HCI that the bench can use.
    var isAccessoryOnly: Bool { port != nil || setup.subject == nil }
    var subjectName: String { port.map { "accessory on \($0.address)" } ?? setup.subject?.description ?? "accessory" }

    func makeLoop() -> RunLoop { port?.loop ?? devices?.loop ?? RunLoop(mode: isVirtual ? .virtual : .wall) }

    func makeBench(for testCase: TestCase, loop: RunLoop, hosts: Set<Side>? = nil, tools: ProductTools = ProductTools()) throws -> CaseBench
    {
        let log = ObservationLog(loop: loop)
        if keepsTraces { log.trail = PacketTrail() }
        var plan = plan(of: testCase)
        plan.hosts.sides = hosts ?? Set(Side.allCases.filter { testCase.usesHost($0, catalogue) })
        plan.tools = tools
        return try makeBench(for: testCase, loop, log, plan)
    }

    private func plan(of testCase: TestCase) -> BenchPlan {
        var plan = BenchPlan()
        plan.hosts.kind = testCase.subject
        plan.hosts.isDualMode = testCase.needs?.canHold(without: ["subject.BR_EDR"]) == false
        plan.hosts.accessory = setup.accessory
        plan.product = ProductPlan(
            peer: setup.peer ?? .name(setup.accessory.name), facts: device, bonds: setup.known, pairing: setup.pairing,
            isPairedByCase: testCase.pairsItself(catalogue))
        plan.rules.judged = testCase.rule.flatMap { catalogue.rule($0, of: setup.profile) }
        plan.rules.supported = setup.profile.flatMap { catalogue.profiles[$0] }.map { $0.rules(with: testCase.id) } ?? []
        plan.addresses.own = setup.ownAddresses
        plan.addresses.isStranger =
            isAccessoryOnly && testCase.subject != .controller && testCase.needs?.names.contains("tester.BR_EDR") != true
        plan.addresses.seed = setup.seed(of: testCase.id, attempt: attempt)
        plan.slack = setup.slack
        plan.declared = setup.declared
        return plan
    }

    private func makeBench(for testCase: TestCase, _ loop: RunLoop, _ log: ObservationLog, _ plan: BenchPlan) throws -> CaseBench {
        if let port { return try portBench(testCase, port, log, plan) }
        if setup.isAlone { return try deviceBench(testCase, log, plan) }
        switch (setup.tester, setup.subject) {
        case (.virtual, .virtual?): return try virtualBench(testCase, loop, log, plan)
        case (.virtual, _), (_, .virtual?):
            throw StepFailure(.environment, "a virtual device and a real one never meet on the air")
        default: return try deviceBench(testCase, log, plan)
        }
    }

    private func portBench(_ testCase: TestCase, _ port: SubjectPort, _ log: ObservationLog, _ plan: BenchPlan) throws -> CaseBench {
        if let absence = port.watch.absence { throw absence }
        port.watch.log = log
        let transport = try port.world.addController(.tester, settings: testCase.world.tester)
        let end = Endpoint(.tester, on: transport, log: log, recorder: recorder, loop: port.loop)
        var plan = plan
        plan.hosts.sides.formIntersection([.tester])
        plan.upperTester = port.upperTester
        return CaseBench(loop: port.loop, log: log, ends: [end], world: port.world, plan: plan)
    }

    private func virtualBench(_ testCase: TestCase, _ loop: RunLoop, _ log: ObservationLog, _ plan: BenchPlan) throws -> CaseBench {
        let world = SimulatedWorld(loop: loop, seed: setup.seed(of: testCase.id, attempt: attempt))
        let conditions = testCase.world.under(isSwapped ? surroundings.swapped : surroundings)
        let faulty = isSwapped ? Side.tester : .subject
        if conditions.packetErrorRate > 0 { world.setPacketErrorRate(conditions.packetErrorRate) }
        recorder.logAir(of: world)
        var ends: [Endpoint] = []
        for side in Side.allCases {
            let settings = (side == .tester ? conditions.tester : conditions.subject) + (side == faulty ? fault.settings : [])
            let rewrites = side == faulty ? fault.rewrites : []
            let transport =
                try setup.usb.isEverywhere || testCase.isAbout("USB", of: side)
                ? world.addDongle(
                    side, setup.usb, isComposite: testCase.isAbout("USB_Composite", of: side), settings: settings, rewrites: rewrites)
                : world.addController(side, settings: settings, rewrites: rewrites)
            ends.append(Endpoint(side, on: transport, log: log, recorder: recorder, loop: loop))
        }
        try world.simulation.settle(Neighbours(conditions.neighbours))
        var plan = plan
        plan.hosts.fault = fault
        plan.hosts.fault.host = conditions.host + fault.host
        plan.hosts.conduct = AccessoryConduct(conditions.accessory)
        plan.addresses.seed = setup.seed
        let bench = CaseBench(loop: loop, log: log, ends: ends, world: world, plan: plan)
        bench.usb = world.usb
        return bench
    }

    private func deviceBench(_ testCase: TestCase, _ log: ObservationLog, _ plan: BenchPlan) throws -> CaseBench {
        guard let devices else { throw StepFailure(.environment, "no device is open") }
        let ends = Side.allCases.compactMap { side in
            devices.devices[isSwapped ? side.other : side].map { held in
                Endpoint(side, on: held, knowledge: held.knowledge, log: log, recorder: recorder, loop: devices.loop)
            }
        }
        let bench = CaseBench(loop: devices.loop, log: log, ends: ends, world: nil, plan: plan)
        for side in Side.allCases {
            guard testCase.isAbout("USB", of: side), let dongle = devices.devices[isSwapped ? side.other : side]?.usb else { continue }
            bench.usb[side] = DonglePort(dongle)
        }
        return bench
    }
}

extension TestCase {
    /// True if the case needs this feature of the USB side of a device.
    func isAbout(_ feature: String, of side: Side) -> Bool { needs?.names.contains("\(side.rawValue).\(feature)") == true }

    /// True if a step acts through the side's host; the bench's accessory always has one.
    func usesHost(_ side: Side, _ catalogue: Catalogue) -> Bool {
        if subject != .controller, side == .subject { return true }
        return castSteps(catalogue).contains { step in
            guard case .action(let action) = step.kind else { return false }
            return step.side == side && NamedActions.named(action.name)?.needsHost == true
        }
    }
}

extension TestCase {
    /// True if pairing, or a link without it, is the subject of the case.
    func pairsItself(_ catalogue: Catalogue) -> Bool {
        anyStep(catalogue) { step in
            guard case .action(let action) = step.kind else { return false }
            return action.name == PairWithDevice.name || action.name == Pair.name
        }
    }

    /// True if the case or its procedures use the results of a survey.
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

    /// True if the case searches for the accessory of docs/guide/accessory.md by name.
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
