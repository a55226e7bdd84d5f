import DequeModule
import Packets
import Transport

/// Keeps data in order with events: the bulk pipe may bring a connection's first packets before the interrupt pipe brings its Connection Complete,
/// and encrypted data before Encryption Change.
///
/// Data of an unknown handle waits for its connection, then is dropped. Data of a handle whose encryption is being switched waits for the end of
/// that, then passes all the same.
struct HandleGate {
    /// How long a packet may wait.
    static let patience = Microseconds.milliseconds(100)
    static let mostHeld = 64

    /// What the race between the two pipes cost.
    private(set) var statistics = PipeDisorder()
    private var recent = PipeDisorder()
    private var known: Set<UInt16> = []
    private var isochronous: Set<UInt16> = []
    /// Handles whose encryption was asked for, and since when.
    private var encrypting: [UInt16: Microseconds] = [:]
    private var held = Deque<(packet: HCIPacket, handle: UInt16, since: Microseconds)>()

    /// The statistics since the last call.
    mutating func takeRecent() -> PipeDisorder {
        defer { recent = PipeDisorder() }
        return recent
    }

    private mutating func count(_ disorder: PipeDisorder) {
        statistics.add(disorder)
        recent.add(disorder)
    }

    /// When `expire(at:)` should be called next.
    var deadline: Microseconds? { held.first.map { $0.since + Self.patience } }

    /// Takes a data packet; true when it may pass at once.
    mutating func admit(_ packet: HCIPacket, at time: Microseconds) -> Bool {
        guard packet.bytes.count >= 2 else { return true }
        let handle = (UInt16(packet.bytes[0]) | UInt16(packet.bytes[1]) << 8) & 0x0FFF
        let mustWait = !known.contains(handle) || encrypting[handle].map { time - $0 < Self.patience } ?? false
        guard mustWait || held.contains(where: { $0.handle == handle }) else { return true }
        guard held.count < Self.mostHeld else {
            count(PipeDisorder(dropped: 1))
            return false
        }
        count(PipeDisorder(held: 1))
        held.append((packet, handle, time))
        return false
    }

    /// Takes an event; returns the data that may follow it.
    mutating func note(event: HCIPacket, at time: Microseconds) -> [HCIPacket] {
        let bytes = event.bytes
        guard bytes.count >= 2 else { return [] }
        switch bytes[0] {
        case 0x03, 0x2C: return bytes.count > 4 && bytes[2] == 0 ? connected(handle(bytes, at: 3), at: time) : []
        case 0x05:
            if bytes.count > 4, bytes[2] == 0 { disconnected(handle(bytes, at: 3)) }
            return []
        case 0x08, 0x30, 0x59: return bytes.count > 4 ? settled(handle(bytes, at: 3), at: time) : []
        case 0x0E where bytes.count > 5 && bytes[3] == 0x03 && bytes[4] == 0x0C && bytes[5] == 0:
            reset()
            return []
        case 0x3E: return noteLE(bytes, at: time)
        default: return []
        }
    }

    private mutating func noteLE(_ bytes: [UInt8], at time: Microseconds) -> [HCIPacket] {
        guard bytes.count > 5 else { return [] }
        guard [0x01, 0x0A, 0x19, 0x29, 0x2A].contains(bytes[2]), bytes[3] == 0 else { return [] }
        let handle = handle(bytes, at: 4)
        if bytes[2] == 0x19 || bytes[2] == 0x2A { isochronous.insert(handle) }
        return connected(handle, at: time)
    }

    /// Takes a command on its way to the controller: encryption is about to be switched, or everything forgotten.
    mutating func note(command: HCIPacket, at time: Microseconds) {
        let bytes = command.bytes
        guard bytes.count >= 5 else { return }
        switch UInt16(bytes[0]) | UInt16(bytes[1]) << 8 {
        case 0x0413, 0x2019, 0x201A: encrypting[handle(bytes, at: 3)] = time
        default: break
        }
    }

    /// Whether a packet of the bulk pipe belongs to an isochronous stream.
    func isIsochronous(_ packet: HCIPacket) -> Bool {
        guard !isochronous.isEmpty, packet.bytes.count >= 2 else { return false }
        return isochronous.contains(handle(packet.bytes, at: 0))
    }

    /// Ends the waits that have lasted too long; returns what passes nevertheless.
    mutating func expire(at time: Microseconds) -> [HCIPacket] {
        var passing: [HCIPacket] = []
        while let first = held.first, time - first.since >= Self.patience {
            held.removeFirst()
            if known.contains(first.handle) {
                count(PipeDisorder(worstWait: time - first.since))
                passing.append(first.packet)
            } else {
                count(PipeDisorder(dropped: 1))
            }
        }
        return passing
    }

    private func handle(_ bytes: [UInt8], at offset: Int) -> UInt16 { (UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8) & 0x0FFF }

    private mutating func connected(_ handle: UInt16, at time: Microseconds) -> [HCIPacket] {
        known.insert(handle)
        encrypting[handle] = nil
        return release(handle, at: time)
    }

    private mutating func settled(_ handle: UInt16, at time: Microseconds) -> [HCIPacket] {
        encrypting[handle] = nil
        return known.contains(handle) ? release(handle, at: time) : []
    }

    private mutating func disconnected(_ handle: UInt16) {
        known.remove(handle)
        isochronous.remove(handle)
        encrypting[handle] = nil
        count(PipeDisorder(dropped: held.count { $0.handle == handle }))
        held.removeAll { $0.handle == handle }
    }

    private mutating func release(_ handle: UInt16, at time: Microseconds) -> [HCIPacket] {
        let released = held.filter { $0.handle == handle }
        held.removeAll { $0.handle == handle }
        for entry in released { count(PipeDisorder(worstWait: time - entry.since)) }
        return released.map(\.packet)
    }

    private mutating func reset() {
        count(PipeDisorder(dropped: held.count))
        held = []
        known = []
        isochronous = []
        encrypting = [:]
    }
}
