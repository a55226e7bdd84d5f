import BBPackets

/// Events that wait while a command is executed: its response comes first.
struct HeldEvents {
    private var isAnswering = false
    private var held: [HCIPacket] = []

    mutating func begin() { isAnswering = true }
    mutating func end() { isAnswering = false }

    /// Holds an event back; false if it can be sent at once.
    @inline(__always) mutating func holds(_ packet: HCIPacket) -> Bool {
        if isAnswering { held.append(packet) }
        return isAnswering
    }

    /// The events held back, in order.
    @inline(__always) mutating func release() -> [HCIPacket] {
        guard !held.isEmpty else { return [] }
        defer { held.removeAll(keepingCapacity: true) }
        return held
    }
}
