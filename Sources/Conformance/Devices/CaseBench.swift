import BBBluetoothCrypto
import BBCases
import BBHCI
import BBHost
import BBPackets
import BBProducts
import BBTiming
import BBTransport
import BBUpperTester

/// The bench of a case: the endpoints, the air between them if it is simulated, and the known facts about both.
final class CaseBench {
    let loop: RunLoop
    let log: ObservationLog
    private(set) var ends: [Side: Endpoint] = [:]
    /// The judgement of what the subject's controller sends on the simulated air.
    private(set) var airConduct = AirConduct(of: .subject)
    /// The first violation by the subject's controller of a rule that applies to every case.
    var violation: ConductViolation? { ends[.subject]?.violation ?? airConduct.violation }
    private(set) var features: Set<String> = []
    private(set) var addresses: [Side: CaseValue] = [:]
    /// The simulated air; nil for real devices.
    let world: SimulatedWorld?
    /// True if the devices are outside this program.
    let isForeign: Bool
    /// The tolerance added to the ends of windows; zero in virtual time.
    let slack: Microseconds
    let schedulingDelay: SchedulingDelay
    /// The selector and the known facts of the device over the air.
    var peer = PeerSelector.name(TestCase.referenceName)
    /// The kind of the bench's accessory at the subject.
    var accessoryKind = AccessoryKind.reference
    var device: DeviceFacts?
    /// The bonds with which the tester's host resolves private addresses.
    var known: [Bond] = []
    /// The tester's side of a pairing; nil for the defaults.
    var pairing: PairingChoice?
    /// True if the case pairs with the device in a step of its own.
    var isAboutPairing = false
    /// True to pair with the device on each connection.
    var pairsWhenMet: Bool { pairing != nil && !isAboutPairing }
    /// The profile's rule that the case judges.
    var rule: AccessoryProfile.Rule?
    /// The profile's rules for or against which the case is evidence.
    var bearsOn: [AccessoryProfile.Rule] = []
    /// The bench's hosts on the endpoints, for cases that use them.
    var hosts: [Side: HostDriver] = [:]
    /// The attributes of the device under test that a case remembers, and the position in the log since then.
    var remembered: [ShownAttribute] = []
    var rememberedSince = 0
    /// The change of the device's services that `changes:` declares.
    var hasChangedServices = false
    /// True on a connection on which the services have changed: the device may end it to restart.
    var mayRestart = false
    /// The reason why the device declined to pair in a run that pairs on each connection; nil if it did not.
    var declinedPairing: String?
    /// The address and the keys of a side before it took another identity.
    private var firstIdentity: [Side: (DeviceAddress, KeyStore)] = [:]
    /// The connection to the upper tester of a subject that is a host.
    private(set) var upperTester: UpperTesterLink?
    /// The host's end of the pipe to the bench's own upper tester.
    private var ownUpperTesterPipe: BTPLoopback?
    /// The pipe to an upper tester outside; nil for that of the bench's own host.
    var upperTesterPipe: HeldBTPPipe?
    private let hostSides: Set<Side>
    private let kind: SubjectKind
    private let accessory: AccessoryConduct
    private let fault: Fault
    private let ownAddresses: [Side: OwnAddress]
    /// True if the tester must be unknown to the device over the air or to the host under test: bonds and failed pairings of earlier cases
    /// must not affect this one.
    var isStranger = false
    /// The public addresses of the devices.
    private var publicAddresses: Set<BDADDR> = []
    private var secrets: SecretSource
    /// Reads the product's log, at the beginning of a step.
    var readLog: () -> Void = {}
    /// Switches the product off and on by the user's command, and returns its failure; nil without a command.
    var switchPower: (() async throws -> String?)?
    /// Remarks about the devices for the reader of the result, collected before the first step.
    private(set) var remarks: [String] = []

    /// - Parameters:
    ///   - hostSides: the sides with a host of the bench.
    ///   - kind: the kind of the subject's host.
    ///   - accessory: the accessory's differences from the default, if it is an accessory.
    ///   - slack: the tolerance added to the ends of windows in real time.
    ///   - ownAddresses: the addresses of the sides; `automatic` by default.
    ///   - seed: the seed of random addresses in virtual time.
    init(
        loop: RunLoop, log: ObservationLog, ends: [Endpoint], world: SimulatedWorld?, hostSides: Set<Side>, kind: SubjectKind = .controller,
        fault: Fault = Fault(), accessory: AccessoryConduct = AccessoryConduct([]), slack: Microseconds = .zero,
        ownAddresses: [Side: OwnAddress] = [:], seed: UInt64 = 0
    ) {
        self.ownAddresses = ownAddresses
        secrets = SecretSource(seed: seed, label: "addresses", on: loop)
        self.loop = loop
        self.log = log
        self.world = world
        isForeign = world == nil
        schedulingDelay = SchedulingDelay(loop: loop)
        self.slack = loop.mode == .virtual ? .zero : slack
        self.hostSides = hostSides
        self.kind = kind
        self.accessory = accessory
        self.fault = fault
        for end in ends { self.ends[end.side] = end }
    }

    func end(_ side: Side) -> Endpoint? { ends[side] }

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
        if let world {
            features.insert("air")
            world.observe(into: log)
            log.onAir = { [unowned self] in airConduct.saw($0) }
            ends[.subject]?.onClassicEnd = { [unowned self] in airConduct.endClassic() }
        }
        try await probeAll()
        // The controller of a foreign host cannot be asked: a host that lacks a feature refuses the upper tester's command.
        if kind == .host, ends[.subject] == nil { features.formUnion(Features.names.union(Features.commands).map { "subject.\($0)" }) }
        // Without a tester, cases use an address that no device has.
        if ends[.tester] == nil {
            addresses[.tester] = .record(CaseRecord([("address", .text("C0:B1:BE:00:00:FE")), ("type", .number(1))]))
        }
        for side in Side.allCases where hostSides.contains(side) {
            guard let end = ends[side] else { continue }
            if isAccessory(side), !advertises(side) { throw StepFailure(.limitation, "the accessory's controller does not advertise") }
            hosts[side] = try await startHost(on: end)
        }
        if kind == .host { try await startUpperTester() }
    }

    /// Connects to the upper tester, and takes the host's address from it.
    private func startUpperTester() async throws {
        var pipe: (any BTPPipe)? = upperTesterPipe
        var server: BTPServer?
        if pipe == nil, let host = hosts[.subject]?.host {
            let (near, far) = BTPLoopback.pair(on: loop)
            let own = BTPServer(host: host, quirks: try FaultRules.upperTesterQuirks(fault.host, fault.rewrites))
            try own.serve(far)
            (pipe, server) = (near, own)
            ownUpperTesterPipe = far
        }
        guard let pipe else { return }
        let link = UpperTesterLink(pipe, server: server, log: log, loop: loop)
        upperTester = link
        let own = try await link.start()
        if server == nil, let tester = ends[.tester]?.address {
            try await link.restore(upperTesterPipe?.lastPeer ?? tester)
            upperTesterPipe?.lastPeer = tester
        }
        addresses[.subject] = .record(
            CaseRecord([("address", .text(own.address.description)), ("type", .number(own.isRandom ? 1 : 0))]))
    }

    private func isAccessory(_ side: Side) -> Bool { side == .subject && kind == .accessory }

    private func startHost(on end: Endpoint, keys: KeyStore? = nil) async throws -> HostDriver {
        let isSubject = end.side == .subject
        var keys = keys
        if keys == nil, !isSubject, !known.isEmpty {
            let store = KeyStore()
            for bond in known { store.add(bond) }
            keys = store
        }
        let driver = try await HostDriver.start(
            on: end, loop: loop, kind: accessoryKind, accessory: isAccessory(end.side) ? accessory : nil,
            faults: isSubject ? fault.host : [],
            rewrites: isSubject ? fault.rewrites : [], keys: keys)
        if !isSubject, pairsWhenMet, let pairing {
            driver.host.pairingSettings = pairing.settings
            driver.user = PairingUser(passkey: pairing.passkey)
        }
        if isSubject { driver.host.classicChoices = accessory.classic }
        if isSubject, kind == .host { driver.host.offerEnhancedBearers(accessory.bearers) }
        return driver
    }

    /// Simulates a power cycle of one side: resets the controller and starts a new host with the stored keys.
    func powerCycle(_ side: Side) async throws {
        guard let end = ends[side], let host = hosts[side] else { throw StepFailure(.bench, "there is no host at the \(side.rawValue)") }
        let keys = host.storedKeys
        await host.stop()
        try await ask(end, HCICommands.Reset())
        hosts[side] = try await startHost(on: end, keys: keys)
    }

    /// Resets a side and starts a new host without bonds under a new static address, so that the other side does not know it.
    func takeNewIdentity(_ side: Side) async throws {
        guard let end = ends[side], let host = hosts[side] else { throw StepFailure(.bench, "there is no host at the \(side.rawValue)") }
        if firstIdentity[side] == nil, let address = end.address { firstIdentity[side] = (address, host.storedKeys) }
        await host.stop()
        try await ask(end, HCICommands.Reset())
        try await takeAddress(end, .drawn)
        hosts[side] = try await startHost(on: end)
    }

    /// Resets a side and starts a new host with the address and the bonds that it had before it took another identity.
    func takeFirstIdentity(_ side: Side) async throws {
        guard let end = ends[side], let host = hosts[side], let (address, keys) = firstIdentity[side] else {
            throw StepFailure(.bench, "the \(side.rawValue) has had no other identity")
        }
        await host.stop()
        try await ask(end, HCICommands.Reset())
        try await takeAddress(end, .fixed(address))
        hosts[side] = try await startHost(on: end, keys: keys)
    }

    private func advertises(_ side: Side) -> Bool {
        [HCICommands.LESetAdvertisingEnable.name, HCICommands.LESetExtendedAdvertisingEnable.name]
            .contains { features.contains("\(side.rawValue).\($0)") }
    }

    /// Restores the initial state of the controllers.
    func finish() async {
        await upperTester?.stop()
        upperTester = nil
        for side in Side.allCases { await hosts[side]?.stop() }
        hosts.removeAll()
        // Otherwise a device over the air would notice the end of a connection only after its supervision timeout.
        if ends[.subject] == nil { await ends[.tester]?.leaveConnections() }
        for side in Side.allCases {
            guard let end = ends[side] else { continue }
            if end.isStarted, end.failure == nil {
                await loop.cleanUp(within: .seconds(2)) { _ = try await end.ask(HCICommands.Reset()) }
            }
            end.shutDown()
        }
        // Lets the far ends of the pipes process the end.
        await loop.cleanUp(within: .seconds(1)) { [loop] in try await loop.sleep(for: .zero) }
        schedulingDelay.stop()
    }

    // MARK: Probing

    private func probeAll() async throws {
        var commands: [Side: SupportedCommands] = [:]
        defer { features = Features.commands(of: commands).union(features) }
        for side in Side.allCases {
            guard let end = ends[side] else { continue }
            try end.start()
            _ = end.takeReordering()
            try await probe(end, &commands)
        }
    }

    private func probe(_ end: Endpoint, _ commands: inout [Side: SupportedCommands]) async throws {
        try await ask(end, HCICommands.Reset())
        let more = try await end.ask(HCICommands.SetEventMask(eventMask: BenchEvents.page1.union(.numberOfCompletedPackets)))
        if more.parameters != [ErrorCode.success.rawValue] { try await ask(end, HCICommands.SetEventMask(eventMask: BenchEvents.page1)) }
        _ = try await end.ask(HCICommands.LESetEventMask(leEventMask: BenchEvents.le))
        let buffers = try await readBuffers(end)
        for name in Features.names(in: try await ask(end, HCICommands.LEReadLocalSupportedFeatures()).leFeatures.rawValue) {
            features.insert("\(end.side.rawValue).\(name)")
        }
        commands[end.side] = SupportedCommands(try await ask(end, HCICommands.ReadLocalSupportedCommands()).supportedCommands)
        if try await ask(end, HCICommands.ReadLocalSupportedFeatures()).supportsClassic {
            features.insert("\(end.side.rawValue).\(Features.classic)")
            if let buffers { try await readClassicBuffers(end, beside: buffers) }
        }
        try await recognise(end)
        try await takeAddress(end)
    }

    /// Looks up the known defects of the controller, so that they are not attributed to the other side.
    private func recognise(_ end: Endpoint) async throws {
        guard let knowledge = end.knowledge else { return }
        let version = try await ask(end, HCICommands.ReadLocalVersionInformation())
        let known = knowledge.workarounds(version)
        if known.lacksFirmware(address: try await ask(end, HCICommands.ReadBDADDR()).bdADDR) {
            let advice = knowledge.adviceOnFirmware(version).map { ": \($0)" } ?? ""
            throw StepFailure(
                .environment,
                "the \(end.side.rawValue) (\(end.name)) runs without its firmware: it answers commands, but receives nothing on the air\(advice)"
            )
        }
        guard end.side == .tester, known.avoidsCodedPHY, features.remove("tester.LE_Coded_PHY") != nil else { return }
        remarks.append("the tester's dongle claims LE Coded, and its kind is known to hear nothing with it: it counts as one without")
    }

    /// Sets the side's address, and stores its value and type for the cases.
    ///
    /// - Parameter wanted: nil for the address of the run's settings.
    private func takeAddress(_ end: Endpoint, _ wanted: OwnAddress? = nil) async throws {
        let drawn = secrets.next()
        let publicAddress = try await ask(end, HCICommands.ReadBDADDR()).bdADDR
        let doubt = PublicAddressDoubt(
            publicAddress, others: publicAddresses, origin: end.knowledge?.originOfSharedAddress(publicAddress))
        publicAddresses.insert(publicAddress)
        var choice = wanted ?? ownAddresses[end.side] ?? .automatic
        if choice == .automatic, doubt != nil || isStranger && end.side == .tester { choice = .drawn }
        let address = choice.address(ofPublic: publicAddress) { drawn }
        if address.kind == .random { try await ask(end, HCICommands.LESetRandomAddress(randomAddress: address.bdADDR)) }
        end.address = address
        let text = CaseValue.text(address.bdADDR.description)
        addresses[end.side] = .record(CaseRecord([("address", text), ("type", .number(Int(address.kind.rawValue)))]))
    }

    /// Reads the buffers for LE data. A length or a number of 0 means that LE shares the buffers of BR/EDR. Core Vol 4, Part E, 7.8.2.
    ///
    /// - Returns: the buffers of LE alone.
    private func readBuffers(_ end: Endpoint) async throws -> ACLBuffers? {
        let own = try await ask(end, HCICommands.LEReadBufferSize())
        guard own.leACLDataPacketLength == 0 || own.totalNumLEACLDataPackets == 0 else {
            let buffers = ACLBuffers(fragmentLength: Int(own.leACLDataPacketLength), total: Int(own.totalNumLEACLDataPackets))
            end.setBuffers([buffers])
            return buffers
        }
        let shared = try await ask(end, HCICommands.ReadBufferSize())
        let (length, count) = (Int(shared.aclDataPacketLength), Int(shared.totalNumACLDataPackets))
        end.setBuffers([ACLBuffers(fragmentLength: max(1, length), total: max(1, count))])
        return nil
    }

    /// Reads the buffers of BR/EDR. Core Vol 4, Part E, 7.4.5.
    private func readClassicBuffers(_ end: Endpoint, beside buffers: ACLBuffers) async throws {
        let own = try await ask(end, HCICommands.ReadBufferSize())
        guard own.aclDataPacketLength > 0, own.totalNumACLDataPackets > 0 else { return }
        end.setBuffers([buffers, ACLBuffers(fragmentLength: Int(own.aclDataPacketLength), total: Int(own.totalNumACLDataPackets))])
    }

    @discardableResult
    private func ask<Command: HCICommand>(_ end: Endpoint, _ command: Command) async throws -> Command.Return {
        let reply = try await end.ask(command)
        let status = ErrorCode(rawValue: reply.parameters.first ?? 0)
        guard status == .success else {
            // A command that the subject claims is not unknown.
            if status == .unknownHCICommand, end.side == .subject { _ = try? await end.ask(HCICommands.ReadLocalSupportedCommands()) }
            throw StepFailure(.environment, "the \(end.side.rawValue) (\(end.name)) refuses \(Command.name) with status \(status.rawValue)")
        }
        do {
            return try Command.Return(prefixOf: reply.parameters)
        } catch {
            throw StepFailure(.environment, "the \(end.side.rawValue) (\(end.name)) answers \(Command.name) wrongly: \(error)")
        }
    }
}
