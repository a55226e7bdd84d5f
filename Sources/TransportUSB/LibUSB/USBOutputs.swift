import BBPackets
import BBTransport
import DequeModule

/// Packets for a dongle that have no transfer yet, in order.
struct USBOutputs {
    /// A packet, or nil for an empty transfer.
    struct Output {
        var packet: HCIPacket?

        func octets(isSerialised: Bool) -> [UInt8] {
            guard let packet else { return [] }
            return isSerialised ? packet.serialised : packet.bytes
        }
    }

    static let roles: [USBTransfer.Role] = [.command, .dataOut]
    private var commands = Deque<Output>()
    private var data = Deque<Output>()
    private var returned: [(sequence: Int, role: USBTransfer.Role, output: Output)] = []

    func has(_ role: USBTransfer.Role) -> Bool { role == .command ? !commands.isEmpty : !data.isEmpty }

    /// Returns false if the queue is full.
    mutating func append(_ packet: HCIPacket, onBulk: Bool) -> Bool {
        guard (packet.kind == .command && !onBulk ? commands : data).count < USBDevice.mostQueued else { return false }
        if packet.kind == .command, !onBulk { commands.append(Output(packet: packet)) } else { data.append(Output(packet: packet)) }
        return true
    }

    mutating func next(_ role: USBTransfer.Role) -> Output? { role == .command ? commands.popFirst() : data.popFirst() }

    /// An empty transfer follows the one just taken.
    mutating func endWithEmptyTransfer() { data.prepend(Output(packet: nil)) }

    /// Keeps a packet whose transfer was cancelled before anything of it was taken.
    mutating func putBack(_ output: Output, _ role: USBTransfer.Role, sequence: Int) {
        if output.packet != nil { returned.append((sequence, role, output)) }
    }

    /// Queues the packets that were put back before those that wait, in their order.
    mutating func resumeReturned() {
        for item in returned.sorted(by: { $0.sequence > $1.sequence }) {
            if item.role == .command { commands.prepend(item.output) } else { data.prepend(item.output) }
        }
        returned = []
    }

    /// Moves commands to the pipe of the mode. In Bulk Serialization mode they share the pipe of data, which they precede.
    mutating func changeMode(toSerialised isSerialised: Bool) {
        data.removeAll { $0.packet == nil }
        if isSerialised {
            data = commands + data
            commands = []
        } else {
            commands = data.filter { $0.packet?.kind == .command }
            data.removeAll { $0.packet?.kind == .command }
        }
    }
}
