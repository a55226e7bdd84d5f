import Capture
import Packets

/// Numbers the packets of a run, and writes them into its capture if it has one. Cases follow one another in time.
///
/// `@unchecked Sendable`: lives on the run's thread only.
public final class Recorder: @unchecked Sendable {
    private let log: CaptureLog?
    private var interfaces: [Side: Int] = [:]
    private var offset: Microseconds = .zero
    private var uncaptured = 0

    /// - Parameter path: where the capture goes; without one packets are only numbered.
    public init(path: String?) throws(CaptureError) {
        guard let path else {
            log = nil
            return
        }
        let log = try CaptureLog(path: path)
        for side in Side.allCases { interfaces[side] = try log.addController(side.rawValue) }
        self.log = log
    }

    /// The number of the last packet.
    public var count: Int { log?.count ?? uncaptured }
    /// The first failure of the file.
    public var failure: CaptureError? { log?.failure }

    func record(_ packet: HCIPacket, _ direction: CaptureDirection, _ side: Side, at time: Microseconds) -> Int {
        guard let log, let interface = interfaces[side] else {
            uncaptured += 1
            return uncaptured
        }
        return log.record(packet, direction, interface: interface, at: offset + time)
    }

    /// Lets the next case begin a second after this one, whose own clock ended at `time`.
    ///
    /// - Parameter isShared: the next case goes on with the same clock.
    func endCase(at time: Microseconds, isShared: Bool) {
        if !isShared { offset += time + .seconds(1) }
        log?.flush()
    }

    public func finish() throws(CaptureError) { try log?.finish() }
}
