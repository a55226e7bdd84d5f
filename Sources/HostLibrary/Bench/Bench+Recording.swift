import BBCapture
import BBSimulation
import BBTransport

extension Bench {
    /// Records the HCI packets of hosts that are opened from now on, and everything on the simulated air, in a pcapng file that Wireshark,
    /// `bluebench show` and `bluebench explain` read. The file contains keys and is readable by its owner only.
    ///
    /// - Throws: `BluetoothError` if the file cannot be written, or if a recording is running.
    public func record(to path: String) throws {
        guard recording == nil else { throw BluetoothError(.caller, .other, "a recording is already running") }
        do {
            let log = try CaptureLog(path: path, format: .pcapng, epoch: .epoch(of: loop), isSecret: true)
            try simulation.logAir(into: log)
            recording = Recording(log)
        } catch {
            throw BluetoothError(.environment, .other, "\(path): \(error)")
        }
    }

    /// Ends the recording and completes its file; does nothing without a recording.
    ///
    /// - Throws: `BluetoothError` if packets are missing in the file.
    public func stopRecording() throws {
        guard let log = recording?.log else { return }
        recording?.log = nil
        recording = nil
        simulation.logAir(to: nil)
        do { try log.finish() } catch { throw BluetoothError(.environment, .other, "\(log.path): \(error)") }
    }

    /// The pipe with its packets in the recording, if there is one.
    func recorded(_ pipe: any HCITransport, as name: String) throws -> any HCITransport {
        do {
            return try pipe.captured(into: recording?.log, as: name, on: loop)
        } catch {
            throw BluetoothError(.environment, .other, "\(recording?.log?.path ?? ""): \(error)")
        }
    }
}

/// The capture of a bench, until it is stopped.
final class Recording {
    fileprivate var log: CaptureLog?

    init(_ log: CaptureLog) { self.log = log }
}
