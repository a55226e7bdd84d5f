import BBPackets

/// Never reports buffers of ACL packets of one length as completed.
final class MissingCredits: ConductRule {
    private let size: Int
    /// For each link, the outstanding packets in order: true if the credit is lost.
    private var underWay: [ConnectionHandle: [Bool]] = [:]

    init(size: Int) { self.size = size }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let header = packet.aclHeader { underWay[header.handle, default: []].append(Int(header.length) == size) }
        return packet
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let ended = try? packet.event(as: HCIEvents.DisconnectionComplete.self) { underWay[ended.connectionHandle] = nil }
        guard var event = try? packet.event(as: HCIEvents.NumberOfCompletedPackets.self) else { return packet }
        for index in event.handles.indices {
            let handle = event.handles[index].connectionHandle
            let done = underWay[handle, default: []].prefix(Int(event.handles[index].numCompletedPackets))
            underWay[handle]?.removeFirst(done.count)
            event.handles[index].numCompletedPackets -= UInt16(done.count { $0 })
        }
        event.handles.removeAll { $0.numCompletedPackets == 0 }
        return event.handles.isEmpty ? nil : HCIPacket(event: event)
    }
}

/// Stops reporting completed packets after a number of packets.
final class NoMoreCredits: ConductRule {
    private var left: Int

    init(after count: Int) { left = count }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let event = try? packet.event(as: HCIEvents.NumberOfCompletedPackets.self) else { return packet }
        guard left > 0 else { return nil }
        left -= event.handles.reduce(0) { $0 + Int($1.numCompletedPackets) }
        return packet
    }

    func portWasReset() { left = .max }
}

/// Reports completed packets of a link after its end, although disconnection has already freed the buffers.
final class CreditsAfterDisconnect: ConductRule {
    private var underWay: [ConnectionHandle: Int] = [:]

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let header = packet.aclHeader { underWay[header.handle, default: 0] += 1 }
        return packet
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        _ = HCIEvents.NumberOfCompletedPackets.forEach(in: packet) { underWay[$0, default: 0] -= $1 }
        guard let ended = try? packet.event(as: HCIEvents.DisconnectionComplete.self), ended.status == .success else { return packet }
        let count = UInt16(clamping: max(1, underWay.removeValue(forKey: ended.connectionHandle) ?? 1))
        wire.after(200) {
            wire.answer(
                HCIPacket(
                    event: HCIEvents.NumberOfCompletedPackets(
                        handles: [.init(connectionHandle: ended.connectionHandle, numCompletedPackets: count)])))
        }
        return packet
    }
}

/// Delays packets to the host and keeps their order.
final class LatePackets: ConductRule {
    private let delay: ClosedRange<Int>
    private let isLate: (HCIPacket) -> Bool
    private var due = Microseconds.zero
    /// Number of port resets; packets from before a reset are not delivered.
    private var life = 0

    init(delay: ClosedRange<Int>, where isLate: @escaping (HCIPacket) -> Bool = { _ in true }) {
        self.delay = delay
        self.isLate = isLate
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard isLate(packet) else { return packet }
        due = max(due, wire.now + wire.time(delay))
        let life = life
        wire.after(due - wire.now) { [weak self] in if self?.life == life { wire.answer(packet) } }
        return nil
    }

    func portWasReset() { life += 1 }
}

/// Sends logs and dumps of the chip under handles of no connection.
final class PseudoHandles: ConductRule {
    static let debug: ConnectionHandle = 0x0EDC
    static let dump: ConnectionHandle = 0x0EDD

    /// Inserts a log packet after an answer.
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard packet.answeredOpcode != nil else { return packet }
        wire.answer(HCIPacket(acl: Self.debug, .first, wire.octets(wire.number(8...64))))
        return packet
    }
}

/// Marks the first packet of an L2CAP message as a continuation.
final class ContinuationFirst: ConductRule {
    private var seen: Set<ConnectionHandle> = []

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let header = packet.aclHeader, header.boundary != .continuing, seen.insert(header.handle).inserted else { return packet }
        return HCIPacket(acl: header.handle, .continuing, broadcast: header.broadcast, Array(packet.parameters))
    }
}

/// Sends malformed isochronous packets of an unused handle continuously.
final class IsochronousFlood: ConductRule {
    private let period: ClosedRange<Int>
    private var hasBegun = false

    init(period: ClosedRange<Int>) { self.period = period }

    func opened(_ number: Int, _ wire: ConductWire) {
        if !hasBegun { sendLater(wire) }
        hasBegun = true
    }

    private func sendLater(_ wire: ConductWire) {
        wire.after(max(1_000, wire.time(period))) { [weak self] in
            // Packet_Sequence_Number 0, and an SDU length that exceeds the packet.
            wire.answer(HCIPacket(.iso, HCIData.ISOData(connectionHandle: 0, pbFlag: 2, isoDataLoad: [0, 0, 0xE3, 0x17]).parameters))
            self?.sendLater(wire)
        }
    }
}

/// Sends data of a link after its end.
final class LateData: ConductRule {
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let ended = try? packet.event(as: HCIEvents.DisconnectionComplete.self), ended.status == .success else { return packet }
        wire.after(1_000) { wire.answer(HCIPacket(acl: ended.connectionHandle, .first, [3, 0, 4, 0, 0x1B, 1, 0])) }
        return packet
    }
}
