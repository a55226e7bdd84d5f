import BBCapture
import BBSimulation
import BBThroughput
import BBTiming

/// The captures of a command: the packets of controllers, and the simulated air.
struct Captures {
    let packets: CaptureLog?
    let air: CaptureLog?
    let keys: KeyLog?

    /// Opens the captures. Those of controllers contain keys, so only their owner can read them. In real time packets have real timestamps;
    /// in virtual time equal runs produce equal files.
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

    /// Logs the packets on the air, if requested.
    ///
    /// - Parameter watch: also receives the packets.
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

    /// Flushes the captures every half second, so that a viewer can follow them.
    func keepFlushing(on loop: RunLoop) {
        guard packets != nil || air != nil else { return }
        loop.schedule(after: .milliseconds(500)) {
            flush()
            keepFlushing(on: loop)
        }
    }

    func flush() {
        packets?.flush()
        air?.flush()
    }

    /// - Throws: `CaptureError` if a file is not complete.
    func finish() throws {
        try packets?.finish()
        try air?.finish()
        try keys?.finish()
    }
}
