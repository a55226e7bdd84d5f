import BBRecording
import Foundation

/// A condition that does not hold in time, with what happened on the air before.
public struct CBBenchFailure: Error, CustomStringConvertible {
    /// The condition in words.
    public let condition: String
    /// Seconds that it was waited for.
    public let limit: TimeInterval
    /// The misuses so far.
    public let misuses: [CBBenchMisuse]
    /// The last packets, and what `bluebench explain` says; nil without a recording.
    public let account: String?

    public var description: String {
        let lines = ["\(condition): not within \(limit) s"] + misuses.map(\.description) + [account].compactMap(\.self)
        return lines.joined(separator: "\n")
    }
}

extension CBBench {
    /// Records the HCI packets of phones and accessories that are added from now on, and everything on the air, in a pcapng file that
    /// Wireshark, `bluebench show` and `bluebench explain` read. It ends with the bench.
    ///
    /// - Throws: an error that says why the file cannot be written.
    public func record(to path: String) throws { recording = try BenchRecording(to: path, of: simulation, on: loop) }

    /// Ends the recording and completes its file; does nothing without a recording.
    ///
    /// - Throws: an error if packets are missing in the file.
    public func stopRecording() throws {
        let recording = recording
        self.recording = nil
        try recording?.finish()
    }

    /// The last packets of the recording and what `bluebench explain` says about it, for the message of a failed test:
    ///
    ///     #expect(app.rates.count == 5, "\(bench.account())")
    ///
    /// Without a recording it is a sentence that says so.
    ///
    /// - Parameter count: the number of lines for the last packets.
    public func account(last count: Int = 12) -> String {
        recording?.account(last: count) ?? "no recording is running: call record(to:) before the first phone"
    }

    /// Lets time pass until a condition holds.
    ///
    /// - Parameters:
    ///   - what: the condition in words, for the message.
    ///   - limit: seconds that it is waited for.
    /// - Throws: `CBBenchFailure` if the condition does not hold in time, and on a strict bench from the first misuse on.
    public func expect(_ what: String, within limit: TimeInterval = 30, until condition: @escaping () -> Bool) throws {
        guard !run(within: limit, until: condition) else { return }
        throw CBBenchFailure(condition: what, limit: limit, misuses: misuses, account: recording.map { _ in account() })
    }
}
