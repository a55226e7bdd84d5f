import Foundation
import Packets
import Simulation
import Synchronization
import Timing
import Transport
import TransportUSB

/// Several phones on one simulated air, in virtual time, for tests: one clock, one seed, the same course each time.
///
/// A bench belongs to the thread that creates it. Managers created inside `CBPhone.use(_:)` are those of that phone. The delegates of managers
/// without a queue are called by `run`, on this thread; time stands still between the runs.
public final class CBBench {
    let loop: PhoneLoop
    private let simulation: Simulation
    private let seed: UInt64
    private var phones: [CBPhone] = []

    /// - Parameter seed: determines every random choice.
    public init(seed: UInt64 = 1) {
        self.seed = seed
        loop = PhoneLoop()
        simulation = Simulation(loop: loop, seed: seed)
    }

    /// Adds a phone, or an accessory written with Core Bluetooth.
    public func phone(_ name: String) -> CBPhone {
        let number = UInt64(phones.count + 1)
        let address = DeviceAddress(value: 0xC0_0000_00B0_00 + number, kind: .random)
        let configuration = ControllerConfiguration(address: DeviceAddress(value: address.value))
        let pipe = InProcessTransport.pair(name: name, on: loop)
        let phone = CBPhone(name: name, loop: loop, transport: pipe.host, seed: seed &* 1_000 &+ number)
        do { _ = try simulation.addController(configuration, on: pipe.controller) } catch {
            phone.misuse("the simulated controller cannot be added: \(error)")
        }
        phones.append(phone)
        phone.start()
        return phone
    }

    /// Time since the bench was created, in seconds.
    public var now: TimeInterval { Double(loop.now.halfMicroseconds) / 2_000_000 }

    /// The share of packets that are lost, 0...1.
    public func setPacketErrorRate(_ rate: Double) { simulation.setPacketErrorRate(rate) }

    /// Lets a time pass, in seconds.
    public func run(for duration: TimeInterval) { _ = run(within: duration) { false } }

    /// Lets time pass until a condition holds, or for at most `limit` seconds.
    ///
    /// - Returns: true if the condition holds.
    @discardableResult
    public func run(within limit: TimeInterval = 30, until condition: @escaping () -> Bool) -> Bool {
        let loop = loop
        let deadline = loop.now + Microseconds(Int64(limit * 1_000_000))
        do {
            return try loop.run {
                while !condition(), loop.now < deadline { try await loop.sleep(until: min(deadline, loop.now + Self.step)) }
                return condition()
            }
        } catch {
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
