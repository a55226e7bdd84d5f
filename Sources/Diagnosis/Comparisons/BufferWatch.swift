import BBCases
import BBPackets
import BBTraffic

/// Compares the data of a host with the buffers of its controller, and what the controller completes with the open connections.
/// Core Vol 4, Part E, 4.1.1, 4.3, 7.7.19 and 7.8.2.
struct BufferWatch {
    private struct Buffers {
        /// Octets of the longest packet, and number of packets.
        var octets = 0
        var packets = 0
    }

    private var le = Buffers()
    private var classic = Buffers()
    /// Packets that are not completed, by handle.
    private var outstanding: [UInt16: Int] = [:]
    private var open: Set<UInt16> = []
    private var ended: [UInt16: Moment] = [:]
    /// Packets of ended connections that the host may still count as outstanding.
    private var lost = 0
    private var lastSent: Int64 = .min
    private var isTold: Set<UInt16> = []
    /// True if the packets of two controllers are mixed.
    private var isUnreliable = false

    private static let most = 1_024
    private static let commands: [Int] = [
        HCICommands.LEReadBufferSize.id.code, HCICommands.LEReadBufferSizeV2.id.code, HCICommands.ReadBufferSize.id.code,
    ]

    /// A controller without buffers of its own for LE shares those of BR/EDR.
    private func buffers(isLE: Bool) -> Buffers { isLE && le.octets > 0 ? le : classic }

    // MARK: Events

    mutating func note(_ pdu: DecodedLayer, at now: Moment) -> [Observation] {
        guard pdu.layer == .hciEvents, let id = pdu.id else { return [] }
        if let command = pdu.command {
            answered(command, pdu)
            return []
        }
        if id == HCIEvents.NumberOfCompletedPackets.id { return completed(pdu, now) }
        guard pdu.fields.named("Status")?.int == 0, let number = pdu.fields.named("Connection_Handle")?.int,
            let handle = UInt16(exactly: number)
        else { return [] }
        if id == HCIEvents.DisconnectionComplete.id {
            if open.remove(handle) == nil, ended[handle] != nil { isUnreliable = true }
            if ended.count >= Self.most { ended = [:] }
            ended[handle] = now
            lost += outstanding.removeValue(forKey: handle) ?? 0
        } else if case .opens? = id.effect {
            if !open.insert(handle).inserted { isUnreliable = true }
            ended[handle] = nil
            isTold.remove(handle)
        }
        return []
    }

    private mutating func answered(_ command: PDUDeclaration, _ event: DecodedLayer) {
        guard event.returns.named("Status")?.int == 0 else { return }
        if command.id == HCICommands.Reset.id {
            self = BufferWatch()
        } else if command.id == HCICommands.ReadBufferSize.id {
            classic = Buffers(
                octets: event.returns.named("ACL_Data_Packet_Length")?.int ?? 0,
                packets: event.returns.named("Total_Num_ACL_Data_Packets")?.int ?? 0)
        } else if Self.commands.contains(command.code) {
            le = Buffers(
                octets: event.returns.named("LE_ACL_Data_Packet_Length")?.int ?? 0,
                packets: event.returns.named("Total_Num_LE_ACL_Data_Packets")?.int ?? 0)
        }
    }

    private mutating func completed(_ pdu: DecodedLayer, _ now: Moment) -> [Observation] {
        var found: [Observation] = []
        for row in pdu.fields.named("Handles")?.children ?? [] {
            guard let number = row.children.named("Connection_Handle")?.int, let handle = UInt16(exactly: number & 0x0FFF),
                let count = row.children.named("Num_Completed_Packets")?.int
            else { continue }
            if let end = ended[handle], !isUnreliable, count > 0 {
                lost = max(0, lost - count)
                found.append(
                    Observation(
                        .completedAfterEnd,
                        [
                            ("Handle", .text(Hex.number(handle))), ("Packets", .number(count)), ("End", .number(end.packet)),
                        ]))
            } else {
                outstanding[handle] = max(0, (outstanding[handle] ?? 0) - count)
            }
        }
        return found
    }

    // MARK: Data

    /// - Parameter isLE: nil if the transport of the connection is not known.
    mutating func sent(_ packet: HCIPacket, isLE: Bool?, at now: Moment) -> Observation? {
        guard let header = packet.aclHeader else { return nil }
        let handle = header.handle.rawValue
        lastSent = now.time
        if ended[handle] != nil {
            lost += 1
        } else if outstanding.count < Self.most || outstanding[handle] != nil {
            outstanding[handle, default: 0] += 1
        }
        let buffers = buffers(isLE: isLE ?? true)
        // What a host has on the way beside it, it has not lost.
        let live = outstanding.values.reduce(0, +)
        if ended[handle] == nil { lost = min(lost, max(0, buffers.packets - live)) }
        let octets = Int(header.length)
        guard let isLE, self.buffers(isLE: isLE).octets > 0, octets > self.buffers(isLE: isLE).octets, isTold.insert(handle).inserted
        else { return nil }
        return Observation(.aclTooLong, [("Octets", .number(octets)), ("Limit", .number(self.buffers(isLE: isLE).octets))])
    }

    /// The packets of ended connections that fill the buffers, if the host has sent nothing since a request.
    func lost(since request: Int64, isLE: Bool) -> Observation? {
        let total = buffers(isLE: isLE).packets
        guard !isUnreliable, total > 0, lost >= total, lastSent < request else { return nil }
        return Observation(.buffersLost, [("Packets", .number(lost)), ("Buffers", .number(total))])
    }
}
