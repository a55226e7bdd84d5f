import BBPackets

/// The host's packets around the start of a dongle: those that wait for it, and those that a re-enumeration may have lost.
struct HostBacklog {
    /// The host's HCI_Reset has not been answered.
    var isResetOpen = false
    /// The dongle has sent something since its start.
    var hasSpoken = false
    /// Commands sent since HCI_Reset, which are lost if the dongle re-enumerates because of it.
    private var unanswered: [HCIPacket] = []
    private var waiting: [HCIPacket] = []
    private static let mostWaiting = 256

    /// Number of packets that wait for the start.
    var count: Int { waiting.count }

    /// Keeps a packet until the dongle has started; false if too many wait.
    mutating func hold(_ packet: HCIPacket) -> Bool {
        guard waiting.count < Self.mostWaiting else { return false }
        waiting.append(packet)
        return true
    }

    mutating func sent(command: HCIPacket) {
        if command.commandOpcode == HCICommands.Reset.opcode {
            isResetOpen = true
        } else if !hasSpoken {
            unanswered.append(command)
        }
    }

    mutating func receivedEvent() { (hasSpoken, unanswered) = (true, []) }

    /// The packets to send after a start, in their order.
    mutating func takeForStart() -> [HCIPacket] {
        defer { (unanswered, waiting, hasSpoken) = ([], [], false) }
        return unanswered + waiting
    }
}
