import BBCapture
import BBSimulation
import BBTiming
import BBTransport

/// The recording of a bench: the HCI packets of its hosts and everything on its simulated air, in a pcapng file. The file contains keys and
/// is readable by its owner only.
public final class BenchRecording {
    /// The name of the file.
    public var path: String { log.path }

    let log: CaptureLog
    let loop: RunLoop
    private let simulation: Simulation
    private var isFinished = false

    /// - Throws: `CaptureError` if the file cannot be written.
    public init(to path: String, of simulation: Simulation, on loop: RunLoop) throws(CaptureError) {
        (self.simulation, self.loop) = (simulation, loop)
        log = try CaptureLog(path: path, format: .pcapng, epoch: .epoch(of: loop), isSecret: true)
        try simulation.logAir(into: log)
    }

    deinit { try? finish() }

    /// The pipe of a host, with its packets in the recording.
    ///
    /// - Parameter name: of the host in the recording.
    public func recorded(_ pipe: any HCITransport, as name: String) throws(CaptureError) -> any HCITransport {
        try pipe.captured(into: isFinished ? nil : log, as: name, on: loop)
    }

    /// Ends the recording and completes its file.
    ///
    /// - Throws: the first error of the recording.
    public func finish() throws(CaptureError) {
        guard !isFinished else { return }
        isFinished = true
        simulation.logAir(to: nil)
        try log.finish()
    }
}
