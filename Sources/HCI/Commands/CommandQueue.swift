import BBPackets
import DequeModule

/// Sends commands as Num_HCI_Command_Packets allows, and matches answers to them. Core Vol 4, Part E, 4.4.
public struct CommandQueue: Sendable {
    public enum Action: Sendable, Equatable {
        case transmit(id: Int, HCIPacket)
        case finish(id: Int, CommandAnswer)
    }

    private struct Entry: Sendable {
        var id: Int
        var opcode: UInt16
        var packet: HCIPacket
    }

    /// Opcode of an event that answers no command. Core Vol 4, Part E, 7.7.14.
    public static let noCommand: UInt16 = 0

    /// Opcode with which some controllers answer an unknown command.
    public static let unknownOpcode: UInt16 = 0xFFFF
    /// OGF of vendor commands. Core Vol 4, Part E, 5.4.1.
    package static let vendorGroup: UInt16 = 0x3F

    /// Number of commands that may be sent now.
    public private(set) var credits = 1
    /// Maximum number of outstanding commands, whatever the controller allows; nil for no limit.
    public var mostUnderWay: Int?
    /// Number of answers with a wrong opcode that could belong to one command only.
    public private(set) var misnamedAnswers = 0
    private var waiting = Deque<Entry>()
    private var inFlight: [Entry] = []
    /// Number of answers to commands that were not outstanding.
    public private(set) var strayAnswers = 0

    public init() {}

    public var isIdle: Bool { waiting.isEmpty && inFlight.isEmpty }
    /// Commands are queued, none is outstanding, and there are no credits: only an event with credits can help.
    public var isStalled: Bool { !waiting.isEmpty && inFlight.isEmpty && credits == 0 }

    public mutating func submit(id: Int, opcode: UInt16, _ packet: HCIPacket) -> [Action] {
        waiting.append(Entry(id: id, opcode: opcode, packet: packet))
        return send()
    }

    /// Handles Command Complete or Command Status. An answer to no command only provides credits.
    public mutating func answered(_ answer: CommandAnswer) -> [Action] {
        credits = answer.credits
        var actions: [Action] = []
        if let index = inFlight.firstIndex(where: { $0.opcode == answer.opcode }) {
            actions.append(.finish(id: inFlight.remove(at: index).id, answer))
        } else if answer.opcode == Self.unknownOpcode, let index = inFlight.firstIndex(where: isVendors) {
            misnamedAnswers += 1
            let entry = inFlight.remove(at: index)
            var answer = answer
            answer.opcode = entry.opcode
            actions.append(.finish(id: entry.id, answer))
        } else if answer.opcode != Self.noCommand {
            strayAnswers += 1
        }
        return actions + send()
    }

    private func isVendors(_ entry: Entry) -> Bool { entry.opcode >> 10 == Self.vendorGroup }

    /// Treats a vendor event as the answer to the outstanding vendor command, and returns its credit.
    ///
    /// - Parameter parameters: parameters of the event, used as return parameters.
    public mutating func answeredByVendor(_ parameters: [UInt8]) -> [Action] {
        guard let index = inFlight.firstIndex(where: isVendors) else { return [] }
        let entry = inFlight.remove(at: index)
        credits = max(1, credits)
        let answer = CommandAnswer(opcode: entry.opcode, credits: credits, kind: .complete, status: .success, returns: parameters)
        return [.finish(id: entry.id, answer)] + send()
    }

    /// Assumes one credit although the controller did not provide it.
    public mutating func resume() -> [Action] {
        guard isStalled else { return [] }
        credits = 1
        return send()
    }

    /// Handles a command timeout. If it was the only outstanding command, another may be sent, because the controller may have lost just
    /// one answer.
    public mutating func expire(id: Int) -> [Action] {
        waiting.removeAll { $0.id == id }
        if let index = inFlight.firstIndex(where: { $0.id == id }) {
            inFlight.remove(at: index)
            if inFlight.isEmpty { credits = max(1, credits) }
        } else if inFlight.isEmpty, credits == 0 {
            credits = 1
        }
        return send()
    }

    /// Removes all commands; the caller notifies their owners.
    public mutating func reset() {
        waiting.removeAll()
        inFlight.removeAll()
        credits = 1
    }

    private mutating func send() -> [Action] {
        var actions: [Action] = []
        while credits > 0, inFlight.count < mostUnderWay ?? .max, let entry = waiting.popFirst() {
            credits -= 1
            inFlight.append(entry)
            actions.append(.transmit(id: entry.id, entry.packet))
        }
        return actions
    }
}
