import BBPackets
import BBTransport
import DequeModule

/// Restores the order of data and events that arrive on separate pipes, as over USB. The bulk pipe may deliver a connection's first packets
/// before the interrupt pipe delivers Connection Complete, and encrypted data before Encryption Change.
///
/// Data of an unknown handle is held until the connection is reported, and dropped after a timeout. Data of a handle with a pending
/// encryption change is held until it completes, and delivered after a timeout.
public struct EventOrder: Sendable {
    private struct Held: Sendable {
        var packet: HCIPacket
        var handle: ConnectionHandle
        var since: Microseconds
    }

    /// Maximum time for which a packet is held.
    public static let holdTime = Microseconds.milliseconds(100)
    /// Maximum number of held packets.
    public static let heldLimit = 64

    /// Reordering statistics.
    public private(set) var statistics = ReorderingStatistics()
    private var recent = ReorderingStatistics()
    /// Number of packets that arrived after the end of their connection.
    public private(set) var late = 0
    private var known: Set<ConnectionHandle> = []
    /// Handles of ended connections that were known.
    private var ended: Set<ConnectionHandle> = []
    /// Handles with a requested encryption change, which takes several connection events.
    private var encrypting: Set<ConnectionHandle> = []
    /// Time since which a packet of such a handle has been held.
    private var waitingSince: [ConnectionHandle: Microseconds] = [:]
    private var held = Deque<Held>()

    public init() {}

    /// Statistics since the last call.
    public mutating func takeRecent() -> ReorderingStatistics {
        defer { recent = ReorderingStatistics() }
        return recent
    }

    private mutating func count(_ reordering: ReorderingStatistics) {
        statistics.add(reordering)
        recent.add(reordering)
    }

    /// Time of the next call to `expire(at:)`.
    public var deadline: Microseconds? { held.first.map { $0.since + Self.holdTime } }

    /// Handles a data packet; true if it can be delivered at once.
    public mutating func admit(_ packet: HCIPacket, at time: Microseconds) -> Bool {
        guard let handle = packet.dataHandle else { return true }
        let mustWait = !known.contains(handle) || isEncrypting(handle, at: time)
        guard mustWait || held.contains(where: { $0.handle == handle }) else { return true }
        guard held.count < Self.heldLimit else {
            count(ReorderingStatistics(dropped: 1))
            return false
        }
        count(ReorderingStatistics(held: 1))
        let since = waitingSince[handle] ?? time
        if encrypting.contains(handle) { waitingSince[handle] = since }
        held.append(Held(packet: packet, handle: handle, since: since))
        return false
    }

    private func isEncrypting(_ handle: ConnectionHandle, at time: Microseconds) -> Bool {
        guard encrypting.contains(handle) else { return false }
        return waitingSince[handle].map { time - $0 < Self.holdTime } ?? true
    }

    /// Handles a connection change; returns the held packets that can be delivered now.
    public mutating func changed(_ change: ConnectionChange, at time: Microseconds) -> [HCIPacket] {
        switch change {
        case .opened(let connection):
            known.insert(connection.handle)
            ended.remove(connection.handle)
            return settled(connection.handle, at: time)
        case .closed(let handle, _): closed(handle)
        case .reset: reset()
        case .encryptionRequested(let handle): beginsEncrypting(handle)
        case .encryptionChanged(let handle, _, _), .keyRefreshed(let handle, _): return settled(handle, at: time)
        case .failed, .parametersChanged, .physChanged, .dataLengthChanged: break
        }
        return []
    }

    /// Ends expired holds; returns packets to be delivered nevertheless.
    public mutating func expire(at time: Microseconds) -> [HCIPacket] {
        var passing: [HCIPacket] = []
        while let first = held.first, time - first.since >= Self.holdTime {
            held.removeFirst()
            if known.contains(first.handle) {
                count(ReorderingStatistics(worstWait: time - first.since))
                passing.append(first.packet)
            } else {
                if ended.contains(first.handle) { late += 1 }
                count(ReorderingStatistics(dropped: 1))
            }
        }
        return passing
    }

    private mutating func beginsEncrypting(_ handle: ConnectionHandle) {
        encrypting.insert(handle)
        waitingSince[handle] = nil
    }

    private mutating func endsEncrypting(_ handle: ConnectionHandle) {
        encrypting.remove(handle)
        waitingSince[handle] = nil
    }

    /// Releases the held packets of a handle.
    private mutating func settled(_ handle: ConnectionHandle, at time: Microseconds) -> [HCIPacket] {
        endsEncrypting(handle)
        guard known.contains(handle), !held.isEmpty else { return [] }
        let released = held.filter { $0.handle == handle }
        held.removeAll { $0.handle == handle }
        for entry in released { count(ReorderingStatistics(worstWait: time - entry.since)) }
        return released.map(\.packet)
    }

    private mutating func closed(_ handle: ConnectionHandle) {
        if known.remove(handle) != nil { ended.insert(handle) }
        endsEncrypting(handle)
        count(ReorderingStatistics(dropped: held.count { $0.handle == handle }))
        held.removeAll { $0.handle == handle }
    }

    private mutating func reset() {
        count(ReorderingStatistics(dropped: held.count))
        known.removeAll()
        ended.removeAll()
        encrypting.removeAll()
        waitingSince.removeAll()
        held.removeAll()
    }
}
