import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// The packets that the subject's controller sends in one case, without repetitions.
struct PacketSamples: Sendable {
    /// The packets by the name of a `DeclaredPacket`, with the layer of a rule.
    private(set) var packets: [String: Set<[UInt8]>] = [:]
    /// The most samples of one packet that are kept.
    private static let most = 64

    init(_ observations: [Observation]) {
        for observation in observations where observation.side == .subject {
            switch observation.content {
            case .event(let bytes):
                add(observation.name, bytes)
                guard let answer = try? CommandAnswer(event: HCIPacket(.event, bytes)),
                    let command = PDUCatalog.command(opcode: answer.opcode)
                else { continue }
                add(DeclaredPacket.answer(command.name), bytes)
            case .air(let frame):
                guard let control = frame.controlOctets, let opcode = control.first,
                    PDUCatalog.declaration(layer: .llControl, code: Int(opcode)) != nil
                else { continue }
                add(observation.name, Array(control))
            case .baseband(let packet):
                guard observation.name != BasebandPacket.name, let message = packet.seen.message else { continue }
                add(observation.name, Array(message))
            case .upper, .voice, .upperTester: continue
            }
        }
    }

    private mutating func add(_ name: String, _ bytes: [UInt8]) {
        if packets[name, default: []].count < Self.most { packets[name, default: []].insert(bytes) }
    }
}
