import BBCases
import BBHCI
import BBPackets

/// The reasons why a controller is unreliable in a case: it was lost, did not answer, or refused commands that it claims to support.
///
/// The faults of the tester's dongle are reported as observations and never cause a FAIL of the subject.
struct TesterReliability: Sendable {
    /// The first reason to doubt this side, with its packet.
    private(set) var impediment: Evidence?
    private var refused: [(name: String, evidence: Evidence)] = []

    /// Records commands that were refused as unknown; the supported commands are checked later.
    mutating func answered(_ answer: CommandAnswer, number: Int, at side: Side) {
        guard answer.status == .unknownHCICommand, let name = PDUCatalog.command(opcode: answer.opcode)?.name else { return }
        let text = "\(name) is claimed and answered by Unknown HCI Command"
        refused.append((name, Evidence(packet: number, side: side.rawValue, text: text)))
    }

    mutating func crashed(_ number: Int, at side: Side) {
        impediment = impediment ?? Evidence(packet: number, side: side.rawValue, text: "its controller crashed: Hardware_Error")
    }

    /// Records a command that was not answered within the host's time-out.
    mutating func leftUnanswered(_ opcode: UInt16, number: Int, at side: Side) {
        let name = PDUCatalog.command(opcode: opcode)?.name ?? Hex.number(opcode)
        impediment = impediment ?? Evidence(packet: number, side: side.rawValue, text: "\(name) was not answered")
    }

    /// The first reason to doubt this side; nil if there is none.
    ///
    /// - Parameter isClaimed: returns true if the controller claims to support the command.
    func impediment(isClaimed: (String) -> Bool) -> Evidence? { impediment ?? refused.first { isClaimed($0.name) }?.evidence }
}
