import DequeModule
import Packets

/// An IN endpoint: HCI packets that wait for requests, and requests that wait for packets; one of the two queues is always empty.
struct InboundEndpoint {
    static let mostRequests = 256
    static let mostPackets = 4_096

    /// Nothing comes from it.
    var isDead = false
    /// What waits is not given out yet.
    var isHeld = false
    /// A transfer ends after so many octets.
    var transferLimit = Int.max
    /// Requests for more than this stay pending.
    var longestRequest = Int.max
    /// A transfer carries what waits, up to its end.
    var joinsPackets = false

    private var requests = Deque<(id: UInt32, length: Int)>()
    private var packets = Deque<[UInt8]>()
    /// How much of the first packet has been fetched.
    private var fetched = 0

    /// How many packets wait.
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

    /// The next answer: a request ends when it is full or the HCI packet ends, so no transfer waits for the packet after it.
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

    /// Forgets everything but what kind of endpoint it is.
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

/// Finds the ACL packets in what the bulk OUT pipe carries, whatever pieces it comes in. Core Vol 4, Part E, 5.4.2.
struct OutboundReassembly {
    /// A boot loader's image comes in commands. They cannot be mistaken: no host sends data with their first octets, whose flags are reserved.
    var takesCommands = false
    /// A transfer of a multiple of this goes on with the next one; a transfer of nothing ends it.
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
