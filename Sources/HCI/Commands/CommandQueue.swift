import DequeModule
import Packets

/// Sends commands as Num_HCI_Command_Packets allows and matches answers to them. Core Vol 4, Part E, 4.4.
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

    /// The opcode of an event that answers no command. Core Vol 4, Part E, 7.7.14.
    public static let noCommand: UInt16 = 0

    /// The opcode by which some controllers answer a command that they do not know.
    public static let unknownOpcode: UInt16 = 0xFFFF
    /// The OGF of vendors' commands. Core Vol 4, Part E, 5.4.1.
    private static let vendorGroup: UInt16 = 0x3F

    /// Commands that may be sent now.
    public private(set) var credits = 1
    /// How many may be under way at once, whatever the controller says; nil for no limit of our own.
    public var mostUnderWay: Int?
    /// Answers that named no command but could only be for one.
    public private(set) var misnamedAnswers = 0
    private var waiting = Deque<Entry>()
    private var inFlight: [Entry] = []
    /// Answers to commands that were not outstanding.
    public private(set) var strayAnswers = 0

    public init() {}

    public var isIdle: Bool { waiting.isEmpty && inFlight.isEmpty }
    /// Commands wait, none is under way, and the controller takes none: only an event that gives credits can help.
    public var isStalled: Bool { !waiting.isEmpty && inFlight.isEmpty && credits == 0 }

    public mutating func submit(id: Int, opcode: UInt16, _ packet: HCIPacket) -> [Action] {
        waiting.append(Entry(id: id, opcode: opcode, packet: packet))
        return send()
    }

    /// Command Complete or Command Status. One for no command only carries credits.
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

    /// A vendor's event stands for the answer to the vendor's command that is under way, and gives its credit back.
    ///
    /// - Parameter parameters: the event's; they become the return parameters.
    public mutating func answeredByVendor(_ parameters: [UInt8]) -> [Action] {
        guard let index = inFlight.firstIndex(where: isVendors) else { return [] }
        let entry = inFlight.remove(at: index)
        credits = max(1, credits)
        let answer = CommandAnswer(opcode: entry.opcode, credits: credits, kind: .complete, status: .success, returns: parameters)
        return [.finish(id: entry.id, answer)] + send()
    }

    /// Takes it that one command may be sent, as the controller does not say so.
    public mutating func resume() -> [Action] {
        guard isStalled else { return [] }
        credits = 1
        return send()
    }

    /// A command ran out of time. If it was the only one out, another may be tried in its place: the controller may only have lost one answer.
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

    /// Forgets every command; their owners are told by the caller.
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
