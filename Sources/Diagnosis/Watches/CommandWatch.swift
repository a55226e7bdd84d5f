import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// The last command of each kind, for the reason why a controller refuses its parameters. Core Vol 1, Part F, 2.18.
struct CommandWatch {
    private var last: [UInt16: (packet: HCIPacket, sent: Moment)] = [:]
    private var told: Set<UInt16> = []

    private static let most = 512
    private static let reasons: [ErrorCode] = [.invalidHCICommandParameters, .unsupportedFeatureOrParameterValue]

    mutating func sent(_ command: HCIPacket, at now: Moment) {
        guard let opcode = command.commandOpcode, last.count < Self.most || last[opcode] != nil else { return }
        last[opcode] = (command, now)
    }

    /// - Returns: the first parameter of a refused command that is outside its range.
    mutating func received(_ event: HCIPacket) -> Observation? {
        guard event.eventCode == HCIEvents.CommandComplete.code || event.eventCode == HCIEvents.CommandStatus.code,
            let answer = (try? CommandAnswer(event: event)) ?? nil, answer.status != .success, Self.reasons.contains(answer.status),
            let (command, sent) = last[answer.opcode], !told.contains(answer.opcode),
            let declaration = PDUCatalog.command(opcode: answer.opcode), let fault = CommandValues.fault(in: command)
        else { return nil }
        told.insert(answer.opcode)
        return Observation(
            .parameterInvalid,
            [
                ("Command", .text(declaration.name)), ("Field", .text(fault.field)), ("Expected", .text(fault.wanted)),
                ("Got", .text(fault.got)),
            ], packet: sent.packet)
    }
}
