import BBCases
import BBPackets

/// Sends the commands that a controller must not know: those that it does not claim, or those of an OGF that is reserved.
enum SendUnknownCommands: NamedAction {
    static let name = "send unknown commands"
    static let about = "sends commands that the controller must not know; each is answered with Unknown HCI Command"
    static let kind = TypedArgument.named("kind", ["Unclaimed": 0, "Reserved": 1], "without a bit in Supported_Commands, or of OGF 0x3E")
    static var arguments: [ActionArgument] { [kind.declaration] }
    static let commands = [HCICommands.ReadLocalSupportedCommands.name]
    static let results = ["sent"]

    /// A command, with the statuses that are as good as Unknown HCI Command.
    private struct Unknown {
        var opcode: UInt16
        var name: String
        var parameters: [UInt8] = []
        var alternatives: [ErrorCode] = []
    }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let end = try context.end()
        let commands = try context(kind) == 0 ? unclaimed(try await claims(of: end)) : reserved
        for command in commands {
            let limit = context.bench.loop.now + .seconds(3)
            guard let reply = try await end.command(opcode: command.opcode, parameters: command.parameters, until: limit) else {
                throw ActionFinding(text: "\(command.name): expected Unknown_HCI_Command (0x01), got no answer within 3 s")
            }
            let status = ErrorCode(rawValue: reply.parameters.first ?? 0)
            guard status == .unknownHCICommand || command.alternatives.contains(status) else {
                throw ActionFinding(text: "\(command.name): expected Unknown_HCI_Command (0x01), got \(status)")
            }
        }
        return CaseRecord([("sent", .number(commands.count))])
    }

    private static func claims(of end: Endpoint) async throws -> SupportedCommands {
        SupportedCommands(try await end.demand(HCICommands.ReadLocalSupportedCommands()).supportedCommands)
    }

    /// The commands whose bit is clear. Host_Number_Of_Completed_Packets has no answer.
    private static func unclaimed(_ claims: SupportedCommands) -> [Unknown] {
        PDUCatalog.all.compactMap { declaration in
            guard declaration.layer == .hciCommands, let bit = declaration.supportedCommandsBit, !claims.contains(bit),
                declaration.name != HCICommands.HostNumberOfCompletedPackets.name
            else { return nil }
            let parameters = try? PDUCodec.encode(declaration.name, CaseRecord())
            let isCancel = declaration.name == HCICommands.RemoteNameRequestCancel.name
            return Unknown(
                opcode: UInt16(truncatingIfNeeded: declaration.code), name: declaration.name, parameters: parameters ?? [],
                alternatives: isCancel ? [.unspecifiedError, .commandDisallowed] : [])
        }
    }

    /// The first and the last commands of OGF 0x3E, and twenty between them.
    private static var reserved: [Unknown] {
        let between = (0..<20).map { 0x010 + ($0 * 0x31 + 0x17) % 0x3E0 }
        return (Array(0x000...0x00F) + between + Array(0x3F0...0x3FF)).map { number in
            let opcode = UInt16(0x3E << 10 | number)
            return Unknown(opcode: opcode, name: "opcode 0x" + String(opcode, radix: 16, uppercase: true))
        }
    }
}
