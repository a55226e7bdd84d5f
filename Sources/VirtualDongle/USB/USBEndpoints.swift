import BBPackets
import DequeModule

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

    private var requests = Deque<(id: UInt32, length: Int)>()
    private var packets = Deque<[UInt8]>()
    /// Octets of the first packet already delivered.
    private var fetched = 0

    /// Number of queued packets.
    var waiting: Int { packets.count }

    mutating func add(_ request: USBRequest) -> Bool {
        guard requests.count < Self.mostRequests else { return false }
        requests.append((request.id, request.length))
        return true
    }

    mutating func put(_ packet: [UInt8]) -> Bool {
        guard packets.count < Self.mostPackets else { return false }
        if !packet.isEmpty { packets.append(packet) }
        return true
    }

    /// The next completion. A request ends when it is full or the HCI packet ends, so that no transfer waits for the next packet.
    mutating func next() -> USBCompletion? {
        guard !isDead, !isHeld, !packets.isEmpty, let index = requests.firstIndex(where: { $0.length <= longestRequest }) else {
            return nil
        }
        let request = requests.remove(at: index)
        let limit = min(request.length, transferLimit)
        var octets = take(limit)
        while joinsPackets, octets.count < limit, !packets.isEmpty { octets += take(limit - octets.count) }
        return USBCompletion(id: request.id, status: .success, data: octets)
    }

    private mutating func take(_ count: Int) -> [UInt8] {
        let packet = packets[0]
        let end = min(packet.count, fetched + count)
        let piece = Array(packet[fetched..<end])
        fetched = end
        if fetched == packet.count {
            packets.removeFirst()
            fetched = 0
        }
        return piece
    }

    /// Clears everything except the endpoint type.
    mutating func clear() {
        requests.removeAll()
        packets.removeAll()
        fetched = 0
        isHeld = false
    }

    mutating func cancel(_ id: UInt32) -> Bool {
        guard let index = requests.firstIndex(where: { $0.id == id }) else { return false }
        requests.remove(at: index)
        return true
    }

    mutating func takePending() -> [UInt32] {
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
