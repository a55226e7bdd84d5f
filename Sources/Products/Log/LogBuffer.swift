import BBPackets
import BBTiming
import Synchronization

/// Lines of a log between the thread that reads them and the run, each with its time of arrival.
final class LogBuffer: Sendable {
    struct Line: Sendable, Hashable {
        var text: String
        /// The time of arrival on the system's clock.
        var arrived: Microseconds
    }

    private struct State {
        var lines: [Line] = []
        var partial: [UInt8] = []
        var isCut = false
        var dropped = 0
        var remarks: [String] = []
        var told: Set<String> = []

        mutating func finishLine(at time: Microseconds) {
            if lines.count < LogBuffer.mostLines {
                lines.append(LogBuffer.Line(text: LogBuffer.clean(partial) + (isCut ? "…" : ""), arrived: time))
            } else {
                dropped += 1
            }
            partial.removeAll(keepingCapacity: true)
            isCut = false
        }
    }

    private let state = Mutex(State())

    /// The longest line in octets; the rest of a longer one is omitted.
    static let longestLine = 400
    /// The number of lines kept until the run reads them; later ones are dropped.
    static let mostLines = 5_000

    /// Adds octets of the log.
    func add(_ octets: some Sequence<UInt8>, at time: Microseconds = MonotonicClock.now()) {
        state.withLock { state in
            for octet in octets {
                switch octet {
                case UInt8(ascii: "\n"): state.finishLine(at: time)
                case UInt8(ascii: "\r"): break
                default:
                    if state.partial.count < Self.longestLine { state.partial.append(octet) } else { state.isCut = true }
                }
            }
        }
    }

    /// Ends a line without a line feed, at the end of the log.
    func finishLine(at time: Microseconds = MonotonicClock.now()) {
        state.withLock { state in if !state.partial.isEmpty { state.finishLine(at: time) } }
    }

    /// Adds a remark about the log itself, once.
    func tell(_ text: String) {
        state.withLock { state in if state.told.insert(text).inserted { state.remarks.append(text) } }
    }

    /// Takes the lines, and the number of those dropped since the last call.
    func take() -> (lines: [Line], dropped: Int) {
        state.withLock { state in
            defer { (state.lines, state.dropped) = ([], 0) }
            return (state.lines, state.dropped)
        }
    }

    func takeRemarks() -> [String] {
        state.withLock { state in
            defer { state.remarks = [] }
            return state.remarks
        }
    }

    /// Text without colours, with escaped control characters.
    static func clean(_ octets: some Sequence<UInt8>) -> String {
        var plain: [UInt8] = []
        var sequence = 0
        for octet in octets {
            switch (sequence, octet) {
            case (0, 0x1B): sequence = 1
            case (0, _): plain.append(octet)
            case (1, UInt8(ascii: "[")): sequence = 2
            case (1, _):
                plain += [0x1B, octet]
                sequence = 0
            // The last octet of a control sequence. ECMA-48, 5.4.
            case (_, 0x40...0x7E): sequence = 0
            default: break
            }
        }
        return PlainText.escaped(String(decoding: plain, as: UTF8.self))
    }
}
