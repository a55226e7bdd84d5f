import BBCases
import BBPackets
import BBTraffic

/// The procedures that both ends of a link have begun, for the two that collide. Core Vol 6, Part B, 5.3.
struct CollisionWatch {
    private struct Procedure {
        var name: String
        var id: PDUID
        var end: PacketSender
        var at: Moment
    }

    private var begun: [Procedure] = []

    private static let most = 8
    /// LMP_Error_Transaction_Collision and Different_Transaction_Collision.
    private static let collisions: Set<Int> = [0x23, 0x2A]
    /// Two procedures further apart have met others.
    private static let longest: Int64 = 10_000_000
    private static let asked = HCIEvents.LERemoteConnectionParameterRequest.id
    private static let codes = ["Reason", "ErrorCode", "Status"]

    /// A command to the controller, or one of its events.
    mutating func note(_ pdu: DecodedLayer, at now: Moment) -> Observation? {
        guard let id = pdu.id else { return nil }
        if pdu.layer == .hciCommands {
            if Self.isProcedure(id) { begin(Procedure(name: pdu.name, id: id, end: .local, at: now)) }
            return nil
        }
        if id == Self.asked { begin(Procedure(name: pdu.name, id: id, end: .peer, at: now)) }
        if let command = pdu.command {
            if pdu.fields.named("Status")?.int ?? 0 != 0 { begun.removeAll { $0.id == command.id } }
            return nil
        }
        let found = collided(pdu, isEnd: id == HCIEvents.DisconnectionComplete.id, now)
        let completed = id.completes
        begun.removeAll { completed.contains($0.id) || $0.id == Self.asked && id == HCIEvents.LEConnectionUpdateComplete.id }
        return found
    }

    /// A PDU on the air.
    mutating func note(control pdu: DecodedLayer, from sender: PacketSender, at now: Moment) -> Observation? {
        guard let id = pdu.id else { return nil }
        if id.beginsProcedure || pdu.fields.named("Instant") != nil && id.answers.isEmpty {
            begin(Procedure(name: pdu.name, id: id, end: sender, at: now))
            return nil
        }
        let found = collided(pdu, isEnd: id == LLControl.TerminateInd.id, now)
        // An answer with an instant does not end a procedure.
        if pdu.fields.named("Instant") == nil, id.refuses == nil { begun.removeAll { $0.end != sender && id.answers.contains($0.id) } }
        return found
    }

    /// True for a command whose procedure an event of the same link completes.
    private static func isProcedure(_ id: PDUID) -> Bool {
        let events = id.completedBy
        return !events.isEmpty && !events.contains { if case .opens = $0.effect { true } else { false } }
    }

    private mutating func begin(_ procedure: Procedure) {
        begun.removeAll { $0.id == procedure.id && $0.end == procedure.end }
        if begun.count >= Self.most { begun.removeFirst() }
        begun.append(procedure)
    }

    private func collided(_ pdu: DecodedLayer, isEnd: Bool, _ now: Moment) -> Observation? {
        guard let field = Self.codes.lazy.compactMap({ pdu.fields.named($0) }).first, let code = field.int, Self.collisions.contains(code),
            let second = begun.last, let first = begun.last(where: { $0.end != second.end }), now.time - first.at.time < Self.longest
        else { return nil }
        func side(_ end: PacketSender) -> String { end == .peer || end == .local ? "\(end) side" : "\(end)" }
        return Observation(
            .proceduresCollided,
            [
                ("First", .text(first.name)), ("First_From", .text(side(first.end))), ("First_Packet", .number(first.at.packet)),
                ("Second", .text(second.name)), ("Second_From", .text(side(second.end))), ("Second_Packet", .number(second.at.packet)),
                ("Result", .text(Refusal.name(of: code, field.declaration) ?? "")), ("Code", .text(Hex.number(code, bits: 8))),
                ("Ended", .number(isEnd ? 1 : 0)),
            ])
    }
}
