import BBPackets
import DequeModule

/// An HCI packet for the host in the octets of its endpoint.
struct QueuedPacket {
    let packet: HCIPacket
    let octets: [UInt8]
    /// Position among the packets of all endpoints.
    let number: Int
}

/// An IN endpoint: queued HCI packets and pending requests; one of the two queues is always empty.
struct InboundEndpoint {
    static let mostRequests = 256
    static let mostPackets = 4_096

    /// True if the endpoint delivers nothing.
    var isDead = false
    /// True while queued packets are held back.
    var isHeld = false
    /// Maximum octets per transfer.
    var transferLimit = Int.max
    /// Requests for more octets stay pending.
    var longestRequest = Int.max
    /// A transfer may contain several packets.
    var joinsPackets = false
    /// A transfer whose length is a multiple of this value is followed by an empty one.
    var emptyAfter: Int?
    private var owesEmpty = false
    /// A packet whose length is a multiple of this value waits for the next one.
    var heldIfFull: Int?
    /// A transfer whose length is a multiple of this value, and which the read has room to go on with, goes on with the next packet.
    var openAfter: Int?
    /// The packets in an open transfer, and its octets.
    private var begun: (packets: [QueuedPacket], octets: [UInt8]) = ([], [])

    private var requests = Deque<(id: UInt32, length: Int)>()
    private var packets = Deque<QueuedPacket>()
    /// Octets of the first packet already delivered.
    private var fetched = 0

    /// Number of queued packets.
    var waiting: Int { packets.count }

    mutating func add(_ request: USBRequest) -> Bool {
        guard requests.count < Self.mostRequests else { return false }
        requests.append((request.id, request.length))
        return true
    }

    mutating func put(_ packet: QueuedPacket) -> Bool {
        guard packets.count < Self.mostPackets else { return false }
        if !packet.octets.isEmpty { packets.append(packet) }
        return true
    }

    /// Removes the packets that the host has not fetched completely. Of a packet that it has fetched in part, the rest is of no use.
    mutating func takePackets() -> [QueuedPacket] {
        reopen()
        defer { packets.removeAll() }
        (fetched, isHeld, owesEmpty) = (0, false, false)
        return Array(packets)
    }

    /// Queues the packets of an open transfer again, because it was cancelled.
    private mutating func reopen() {
        for packet in begun.packets.reversed() { packets.prepend(packet) }
        if !begun.packets.isEmpty { fetched = 0 }
        begun = ([], [])
    }

    /// True if the only packet waits for the next one.
    private var isIncomplete: Bool {
        guard let heldIfFull, packets.count == 1 else { return false }
        return packets[0].octets.count.isMultiple(of: heldIfFull)
    }

    /// The next completion. A request ends when it is full or the HCI packet ends, so that no transfer waits for the next packet.
    mutating func next() -> USBCompletion? {
        guard !isDead, !isHeld, !isIncomplete, !packets.isEmpty || owesEmpty,
            let index = requests.firstIndex(where: { $0.length <= longestRequest })
        else { return nil }
        let request = requests.remove(at: index)
        guard !owesEmpty else {
            owesEmpty = false
            return USBCompletion(id: request.id, status: .success)
        }
        let limit = min(request.length, transferLimit)
        var octets = begun.octets + take(limit - begun.octets.count)
        while staysOpen(octets, limit), !packets.isEmpty { octets += take(limit - octets.count) }
        guard !staysOpen(octets, limit) else {
            begun.octets = octets
            requests.insert(request, at: 0)
            return nil
        }
        begun = ([], [])
        while joinsPackets, octets.count < limit, !packets.isEmpty { octets += take(limit - octets.count) }
        if let size = emptyAfter, fetched == 0, octets.count < request.length { owesEmpty = octets.count.isMultiple(of: size) }
        return USBCompletion(id: request.id, status: .success, data: octets)
    }

    private func staysOpen(_ octets: [UInt8], _ limit: Int) -> Bool {
        guard let openAfter, fetched == 0, octets.count < limit else { return false }
        return octets.count.isMultiple(of: openAfter)
    }

    private mutating func take(_ count: Int) -> [UInt8] {
        let packet = packets[0].octets
        let end = min(packet.count, fetched + count)
        let piece = Array(packet[fetched..<end])
        fetched = end
        if fetched == packet.count {
            let ended = packets.removeFirst()
            if openAfter != nil { begun.packets.append(ended) }
            fetched = 0
        }
        return piece
    }

    /// Clears everything except the endpoint type.
    mutating func clear() {
        requests.removeAll()
        packets.removeAll()
        (fetched, isHeld, owesEmpty, begun) = (0, false, false, ([], []))
    }

    mutating func cancel(_ id: UInt32) -> Bool {
        guard let index = requests.firstIndex(where: { $0.id == id }) else { return false }
        requests.remove(at: index)
        if index == 0 { reopen() }
        return true
    }

    mutating func takePending() -> [UInt32] {
        reopen()
        defer { requests.removeAll() }
        return requests.map(\.id)
    }
}

/// Extracts ACL packets from the data of the bulk OUT pipe, however it is split. Core Vol 4, Part E, 5.4.2.
struct OutboundReassembly {
    /// Accepts image commands for a boot loader. They are unambiguous, since no ACL packet starts with their first octets, whose flags are
    /// reserved.
    var takesCommands = false
    /// A transfer with a length that is a multiple of this value is continued by the next one; an empty transfer ends it.
    var waitsForZeroLength: Int?
    private var bytes: [UInt8] = []

    private static let imageCommand: [UInt8] = .little(HCICommands.IntelSecureSend.opcode)

    mutating func append(_ piece: [UInt8]) -> [HCIPacket] {
        bytes += piece
        if let size = waitsForZeroLength, !piece.isEmpty, piece.count.isMultiple(of: size) { return [] }
        var packets: [HCIPacket] = []
        var start = 0
        while bytes.count - start >= 4 {
            let isCommand = takesCommands && [bytes[start], bytes[start + 1]] == Self.imageCommand
            let length = isCommand ? 3 + Int(bytes[start + 2]) : 4 + Int(bytes[start + 2]) + Int(bytes[start + 3]) << 8
            guard bytes.count - start >= length else { break }
            packets.append(HCIPacket(isCommand ? .command : .acl, Array(bytes[start..<start + length])))
            start += length
        }
        bytes.removeFirst(start)
        return packets
    }
}
