import BBHost
import BBPackets
import BBRecording
import BBSimulation
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation
import Synchronization

/// Several phones on one simulated air, in virtual time, for tests: one clock, one seed, the same course each time.
///
/// A bench belongs to the thread that creates it. Managers created inside `CBPhone.use(_:)` are those of that phone. The delegates of managers
/// without a queue are called by `run`, on this thread; time stands still between the runs. Queues, `asyncAfter`, tasks and timers of run loops
/// of this thread, and of what it starts, follow virtual time to a millisecond; `Date()` does not.
public final class CBBench {
    let loop: PhoneLoop
    let simulation: Simulation
    var recording: BenchRecording?
    private let seed: UInt64
    private var phones: [CBPhone] = []
    private var controllers: UInt64 = 0
    private var identifiers: [String: ControllerID] = [:]
    /// All hosts on the air.
    private(set) var hosts: [PhoneHost] = []
    private var packetErrorRate = 0.0
    /// The disturbances of a phone; nil for none.
    var plan: CBBenchPlan?
    /// Calls of delegates of the phone of the plan.
    var calls = 0
    private let program: ProgramQueues
    let found = Misuses()
    /// Time stands still from the first misuse on: `run` returns false at once.
    public let isStrict: Bool

    /// - Parameters:
    ///   - seed: determines every random choice.
    ///   - strict: the first call without effect ends the run of the bench, and with it the test; see `misuses` and `check()`.
    public init(seed: UInt64 = 1, strict: Bool = false) {
        self.seed = seed
        isStrict = strict
        loop = PhoneLoop()
        program = ProgramQueues(time: ProgramTime(loop))
        simulation = Simulation(loop: loop, seed: seed)
    }

    deinit { program.end() }

    /// Adds a phone, or an accessory written with Core Bluetooth.
    public func phone(_ name: String, _ traits: CBPhoneTraits = CBPhoneTraits()) -> CBPhone {
        let transport = controller(name, traits)
        let seed = seed &* 1_000 &+ controllers
        let phone = CBPhone(name: name, seed: seed, traits: traits, program: program) {
            PhoneHost(loop: loop, transport: transport, database: $0, seed: seed)
        }
        phone.keepMisuses(in: found)
        if plan?.phone == name { phone.onCall = { [unowned self, unowned phone] in noteCall(phone) } }
        phones.append(phone)
        hosts.append(phone.host)
        phone.start()
        return phone
    }

    /// Adds a phone that behaves like a known one.
    ///
    /// - Parameter persona: a name of `CBPhonePersona.names`.
    /// - Throws: the names that there are, if it is not one of them.
    public func phone(_ name: String, persona: String, _ traits: CBPhoneTraits = CBPhoneTraits()) throws -> CBPhone {
        var traits = traits
        traits.persona = try CBPhonePersona(named: persona)
        return phone(name, traits)
    }

    /// Adds a controller to the air.
    private func controller(_ name: String, _ traits: CBPhoneTraits = CBPhoneTraits()) -> any HCITransport {
        controllers += 1
        var configuration = ControllerConfiguration(address: DeviceAddress(value: 0xC0_0000_00B0_00 + controllers))
        if traits.isDualMode { configuration.profile = .dual }
        configuration.maxOctets = UInt16(min(max(traits.packetOctets, 27), 251))
        configuration.maxExchangesPerEvent = traits.persona?.packetsPerEvent
        let pipe = InProcessTransport.pair(name: name, on: loop)
        do { identifiers[name] = try simulation.addController(configuration, on: pipe.controller) } catch {
            FileHandle.standardError.write(Data("the simulated controller cannot be added: \(error)\n".utf8))
        }
        let recorded = (try? recording?.recorded(pipe.host, as: name)) ?? pipe.host
        return LateReading.asAsked(recorded, on: loop)
    }

    /// A host on a controller of its own, for accessories that are not written with Core Bluetooth.
    package func host(_ name: String, database: GATTDatabase, isDualMode: Bool = false) -> PhoneHost {
        var traits = CBPhoneTraits()
        traits.isDualMode = isDualMode
        let transport = controller(name, traits)
        let host = PhoneHost(loop: loop, transport: transport, database: database, seed: seed &* 1_000 &+ controllers)
        hosts.append(host)
        return host
    }

    /// Starts a procedure, which runs while time passes.
    package func start(_ body: @escaping () async throws -> Void) { _ = loop.start(body) }

    /// Time since the bench was created, in seconds.
    public var now: TimeInterval { Double(loop.now.halfMicroseconds) / 2_000_000 }

    /// The share of packets that are lost, 0...1.
    public func setPacketErrorRate(_ rate: Double) {
        packetErrorRate = rate
        simulation.setPacketErrorRate(rate)
    }

    /// Loses a share of all packets for seconds.
    func disturbAir(_ rate: Double, for duration: TimeInterval) {
        simulation.setPacketErrorRate(rate)
        after(duration) { [self] in simulation.setPacketErrorRate(packetErrorRate) }
    }

    /// Sets how strong two devices receive each other, in dBm, by their names; -50 by default. Below -97 dBm they are out of range.
    public func setRSSI(_ rssi: Int, between one: String, and other: String) {
        guard let one = identifiers[one], let other = identifiers[other] else { return }
        for (source, destination) in [(one, other), (other, one)] {
            simulation.setPathLoss(-min(max(rssi, -127), 20), from: source, to: destination)
        }
    }

    /// Places two devices at a distance in metres, by their names: the RSSI is that of free space at 2.44 GHz and 0 dBm (Friis), without
    /// walls, bodies and antennas. They are out of range beyond 690 m.
    public func setDistance(_ metres: Double, between one: String, and other: String) {
        let loss = 40.2 + 20 * log10(min(max(metres, 0.1), 100_000))
        setRSSI(-Int(saturating: loss.rounded()), between: one, and: other)
    }

    /// Calls a function of the program when a time has passed, in seconds: the clock of a program that lets its tests choose one.
    public func after(_ delay: TimeInterval, _ body: @escaping () -> Void) {
        loop.schedule(after: .seconds(min(max(0, delay), Self.longest)), body)
    }

    /// A year, in seconds.
    static let longest: TimeInterval = 31_536_000

    /// Lets a time pass, in seconds.
    public func run(for duration: TimeInterval) { _ = run(within: duration) { false } }

    /// Lets time pass until a condition holds, or for at most `limit` seconds.
    ///
    /// - Returns: true if the condition holds, and on a strict bench if nothing was misused.
    @discardableResult
    public func run(within limit: TimeInterval = 30, until condition: @escaping () -> Bool) -> Bool {
        let (loop, program, found) = (loop, program, isStrict ? found : nil)
        let condition = { condition() || found?.list.isEmpty == false }
        return pass(limit, condition, loop, program) && found?.list.isEmpty ?? true
    }

    private func pass(_ limit: TimeInterval, _ condition: @escaping () -> Bool, _ loop: PhoneLoop, _ program: ProgramQueues) -> Bool {
        let deadline = loop.now + .seconds(min(max(0, limit), Self.longest))
        do {
            return try loop.run {
                program.serveAll()
                if condition() { return true }
                guard loop.now < deadline else { return false }
                let result = Promise<Bool>(on: loop)
                var timer: BBTiming.Timer?
                func set() { if let timer { loop.set(timer, at: min(deadline, loop.now + Self.step)) } }
                // A timer for all steps: a day has 86 million.
                timer = loop.keep {
                    program.serve()
                    if condition() { return result.fulfil(true) }
                    if loop.now < deadline { set() } else { result.fulfil(false) }
                }
                defer { if let timer { loop.discard(timer) } }
                set()
                return try await result.value()
            }
        } catch {
            FileHandle.standardError.write(Data("[CoreBluetooth] CBBench.run: \(error)\n".utf8))
            return condition()
        }
    }

    /// The time between two evaluations of a condition.
    private static let step = Microseconds.milliseconds(1)

    // MARK: The current phone

    /// The phone of this thread.
    private static var chosen: CBPhone? {
        get { Thread.current.threadDictionary["bluebench.phone"] as? CBPhone }
        set { Thread.current.threadDictionary["bluebench.phone"] = newValue }
    }

    /// The phone of managers created now: the one of the innermost `CBPhone.use`, otherwise that of the device in `BLUEBENCH_DEVICE`.
    static var currentPhone: CBPhone { chosen ?? SystemPhone.shared.value }

    static func choose<Value>(_ phone: CBPhone, _ body: () throws -> Value) rethrows -> Value {
        let before = chosen
        chosen = phone
        defer { chosen = before }
        return try body()
    }
}

extension CBPhone {
    /// Runs code of the program as on this phone: managers created in it are those of the phone.
    public func use<Value>(_ body: () throws -> Value) rethrows -> Value { try CBBench.choose(self, body) }
}
