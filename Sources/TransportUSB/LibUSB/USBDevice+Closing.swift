import BBCLibUSB
import BBHCI
import BBPackets
import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension USBDevice {
    /// Sends the last HCI_Reset and waits for the answer; without it, some dongles do not respond at the next opening. Discards all other
    /// input.
    func resetController(within limit: Microseconds) {
        guard send(StartupLadder.reset) else { return }
        let deadline = MonotonicClock.now() + limit
        while MonotonicClock.now() < deadline {
            for item in takeNews() {
                switch item {
                case .packet(let packet, _) where packet.completedOpcode == HCICommands.Reset.opcode: return
                case .lost, .haltedForGood: return
                case .packet(let packet, _):
                    if let answer = try? CommandAnswer(event: packet), answer.opcode == HCICommands.Reset.opcode { return }
                case .portWasReset, .listening, .voice, .mode, .lostFraming, .control: break
                }
            }
            usleep(300)
        }
    }
}
