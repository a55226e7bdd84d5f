import DequeModule
import Packets

/// An IN endpoint: HCI packets that wait for requests, and requests that wait for packets; one of the two queues is always empty.
struct InboundEndpoint {
    static let mostRequests = 256
    static let mostPackets = 4_096

    private var requests = Deque<(id: UInt32, length: Int)>()
    private var packets = Deque<[UInt8]>()
    /// How much of the first packet has been fetched.
    private var fetched = 0

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
        guard let request = requests.first, let packet = packets.first else { return nil }
        requests.removeFirst()
        let end = min(packet.count, fetched + request.length)
        let piece = Array(packet[fetched..<end])
        fetched = end
        if fetched == packet.count {
            packets.removeFirst()
            fetched = 0
        }
        return USBCompletion(id: request.id, status: .success, data: piece)
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
    private var bytes: [UInt8] = []

    private static let imageCommand: [UInt8] = .little(HCICommands.IntelSecureSend.opcode)

    mutating func append(_ piece: [UInt8]) -> [HCIPacket] {
        bytes += piece
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
