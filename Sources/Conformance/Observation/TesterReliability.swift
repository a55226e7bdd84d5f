import Cases
import HCI
import Packets

/// What a controller did in a case that keeps it from being a reliability: it crashed, fell silent, or refused what it claims.
///
/// Of the tester's dongle that is an observation, and no FAIL of the subject comes of it.
struct TesterReliability: Sendable {
    /// What it did first, with its packet.
    private(set) var impediment: Evidence?
    private var refused: [(name: String, evidence: Evidence)] = []

    /// Commands that it has refused as unknown; whether it claims them is known later.
    mutating func answered(_ answer: CommandAnswer, number: Int, at side: Side) {
        guard answer.status == .unknownHCICommand, let name = PDUCatalog.command(opcode: answer.opcode)?.name else { return }
        let text = "\(name) is claimed and answered by Unknown HCI Command"
        refused.append((name, Evidence(packet: number, side: side.rawValue, text: text)))
    }

    mutating func crashed(_ number: Int, at side: Side) {
        impediment = impediment ?? Evidence(packet: number, side: side.rawValue, text: "its controller crashed: Hardware_Error")
    }

    /// A command was not answered within the host's timeout.
    mutating func leftUnanswered(_ opcode: UInt16, number: Int, at side: Side) {
        let name = PDUCatalog.command(opcode: opcode)?.name ?? Hex.number(opcode)
        impediment = impediment ?? Evidence(packet: number, side: side.rawValue, text: "\(name) was not answered")
    }

    /// - Parameter isClaimed: whether it claims the command of that name.
    func impediment(isClaimed: (String) -> Bool) -> Evidence? { impediment ?? refused.first { isClaimed($0.name) }?.evidence }
}
