import BBCases
import BBHost
import BBMisbehaviour
import BBPackets

/// Replaces the host's next PDU with an invalid one; the host continues as if it had sent the valid one.
enum SendInstead: NamedAction {
    static let name = "send instead"
    static let about = "the host sends other octets, or none, instead of an SMP or ATT PDU"
    static let pdu = TypedArgument.named("pdu", codes, "the PDU that is replaced")
    static let octets = TypedArgument.octets("octets", default: [], "the octets that are sent, with the opcode; none by default")
    static let skip = TypedArgument.number("skip", 0...1_000, default: 0, "PDUs that are sent unchanged first")
    static let times = TypedArgument.number("times", 1...1_000, default: 1, "PDUs that are replaced")
    static var arguments: [ActionArgument] { [pdu.declaration, octets.declaration, skip.declaration, times.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let driver = try context.driver()
        let number = try context(pdu)
        let bytes = try context(octets)
        let layer: Layer = number >= smp ? .smp : .att
        guard let name = PDUCatalog.declaration(layer: layer, code: layer == .smp ? number - smp : number)?.name else {
            return CaseRecord()
        }
        let effect: PacketRewrite.Effect = bytes.isEmpty ? .drop : .replace(bytes)
        let occurrences = Occurrences(skip: try context(skip), count: try context(times))
        driver.host.quirks.rewrites.append(try PacketRewrite(layer, name, effect, occurrences))
        return CaseRecord()
    }

    /// The offset of SMP codes, which share a table with ATT codes.
    private static let smp = 0x100
    private static let codes: [String: Int] = PDUCatalog.all.reduce(into: [:]) { codes, declaration in
        switch declaration.layer {
        case .att: codes[declaration.name] = Int(declaration.code)
        case .smp: codes[declaration.name] = smp + Int(declaration.code)
        default: break
        }
    }
}
