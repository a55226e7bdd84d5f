import BBCases
import BBHCI
import BBPackets

/// The last command that a case has sent on one side.
struct SentCommand: Sendable {
    var opcode: UInt16
    /// The command's connection, if it has one.
    var handle: Int?
    /// The position in the log after which its answers are expected.
    var index: Int
    /// The command and its answer.
    var exchange: [Evidence] = []
}

/// Determines which packet answers the request whose answer is expected.
///
/// ATT allows one request at a time on a bearer, so the next response is the answer (Core Vol 3, Part F, 3.3.2). Command Reject is the
/// answer to an L2CAP request. The procedure of a command ends with its own event, whatever its status, or with the connection; a refused
/// command ends immediately (Core Vol 4, Part E, 7.7.15).
struct AnswerRule {
    private enum Awaited {
        case attResponse
        case signallingResponse
        case end(SentCommand)
        case nothing
    }

    private let awaited: Awaited

    /// - Parameters:
    ///   - command: the last command on the observing side.
    ///   - isAlone: true if no other branch runs that could have caused the answer.
    init(_ expectation: Expectation, after command: SentCommand?, isAlone: Bool) {
        if !isAlone {
            awaited = .nothing
        } else if ResponseNames.att.contains(expectation.name) {
            awaited = .attResponse
        } else if ResponseNames.signalling.contains(expectation.name) {
            awaited = .signallingResponse
        } else if let command, Self.ends(command, expectation.name) {
            awaited = .end(command)
        } else {
            awaited = .nothing
        }
    }

    private static func ends(_ command: SentCommand, _ name: String) -> Bool {
        PDUID(.hciCommands, code: Int(command.opcode)).completedBy.contains { AlternativeEvents.matches(name, $0.name) }
    }

    /// True if the packet is an answer but not the expected one.
    func isOther(_ observation: Observation, _ search: Search) -> Bool {
        guard observation.side == search.side, !observation.isAir else { return false }
        switch awaited {
        case .attResponse: return ResponseNames.att.contains(observation.name)
        case .signallingResponse: return ResponseNames.signallingRefusals.contains(observation.name) && observation.name != search.name
        case .end(let command): return observation.index >= command.index && Self.isEnd(observation, of: command, search)
        case .nothing: return false
        }
    }

    private static func isEnd(_ observation: Observation, of command: SentCommand, _ search: Search) -> Bool {
        guard case .event(let bytes) = observation.content else { return false }
        if let answer = try? CommandAnswer(event: HCIPacket(.event, bytes)) {
            return answer.opcode == command.opcode && answer.status != .success
        }
        let isEvent = AlternativeEvents.matches(search.name, observation.name)
        guard isEvent || observation.name == HCIEvents.DisconnectionComplete.name else { return false }
        let record = PDUCodec.record(of: observation)
        let hasFailed = record["Status"]?.asNumber != Int(ErrorCode.success.rawValue)
        guard let handle = command.handle else { return isEvent && hasFailed }
        return record["Connection_Handle"]?.asNumber == handle && isEvent == hasFailed
    }
}
