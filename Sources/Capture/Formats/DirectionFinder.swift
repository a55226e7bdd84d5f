import BBPackets
import BBTraffic

/// Finds the direction of ACL packets in formats without directions, as far as the specification leaves one possibility: a packet that is
/// not automatically flushable comes from the host, and on LE every other first one from the controller. Core Vol 4, Part E, 5.4.2.
struct DirectionFinder {
    private var tracker = ConnectionTracker()
    /// Direction of the last first fragment of a connection.
    private var last: [UInt16: CaptureDirection] = [:]

    private static let mostConnections = 1_024

    /// Completes the direction of a packet if it is known.
    mutating func complete(_ content: inout CaptureRecord.Content) {
        guard case .hci(let packet, let direction) = content else { return }
        if packet.kind == .event { _ = try? tracker.received(packet) }
        guard direction == nil, packet.kind == .acl, let found = inferredDirection(of: packet) else { return }
        content = .hci(packet, found)
    }

    private mutating func inferredDirection(of packet: HCIPacket) -> CaptureDirection? {
        guard let header = packet.aclHeader else { return nil }
        let handle = header.handle.rawValue
        let found: CaptureDirection?
        switch header.boundary {
        case .firstNonFlushable: found = .hostToController
        case .first: found = tracker[header.handle]?.kind == .le ? .controllerToHost : nil
        case .continuing: return last[handle]
        case .complete: found = nil
        }
        if last.count >= Self.mostConnections { last.removeAll() }
        last[handle] = found
        return found
    }
}
