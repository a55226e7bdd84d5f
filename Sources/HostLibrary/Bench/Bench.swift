import BBBench
import BBPackets
import BBRecording
import BBSimulation
import BBTiming
import BBTransport

/// A place where Bluetooth hosts run: its time, its simulated air, its seed.
///
///     let bench = Bench()
///     try bench.run {
///         let sensor = try await bench.simulated("Sensor")
///         let phone = try await bench.simulated("Phone")
///     }
///
/// In virtual time a bench computes as fast as it can: an hour passes in a fraction of a second, and equal seeds give equal packets. Real
/// time is for devices outside the process.
///
/// A bench belongs to the thread that creates it. `run` blocks this thread; everything in its body, and every handler of the bench's
/// objects, is called on this thread. No object of a bench is `Sendable`, so the compiler keeps them there. Several benches may be in one
/// process, also at the same time on several threads.
///
/// Only waits of the bench let its time pass: `sleep`, and the operations of its objects. `Task.sleep`, actors and dispatch queues run in the
/// machine's time and must not be awaited in virtual time.
public final class Bench {
    /// The time in which a bench runs.
    public enum Time: Sendable, Hashable {
        /// Simulated: it passes when nothing is left to compute, and as fast as that.
        case virtual
        /// The time of the machine.
        case real
    }

    public let time: Time
    let loop: RunLoop
    let simulation: Simulation
    let seed: UInt64
    /// Simulated controllers so far.
    var controllers: UInt64 = 0
    var hosts: [BluetoothHost] = []
    var offers: Offers?
    var recording: BenchRecording?

    /// - Parameters:
    ///   - time: virtual for simulated devices, real for devices outside the process.
    ///   - seed: determines every random choice on the air, and in virtual time addresses and keys, too. In real time keys are from the
    ///     system's generator.
    public init(_ time: Time = .virtual, seed: UInt64 = 1) {
        self.time = time
        self.seed = seed
        loop = RunLoop(mode: time == .virtual ? .virtual : .wall, watchesDescriptors: true)
        simulation = Simulation(loop: loop, seed: seed)
    }

    /// A bench in the time that a device needs: real for hardware and sockets, virtual for `virtual` and for selectors that end with
    /// `,virtual-time`.
    ///
    /// - Throws: `BluetoothError` if the selector has none of the forms of `open(_:named:bonds:)`.
    public convenience init(for selector: String, seed: UInt64 = 1) throws {
        let device = try Self.parse(selector)
        self.init(device == .virtual || device.isInVirtualTime ? .virtual : .real, seed: seed)
    }

    /// Without `close()`, nothing of the bench runs any more, but what its timers hold would stay.
    deinit { if loop.isOnLoop { loop.end() } }

    static func parse(_ selector: String) throws -> DeviceSelector {
        do { return try DeviceSelector(selector) } catch { throw BluetoothError.translated(error) }
    }

    // MARK: Running

    /// Time since the bench was created.
    public var now: Duration { loop.now.duration }

    /// Runs a body, and everything that happens meanwhile, until the body returns. Between two runs the bench stands still.
    ///
    /// Call it where no actor is: in a synchronous test, in `static func main()` of a type with `@main`, not at the top level of a
    /// `main.swift` and not on the main actor, which the blocked thread could not serve.
    ///
    /// - Throws: the error of the body. `BluetoothError` if the run can never end, since nothing is left that could happen; if the bench
    ///   belongs to another thread; or if a task from outside entered a run in virtual time.
    public func run<Value>(_ body: @escaping () async throws -> Value) throws -> Value {
        do { return try loop.run(body) } catch { throw BluetoothError.translated(error) }
    }

    /// Lets time pass. A cancelled wait ends at once.
    public func sleep(for duration: Duration) async throws { try await loop.sleep(for: Microseconds(duration)) }

    /// Lets time pass until a condition holds, which is evaluated every millisecond.
    ///
    /// - Throws: `BluetoothError` with the reason `timedOut` if it does not hold within the limit; its text has the last packets and what
    ///   `bluebench explain` says if there is a recording.
    public func wait(within limit: Duration = .seconds(30), until condition: () -> Bool) async throws {
        let deadline = loop.now + Microseconds(limit)
        while !condition() {
            guard loop.now < deadline else {
                let account = recording.map { "\n" + $0.account(last: 12) } ?? ""
                throw BluetoothError(.environment, .timedOut, "the condition does not hold within \(limit)" + account)
            }
            try await loop.sleep(until: min(deadline, loop.now + .milliseconds(1)))
        }
    }

    /// Starts a body beside the caller. It begins when the caller waits for something.
    public func start<Value>(_ body: @escaping () async throws -> Value) -> BenchTask<Value> { BenchTask(loop.start(body)) }

    /// Ends everything: links, advertising and scans of all hosts, the offered controllers, the recording. A device gets a reset, so that
    /// nothing of it stays on the air; that takes at most one second for each.
    ///
    /// The bench and its objects can no longer be used. A device outside the process that is not closed goes on advertising after the
    /// program's end, as its controller does.
    public func close() {
        let leaving = hosts
        hosts = []
        if !leaving.isEmpty { try? loop.run { for host in leaving { await host.inner.leave() } } }
        offers?.stop()
        offers = nil
        try? stopRecording()
        loop.end()
    }

    // MARK: The air

    /// The share of simulated packets that are lost, 0...1.
    public func setPacketErrorRate(_ rate: Double) { simulation.setPacketErrorRate(rate) }

    /// Packets sent on the simulated air so far.
    public var packetsOnAir: Int { simulation.transmissions }
}

/// Something that runs beside its creator, from `Bench.start(_:)`.
public final class BenchTask<Value> {
    private let activity: Activity<Value>

    init(_ activity: Activity<Value>) { self.activity = activity }

    public var isOver: Bool { activity.isOver }

    /// Waits for the result.
    ///
    /// - Throws: the error of the body, `CancellationError` after `cancel()`.
    public func value() async throws -> Value { try await activity.value() }

    /// Cancels the task; its waits throw `CancellationError`.
    public func cancel() { activity.cancel() }
}
