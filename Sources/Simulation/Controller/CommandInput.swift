import BBPackets
import BBTiming

/// Commands that a slow controller executes some time after their arrival, one after another.
final class CommandInput {
    private var waiting: [HCIPacket] = []
    private var timer: AirTimer!
    private let loop: RunLoop
    private let latency: () -> Microseconds
    private static let mostWaiting = 255

    /// - Parameter latency: time until the next command is executed.
    init(on loop: RunLoop, latency: @escaping () -> Microseconds, run: @escaping (HCIPacket) -> Void) {
        self.loop = loop
        self.latency = latency
        timer = AirTimer(on: loop) { [unowned self] in runNext(run) }
    }

    var count: Int { waiting.count }

    func add(_ packet: HCIPacket) {
        guard waiting.count < Self.mostWaiting else { return }
        waiting.append(packet)
        if !timer.isSet { timer.set(at: loop.now + latency()) }
    }

    func clear() {
        waiting.removeAll()
        timer.cancel()
    }

    private func runNext(_ run: (HCIPacket) -> Void) {
        guard !waiting.isEmpty else { return }
        let packet = waiting.removeFirst()
        if !waiting.isEmpty { timer.set(at: loop.now + latency()) }
        run(packet)
    }
}
