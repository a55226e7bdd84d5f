import BBCases
import BBPackets

/// Compares what a controller reports of itself with the conformance statement of its maker.
enum CompareWithStatement: NamedAction {
    static let name = "compare with statement"
    static let about =
        "sends the command and compares each bit of its answer with the statement of --ics; bits that the statement does not name are not judged"
    private static let reads: [(name: String, mask: DeclaredMasks.Mask, header: Int)] = [
        (HCICommands.ReadLocalSupportedCommands.name, .commands, 1),
        (HCICommands.ReadLocalSupportedCommandsV2.name, .commands, 1),
        (HCICommands.LEReadLocalSupportedFeatures.name, .leFeatures, 1),
        // Status and Max_Page.
        ("LE_Read_All_Local_Supported_Features", .leFeatures, 2),
        (HCICommands.ReadLocalSupportedFeatures.name, .lmpFeatures, 1),
        // Status, Page_Number and Max_Page_Number.
        (HCICommands.ReadLocalExtendedFeatures.name, .lmpFeatures, 3),
    ]
    static let command = TypedArgument.named(
        "command", Dictionary(uniqueKeysWithValues: reads.enumerated().map { ($1.name, $0) }), "the command that reads the mask")
    static var arguments: [ActionArgument] { [command.declaration] }
    static let commands = reads.map(\.name)
    static let results = ["compared"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let command = reads[try context(Self.command)]
        guard let declared = context.bench.declared else {
            throw StepFailure(.limitation, "there is no conformance statement to compare with: --ics names one")
        }
        let octets = try await mask(command.name, command.header, context)
        let bits = declared.bits(of: command.mask).filter { $0.position < 8 * octets.count }
        guard !bits.isEmpty else {
            throw StepFailure(.limitation, "the conformance statement names no item about \(command.name)")
        }
        let others = bits.filter { (octets[$0.position / 8] >> UInt8($0.position % 8) & 1 == 1) != $0.isDeclared }
        guard others.isEmpty else {
            let texts = others.prefix(4).map { bit in
                let values = bit.isDeclared ? ("1", "declared", "0") : ("0", "denied", "1")
                return "\(bit.name): expected \(values.0), as \(bit.items) is \(values.1), got \(values.2)"
            }
            let more = others.count > texts.count ? "; and \(others.count - texts.count) more" : ""
            throw ActionFinding(text: "\(command.name): " + texts.joined(separator: "; ") + more)
        }
        return CaseRecord([("compared", .number(bits.count))])
    }

    /// Returns the octets of the mask, of all pages that the answers name.
    private static func mask(_ name: String, _ header: Int, _ context: ActionContext) async throws -> [UInt8] {
        guard name == HCICommands.ReadLocalExtendedFeatures.name else { return Array(try await ask(name, [], context).dropFirst(header)) }
        var (octets, page, last): ([UInt8], UInt8, UInt8) = ([], 0, 0)
        repeat {
            let answer = try await ask(name, [page], context)
            octets += answer.dropFirst(header)
            last = answer.count > 2 ? answer[2] : 0
            page += 1
        } while page <= last && page < 16
        return octets
    }

    private static func ask(_ name: String, _ parameters: [UInt8], _ context: ActionContext) async throws -> [UInt8] {
        guard let opcode = PDUCodec.opcode(of: name) else { throw StepFailure(.bench, "\(name) is not declared") }
        guard let reply = try await context.end().command(opcode: opcode, parameters: parameters, until: context.deadline) else {
            throw ActionFinding(text: "\(name): expected an answer, got none")
        }
        let status = ErrorCode(rawValue: reply.parameters.first ?? 0)
        let isClaimed = !Features.commands.contains(name) || context.bench.features.contains("\(context.side.rawValue).\(name)")
        if status == .unknownHCICommand, !isClaimed {
            throw StepFailure(.limitation, "the \(context.side.rawValue) has no \(name) (packet \(reply.number))")
        }
        guard status == .success else { throw ActionFinding(text: "\(name): expected Success, got \(status)") }
        return reply.parameters
    }
}
