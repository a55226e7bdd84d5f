import Packets

/// Keeps ACL data of one length to itself: no buffer of it comes back.
final class MissingCredits: ConductRule {
    private let size: Int
    /// Which of the packets of each link that are under way are lost credits, in order.
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

/// After so many packets no buffer comes back any more.
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

/// Tells of buffers of a link again that has ended, though they came back with its end.
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

/// Delays packets on their way to the host and keeps their order.
final class LatePackets: ConductRule {
    private let delay: ClosedRange<Int>
    private let isLate: (HCIPacket) -> Bool
    private var due = Microseconds.zero

    init(delay: ClosedRange<Int>, where isLate: @escaping (HCIPacket) -> Bool = { _ in true }) {
        self.delay = delay
        self.isLate = isLate
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard isLate(packet) else { return packet }
        due = max(due, wire.now + wire.time(delay))
        wire.after(due - wire.now) { wire.answer(packet) }
        return nil
    }
}

/// Log and dump data of the chip under handles that no connection has.
final class PseudoHandles: ConductRule {
    static let debug: ConnectionHandle = 0x0EDC
    static let dump: ConnectionHandle = 0x0EDD

    /// Between two answers comes a piece of log.
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard packet.answeredOpcode != nil else { return packet }
        wire.answer(HCIPacket(acl: Self.debug, .first, wire.octets(wire.number(8...64))))
        return packet
    }
}

/// Says of the first packet of a message that it continues one.
final class ContinuationFirst: ConductRule {
    private var seen: Set<ConnectionHandle> = []

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let header = packet.aclHeader, header.boundary != .continuing, seen.insert(header.handle).inserted else { return packet }
        return HCIPacket(acl: header.handle, .continuing, broadcast: header.broadcast, Array(packet.parameters))
    }
}

/// Malformed isochronous packets of a handle that nothing belongs to, without end.
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
            // Packet_Sequence_Number 0, and a length of the SDU that the packet does not have.
            wire.answer(HCIPacket(.iso, HCIData.ISOData(connectionHandle: 0, pbFlag: 2, isoDataLoad: [0, 0, 0xE3, 0x17]).parameters))
            self?.sendLater(wire)
        }
    }
}

/// Data of a link that comes after its end.
final class LateData: ConductRule {
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let ended = try? packet.event(as: HCIEvents.DisconnectionComplete.self), ended.status == .success else { return packet }
        wire.after(1_000) { wire.answer(HCIPacket(acl: ended.connectionHandle, .first, [3, 0, 4, 0, 0x1B, 1, 0])) }
        return packet
    }
}
