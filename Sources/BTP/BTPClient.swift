import BBPackets

/// The tester's end of the protocol: one command at a time, and events that may arrive before its response.
public struct BTPClient: Sendable {
    /// The result of a received frame.
    public enum Outcome: Sendable, Hashable {
        case event(BTPFrame)
        case response(BTPFrame)
        /// The error response to the command; the reason is nil if it is undefined.
        case refused(BTPError?, BTPFrame)
        /// The response to a command that was abandoned.
        case late(BTPFrame)
        /// A violation of the protocol by the upper tester.
        case violation(String)
    }

    private enum State: Sendable {
        case idle
        case awaitingResponse(BTPFrame)
    }

    private var state = State.idle
    private var abandoned: BTPFrame?
    private var framer: BTPFramer

    public init(limit: Int = 65_535) { framer = BTPFramer(limit: limit) }

    /// The command without a response.
    public var pending: BTPFrame? {
        if case .awaitingResponse(let command) = state { command } else { nil }
    }

    /// Notes a command; returns its octets, or nil while another one is pending.
    public mutating func send(_ command: BTPFrame) -> [UInt8]? {
        guard case .idle = state, !command.isEvent else { return nil }
        state = .awaitingResponse(command)
        return command.bytes
    }

    /// Abandons the pending command. Its response may still come.
    public mutating func giveUp() { (abandoned, state) = (pending ?? abandoned, .idle) }

    public mutating func receive(_ octets: some Sequence<UInt8>) -> [Outcome] {
        do {
            return try framer.receive(octets).map { take($0) }
        } catch {
            return [.violation("it sent a frame with \(error.length) octets of data, at most \(error.limit) are accepted")]
        }
    }

    private mutating func take(_ frame: BTPFrame) -> Outcome {
        if frame.isEvent { return problem(frame, isResponse: false).map { .violation($0) } ?? .event(frame) }
        guard case .awaitingResponse(let command) = state, Self.answers(frame, command) else {
            if let late = abandoned, Self.answers(frame, late) {
                abandoned = nil
                return .late(frame)
            }
            return .violation(
                pending.map { "it answered \($0.text) with a response to service \(frame.service), opcode \(frame.opcode)" }
                    ?? "it sent a response that no command asked for: service \(frame.service), opcode \(frame.opcode)")
        }
        state = .idle
        if frame.opcode == BTPFrame.errorOpcode {
            guard frame.data.count == 1 else { return .violation("its error response has \(frame.data.count) octets of data, not 1") }
            return .refused(frame.error, frame)
        }
        return problem(frame, isResponse: true).map { .violation($0) } ?? .response(frame)
    }

    private static func answers(_ frame: BTPFrame, _ command: BTPFrame) -> Bool {
        frame.service == command.service && (frame.opcode == command.opcode || frame.opcode == BTPFrame.errorOpcode)
    }

    /// Describes data that do not fit the declaration; nil if they do, or if there is no declaration.
    private func problem(_ frame: BTPFrame, isResponse: Bool) -> String? {
        let layer = DecodedLayer(btp: frame, isResponse: isResponse)
        guard layer.declaration != nil else {
            let hasCommand = PDUCatalog.declaration(layer: .btpCommands, code: frame.code) != nil
            return isResponse && hasCommand && !frame.data.isEmpty
                ? "its response to \(DecodedLayer(btp: frame, isResponse: false).name) has \(frame.data.count) octets of data, not 0" : nil
        }
        if let problem = layer.problem { return "its \(layer.name) is malformed: \(problem)" }
        return layer.trailing.isEmpty ? nil : "its \(layer.name) has \(layer.trailing.count) octets too many"
    }
}
