import Capture
import Simulation
import Throughput
import Timing

/// The captures that a command writes: the packets of controllers, and the simulated air.
struct Captures {
    let packets: CaptureLog?
    let air: CaptureLog?
    let keys: KeyLog?

    /// HCI carries keys: the packets of controllers are for their owner alone. In wall time packets bear the date of the day; in virtual time equal runs give equal files.
    init(packets path: String?, air airPath: String?, keys keyPath: String? = nil, on loop: RunLoop) throws {
        keys = try keyPath.map { try KeyLog($0) }
        do {
            let epoch = CaptureTime.epoch(of: loop)
            packets = try path.map { try CaptureLog(path: $0, epoch: epoch, isSecret: true) }
            air = try airPath.map { try CaptureLog(path: $0, format: .pcapng, epoch: epoch) }
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Logs what is on the air, if that is wanted.
    ///
    /// - Parameter watch: sees it, too.
    func logAir(of simulation: Simulation, beside watch: EventWatch? = nil) throws {
        if let watch {
            let interface = try air?.addAir()
            simulation.logAir { frame, time in
                if let air, let interface { air.record(frame, interface: interface, at: time) }
                watch.add(frame, at: time)
            }
        } else if let air {
            try simulation.logAir(into: air)
        }
        if let keys { simulation.logKeys { keys.add($0, $1) } }
    }

    /// Brings what is there to the disk every half second, so that a viewer can follow.
    func keepFlushing(on loop: RunLoop) {
        guard packets != nil || air != nil else { return }
        loop.schedule(after: .milliseconds(500)) {
            packets?.flush()
            air?.flush()
            keepFlushing(on: loop)
        }
    }

    /// - Throws: `CaptureError` when a file is not complete.
    func finish() throws {
        try packets?.finish()
        try air?.finish()
        try keys?.finish()
    }
}
