import BBHost
import BBPackets
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
    private let simulation: Simulation
    private let seed: UInt64
    private var phones: [CBPhone] = []
    private var controllers: UInt64 = 0
    private let program: ProgramQueues

    /// - Parameter seed: determines every random choice.
    public init(seed: UInt64 = 1) {
        self.seed = seed
        loop = PhoneLoop()
        program = ProgramQueues(time: ProgramTime(loop))
        simulation = Simulation(loop: loop, seed: seed)
    }

    deinit { program.end() }

    /// Adds a phone, or an accessory written with Core Bluetooth.
    public func phone(_ name: String, _ traits: CBPhoneTraits = CBPhoneTraits()) -> CBPhone {
        let transport = controller(name, isDualMode: traits.isDualMode)
        let seed = seed &* 1_000 &+ controllers
        let phone = CBPhone(name: name, seed: seed, traits: traits, program: program) {
            PhoneHost(loop: loop, transport: transport, database: $0, seed: seed)
        }
        phones.append(phone)
        phone.start()
        return phone
    }

    /// Adds a controller to the air.
    private func controller(_ name: String, isDualMode: Bool = false) -> any HCITransport {
        controllers += 1
        var configuration = ControllerConfiguration(address: DeviceAddress(value: 0xC0_0000_00B0_00 + controllers))
        if isDualMode { configuration.profile = .dual }
        let pipe = InProcessTransport.pair(name: name, on: loop)
        do { _ = try simulation.addController(configuration, on: pipe.controller) } catch {
            FileHandle.standardError.write(Data("the simulated controller cannot be added: \(error)\n".utf8))
        }
        return LateReading.asAsked(pipe.host, on: loop)
    }

    /// A host on a controller of its own, for accessories that are not written with Core Bluetooth.
    package func host(_ name: String, database: GATTDatabase, isDualMode: Bool = false) -> PhoneHost {
        let transport = controller(name, isDualMode: isDualMode)
        return PhoneHost(loop: loop, transport: transport, database: database, seed: seed &* 1_000 &+ controllers)
    }

    /// Starts a procedure, which runs while time passes.
    package func start(_ body: @escaping () async throws -> Void) { _ = loop.start(body) }

    /// Time since the bench was created, in seconds.
    public var now: TimeInterval { Double(loop.now.halfMicroseconds) / 2_000_000 }

    /// The share of packets that are lost, 0...1.
    public func setPacketErrorRate(_ rate: Double) { simulation.setPacketErrorRate(rate) }

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
    /// - Returns: true if the condition holds.
    @discardableResult
    public func run(within limit: TimeInterval = 30, until condition: @escaping () -> Bool) -> Bool {
        let (loop, program) = (loop, program)
        let deadline = loop.now + .seconds(min(max(0, limit), Self.longest))
        do {
            return try loop.run {
                program.serveAll()
                while !condition(), loop.now < deadline {
                    try await loop.sleep(until: min(deadline, loop.now + Self.step))
                    program.serve()
                }
                return condition()
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
