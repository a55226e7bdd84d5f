import BBCases
import BBHCI
import BBHost
import BBPackets
import BBProducts
import BBTiming
import BBTransport
import BBTransportUSB
import BBUpperTester

/// The bench of a case: the endpoints, the air between them if it is simulated, and the known facts about both.
final class CaseBench {
    let loop: RunLoop
    let log: ObservationLog
    let ends: [Side: Endpoint]
    /// The simulated air; nil for real devices.
    let world: SimulatedWorld?
    /// The tolerance added to the ends of windows; zero in virtual time.
    let slack: Microseconds
    let schedulingDelay: SchedulingDelay
    let product: ProductPlan
    let rules: RulePlan
    let tools: ProductTools
    /// The declaration of the subject's maker; nil without a conformance statement.
    let declared: DeclaredItems?
    private let plan: HostPlan
    /// The judgement of what the subject's controller sends on the simulated air.
    private var airConduct = AirConduct(of: .subject)
    private(set) var features: Set<String> = []
    /// Remarks about the devices for the reader of the result, collected before the first step.
    private(set) var remarks: [String] = []
    /// The bench's hosts on the endpoints, for cases that use them.
    private(set) var hosts: [Side: HostDriver] = [:]
    private var identities: CaseIdentities
    private var upper: UpperTesterEnds
    var memory = ProductMemory()
    /// The USB side of the devices that are dongles at USB.
    var usb: [Side: any USBPort] = [:]
    private(set) var framingAtStart: [Side: USBFraming] = [:]
    private var modesAtStart: [Side: Bool] = [:]
    /// The number of times that the case has noted each number.
    var notedNumbers: [Int: Int] = [:]
    /// The times that the case has noted.
    var notedTimes: [Microseconds] = []

    init(loop: RunLoop, log: ObservationLog, ends: [Endpoint], world: SimulatedWorld?, plan: BenchPlan = BenchPlan()) {
        self.loop = loop
        self.log = log
        self.ends = Dictionary(ends.map { ($0.side, $0) }) { first, _ in first }
        self.world = world
        slack = loop.mode == .virtual ? .zero : plan.slack
        schedulingDelay = SchedulingDelay(loop: loop)
        (product, rules, tools, declared, self.plan) = (plan.product, plan.rules, plan.tools, plan.declared, plan.hosts)
        identities = CaseIdentities(plan.addresses, on: loop)
        upper = UpperTesterEnds(outside: plan.upperTester)
    }

    /// True if the devices are outside this program.
    var isForeign: Bool { world == nil }
    var addresses: [Side: CaseValue] { identities.values }
    /// The first violation by the subject's controller of a rule that applies to every case.
    var violation: ConductViolation? { ends[.subject]?.violation ?? airConduct.violation }
    /// The connection to the upper tester of a subject that is a host.
    var upperTester: UpperTesterLink? { upper.link }

    /// The connection to an upper tester.
    private struct UpperTesterEnds {
        /// The pipe to an upper tester outside; nil for that of the bench's own host.
        let outside: HeldBTPPipe?
        var link: UpperTesterLink?
        /// The host's end of the pipe to the bench's own upper tester.
        var own: BTPLoopback?
    }

    func end(_ side: Side) -> Endpoint? { ends[side] }

    /// Adds a remark for the reader of the result.
    func remark(_ text: String) { remarks.append(text) }

    /// Stops judging the air, since the case changes what a side sends.
    func suspendAirConduct() { airConduct.isSuspended = true }

    func connectionInterval(at side: Side) -> Microseconds? {
        ends[side]?.intervals.connection ?? ends.values.lazy.compactMap(\.intervals.connection).first
    }

    var advertisingInterval: Microseconds? { ends.values.compactMap(\.intervals.advertising).max() }

    /// Opens both endpoints, resets them and reads their features.
    func prepare() async throws {
        schedulingDelay.start()
        if loop.mode == .virtual { features.insert("virtual") }
        for (side, port) in usb {
            features.formUnion(port.features.map { "\(side.rawValue).\($0)" })
            (framingAtStart[side], modesAtStart[side]) = (port.framing, port.isSerialised)
        }
        if let world {
            features.insert("air")
            world.observe(into: log)
            log.onAir = { [unowned self] in airConduct.saw($0) }
            ends[.subject]?.onClassicEnd = { [unowned self] in airConduct.endClassic() }
        }
        try await probeAll()
        // The controller of a foreign host cannot be asked: a host that lacks a feature refuses the upper tester's command.
        if plan.kind == .host, ends[.subject] == nil { features.formUnion(Features.names.union(Features.commands).map { "subject.\($0)" }) }
        // Without a tester, cases use an address that no device has.
        if ends[.tester] == nil { identities.note(Self.unusedAddress, isRandom: true, of: .tester) }
        for side in Side.allCases where plan.sides.contains(side) {
            guard let end = ends[side] else { continue }
            if isAccessory(side), !advertises(side) { throw StepFailure(.limitation, "the accessory's controller does not advertise") }
            hosts[side] = try await startHost(on: end)
        }
        if plan.kind == .host { try await startUpperTester() }
    }

    private static let unusedAddress = BDADDR(rawValue: 0xC0B1_BE00_00FE)

    /// Connects to the upper tester, and takes the host's address from it.
    private func startUpperTester() async throws {
        var pipe: (any BTPPipe)? = upper.outside
        var server: BTPServer?
        if pipe == nil, let host = hosts[.subject]?.host {
            let (near, far) = BTPLoopback.pair(on: loop)
            let quirks = try FaultRules.upperTesterQuirks(plan.fault.host, plan.fault.rewrites)
            let own = BTPServer(host: host, quirks: quirks, isDualMode: plan.isDualMode)
            try own.serve(far)
            (pipe, server) = (near, own)
            upper.own = far
        }
        guard let pipe else { return }
        let link = UpperTesterLink(pipe, server: server, log: log, loop: loop)
        upper.link = link
        let own = try await link.start()
        if server == nil, let tester = ends[.tester]?.address {
            try await link.restore(upper.outside?.lastPeer ?? tester)
            upper.outside?.lastPeer = tester
        }
        identities.note(own.address, isRandom: own.isRandom, of: .subject)
    }

    private func isAccessory(_ side: Side) -> Bool { side == .subject && plan.kind == .accessory }

    private func startHost(on end: Endpoint, keys: KeyStore? = nil) async throws -> HostDriver {
        let isSubject = end.side == .subject
        var keys = keys
        if keys == nil, !isSubject, !product.bonds.isEmpty {
            let store = KeyStore()
            for bond in product.bonds { store.add(bond) }
            keys = store
        }
        let driver = try await HostDriver.start(
            on: end, loop: loop, kind: plan.accessory, accessory: isAccessory(end.side) ? plan.conduct : nil,
            faults: isSubject ? plan.fault.host : [], rewrites: isSubject ? plan.fault.rewrites : [], keys: keys)
        if !isSubject, product.pairsWhenMet, let pairing = product.pairing {
            driver.host.pairingSettings = pairing.settings
            driver.user = PairingUser(passkey: pairing.passkey)
        }
        if isSubject { driver.host.classicChoices = plan.conduct.classic }
        if isSubject, plan.kind == .host { driver.host.offerEnhancedBearers(plan.conduct.bearers) }
        return driver
    }

    /// Simulates a power cycle of one side: resets the controller and starts a new host with the stored keys.
    func powerCycle(_ side: Side) async throws {
        guard let end = ends[side], let host = hosts[side] else { throw StepFailure(.bench, "there is no host at the \(side.rawValue)") }
        let keys = host.storedKeys
        await host.stop()
        try await end.demand(HCICommands.Reset())
        hosts[side] = try await startHost(on: end, keys: keys)
    }

    /// Resets a side and starts a new host without bonds under a new static address, so that the other side does not know it.
    func takeNewIdentity(_ side: Side) async throws {
        guard let end = ends[side], let host = hosts[side] else { throw StepFailure(.bench, "there is no host at the \(side.rawValue)") }
        identities.keep(end.address, host.storedKeys, of: side)
        await host.stop()
        try await end.demand(HCICommands.Reset())
        try await takeAddress(end, .drawn)
        hosts[side] = try await startHost(on: end)
    }

    /// Resets a side and starts a new host with the address and the bonds that it had before it took another identity.
    func takeFirstIdentity(_ side: Side) async throws {
        guard let end = ends[side], let host = hosts[side], let (address, keys) = identities.first(of: side) else {
            throw StepFailure(.bench, "the \(side.rawValue) has had no other identity")
        }
        await host.stop()
        try await end.demand(HCICommands.Reset())
        try await takeAddress(end, .fixed(address))
        hosts[side] = try await startHost(on: end, keys: keys)
    }

    private func advertises(_ side: Side) -> Bool {
        [HCICommands.LESetAdvertisingEnable.name, HCICommands.LESetExtendedAdvertisingEnable.name]
            .contains { features.contains("\(side.rawValue).\($0)") }
    }

    /// Restores the initial state of the controllers.
    func finish() async {
        await upper.link?.stop()
        upper.link = nil
        for side in Side.allCases { await hosts[side]?.stop() }
        hosts.removeAll()
        // Otherwise a device over the air would notice the end of a connection only after its supervision timeout.
        if ends[.subject] == nil { await ends[.tester]?.leaveConnections() }
        for side in Side.allCases {
            guard let end = ends[side] else { continue }
            if end.isStarted, end.failure == nil {
                await loop.cleanUp(within: .seconds(2)) { _ = try await end.ask(HCICommands.Reset()) }
            }
            if let port = usb[side] { await restore(port, isSerialised: modesAtStart[side] ?? false) }
            end.shutDown()
        }
        // Lets the far ends of the pipes process the end.
        await loop.cleanUp(within: .seconds(1)) { [loop] in try await loop.sleep(for: .zero) }
        schedulingDelay.stop()
    }

    /// Puts the USB side of a device back into the state before the case.
    private func restore(_ port: any USBPort, isSerialised: Bool) async {
        port.addressing = USBCommandAddress()
        // Each may take the time of a request, and a change of the mode the time for outgoing packets to be taken before.
        if !port.isSerialised { await loop.cleanUp(within: .seconds(2)) { _ = try await port.selectVoice(0) } }
        await loop.cleanUp(within: .seconds(3)) { _ = try await port.selectMode(serialised: isSerialised) }
        port.release()
    }

    // MARK: Probing

    private func probeAll() async throws {
        var commands: [Side: SupportedCommands] = [:]
        defer { features = Features.commands(of: commands).union(features) }
        for side in Side.allCases {
            guard let end = ends[side] else { continue }
            try end.start()
            _ = end.takeReordering()
            var probe = EndpointProbe(end)
            defer {
                features.formUnion(probe.features)
                commands[side] = probe.commands
                if let remark = probe.remark { remarks.append(remark) }
            }
            try await probe.run()
            try await takeAddress(end)
        }
    }

    /// Sets the side's address.
    ///
    /// - Parameter wanted: nil for the address of the run's settings.
    private func takeAddress(_ end: Endpoint, _ wanted: OwnAddress? = nil) async throws {
        let publicAddress = try await end.demand(HCICommands.ReadBDADDR()).bdADDR
        let address = identities.choose(wanted, for: end, publicAddress: publicAddress)
        if address.kind == .random { try await end.demand(HCICommands.LESetRandomAddress(randomAddress: address.bdADDR)) }
        end.address = address
        identities.note(address.bdADDR, isRandom: address.kind == .random, of: end.side)
    }
}
