import BBHCI
import BBPackets

/// Finds events that the host has masked. Core Vol 4, Part E, 7.3.1, 7.3.69 and 7.8.1.
///
/// An event that the controller made before it changed a mask may leave it after the answer, but not after the answer to a further command.
struct MaskedEvents: Sendable {
    private var masks = EventMasks()
    /// The number of commands without an answer that change masks.
    private var outstanding = 0
    private var isSettled = false

    /// Notes a successful Reset, which restores the masks.
    mutating func reset() {
        masks = EventMasks()
        isSettled = false
    }

    mutating func sent(_ command: HCIPacket) { if Self.changesMasks(command) { outstanding += 1 } }

    mutating func answered(_ answer: CommandAnswer, to command: HCIPacket) {
        guard Self.changesMasks(command) else {
            isSettled = true
            return
        }
        outstanding -= 1
        guard answer.status == .success, masks.set(by: command) else { return }
        isSettled = false
    }

    /// Returns true for an event that is masked.
    func contains(_ event: HCIPacket) -> Bool {
        guard isSettled, outstanding == 0, let code = event.eventCode,
            let declaration = PDUCatalog.event(code: code, subevent: event.leSubevent)
        else { return false }
        return !masks.pass(declaration.maskPosition)
    }

    private static func changesMasks(_ command: HCIPacket) -> Bool { command.commandOpcode.map(opcodes.contains) == true }

    private static let opcodes: Set<UInt16> = [
        HCICommands.Reset.opcode, HCICommands.SetEventMask.opcode, HCICommands.SetEventMaskPage2.opcode,
        HCICommands.LESetEventMask.opcode, HCICommands.LESetEventMaskV2.opcode,
    ]
}
