import BBCases
import BBHCI
import BBPackets

/// The commands that a case's subject has executed, and those that it claims and has refused although the case needed them.
struct CommandConduct: Sendable, Hashable {
    struct Refusal: Sendable, Hashable {
        var command: String
        var status: Int
        var packet: Int
    }

    var executed: Set<UInt16> = []
    var refused: [Refusal] = []
}

extension CommandConduct {
    /// Returns the refusals of each command that the subject has refused in all cases, each with its case.
    ///
    /// A controller supports each command that it claims (Core Vol 4, Part E, 6.27). A refused command may make a case not applicable, so no
    /// single case shows the contradiction.
    static func refusedEachTime(in results: [CaseResult]) -> [String: [String]] {
        let executed = results.reduce(into: Set<UInt16>()) { $0.formUnion($1.conduct.executed) }
        var found: [String: [String]] = [:]
        for result in results {
            for refusal in result.conduct.refused {
                guard let opcode = PDUCodec.opcode(of: refusal.command), !executed.contains(opcode) else { continue }
                let status = ErrorCode(rawValue: UInt8(truncatingIfNeeded: refusal.status))
                found[refusal.command, default: []].append("\(status) in \(result.id), packet \(refusal.packet)")
            }
        }
        return found
    }
}

extension CaseRun {
    /// The subject's commands in this case; empty for a subject without HCI.
    func commandConduct() -> CommandConduct {
        var conduct = CommandConduct(refused: refusedCommands)
        guard bench.end(.subject) != nil else { return conduct }
        let answers: Set = [HCIEvents.CommandComplete.name, HCIEvents.CommandStatus.name]
        for observation in log.observations where observation.side == .subject && answers.contains(observation.name) {
            guard case .event(let bytes) = observation.content, let answer = try? CommandAnswer(event: HCIPacket(.event, bytes)),
                answer.status == .success
            else { continue }
            conduct.executed.insert(answer.opcode)
        }
        return conduct
    }

    /// Notes that a claimed command was refused at a step that needs it.
    func noteRefusal(of command: String, _ answer: CaseRecord, _ reply: Endpoint.Reply, at side: Side) {
        guard side == .subject, testCase.subject == .controller, Features.commands.contains(command), feature("subject.\(command)"),
            let status = answer["Status"]?.asNumber
        else { return }
        refusedCommands.append(CommandConduct.Refusal(command: command, status: status, packet: reply.number))
    }
}
