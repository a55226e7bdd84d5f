import BBMisbehaviour
import BBPackets

/// Ignores the first HCI_Resets.
final class UnheardReset: ConductRule {
    private var ignored: Occurrences

    init(times: Int) { ignored = Occurrences(count: times) }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        packet.commandOpcode == HCICommands.Reset.opcode && ignored.isDue() ? nil : packet
    }

    func portWasReset() { ignored.count = 0 }
}

/// Ignores all commands until its port is reset, from the start or on every second opening.
final class DeafOpening: ConductRule {
    private let everySecond: Bool
    private var isDeaf = false

    init(everySecond: Bool) { self.everySecond = everySecond }

    func opened(_ number: Int, _ wire: ConductWire) { isDeaf = everySecond ? number.isMultiple(of: 2) : true }
    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? { isDeaf && packet.kind == .command ? nil : packet }
    func portWasReset() { isDeaf = false }
}

/// Rejects all commands before the first HCI_Reset.
final class SwitchedOff: ConductRule {
    private var isOff = true

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard isOff, packet.kind == .command else { return packet }
        if packet.commandOpcode == HCICommands.Reset.opcode {
            isOff = false
            return packet
        }
        if let answer = HCIPacket.refusal(of: packet, .commandDisallowed) { wire.answer(answer) }
        return nil
    }
}

/// Delivers stale packets of an earlier program.
final class StalePackets: ConductRule {
    func opened(_ number: Int, _ wire: ConductWire) {
        wire.answer(HCIPacket(complete: HCICommands.LERand.self, .init(status: .success, randomNumber: 0)))
        wire.answer(HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: 0x0E01, reason: .connectionTimeout)))
        wire.answer(HCIPacket(acl: 0x0E01, .first, [3, 0, 4, 0, 1, 2, 3]))
    }
}

/// Reports Num_HCI_Command_Packets 0 in the first answer and sends no NOP event to raise it.
final class CreditZero: ConductRule {
    private var first = Occurrences(count: 1)

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        packet.answeredOpcode != nil && first.isDue() ? packet.withCredits(0) : packet
    }
}

/// Each answer reports Num_HCI_Command_Packets 0, and a NOP event raises it again.
final class CreditsByNoOperation: ConductRule {
    private let delay: ClosedRange<Int>

    init(delay: ClosedRange<Int>) { self.delay = delay }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let opcode = packet.answeredOpcode, opcode != 0 else { return packet }
        wire.after(wire.time(delay)) { wire.answer(HCIPacket(statusOpcode: 0, .success)) }
        return packet.withCredits(0)
    }
}

/// Delays its answers.
final class SlowAnswers: ConductRule {
    private let delay: ClosedRange<Int>
    private let isSlow: (HCIPacket) -> Bool
    private var busyUntil = Microseconds.zero

    init(delay: ClosedRange<Int>, _ isSlow: @escaping (HCIPacket) -> Bool) {
        self.delay = delay
        self.isSlow = isSlow
    }

    /// Commands are executed one after another.
    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard packet.kind == .command, isSlow(packet) || busyUntil > wire.now else { return packet }
        busyUntil = max(busyUntil, wire.now) + (isSlow(packet) ? wire.time(delay) : .zero)
        wire.after(busyUntil - wire.now) { wire.forward(packet) }
        return nil
    }
}

extension HCIPacket {
    /// The answer with another Num_HCI_Command_Packets.
    func withCredits(_ credits: UInt8) -> HCIPacket {
        changing(HCIEvents.CommandComplete.self) { $0.numHCICommandPackets = credits }
            .changing(HCIEvents.CommandStatus.self) { $0.numHCICommandPackets = credits }
    }
}
