import BBCapture
import BBRecording
import BBTransport

extension Bench {
    /// Records the HCI packets of hosts that are opened from now on, and everything on the simulated air, in a pcapng file that Wireshark,
    /// `bluebench show` and `bluebench explain` read. The file contains keys and is readable by its owner only.
    ///
    /// - Throws: `BluetoothError` if the file cannot be written, or if a recording is running.
    public func record(to path: String) throws {
        guard recording == nil else { throw BluetoothError(.caller, .other, "a recording is already running") }
        do { recording = try BenchRecording(to: path, of: simulation, on: loop) } catch {
            throw BluetoothError(.environment, .other, "\(path): \(error)")
        }
    }

    /// Ends the recording and completes its file; does nothing without a recording.
    ///
    /// - Throws: `BluetoothError` if packets are missing in the file.
    public func stopRecording() throws {
        guard let recording else { return }
        self.recording = nil
        do { try recording.finish() } catch { throw BluetoothError(.environment, .other, "\(recording.path): \(error)") }
    }

    /// The last packets of the recording and what `bluebench explain` says about it, for the message of a failed test:
    ///
    ///     #expect(level == [87], "\(bench.account())")
    ///
    /// In real time, addresses, names and keys are left out. Without a recording it is a sentence that says so.
    ///
    /// - Parameter count: the number of lines for the last packets.
    public func account(last count: Int = 12) -> String {
        recording?.account(last: count) ?? "no recording is running: call record(to:) before the first device"
    }

    /// The pipe with its packets in the recording, if there is one.
    func recorded(_ pipe: any HCITransport, as name: String) throws -> any HCITransport {
        guard let recording else { return pipe }
        do { return try recording.recorded(pipe, as: name) } catch {
            throw BluetoothError(.environment, .other, "\(recording.path): \(error)")
        }
    }
}
