import BBPackets
import BBTiming
import DequeModule

/// Schedule of isochronous requests: one packet per frame, in sequence in each direction.
struct VoiceSchedule {
    private var freeFrom: [Bool: Microseconds] = [:]
    private var pending: [UInt32: Timer] = [:]

    /// Returns nil if too many requests are pending or the identifier is in use.
    mutating func slot(for request: USBRequest, now: Microseconds) -> Microseconds? {
        guard pending.count < InboundEndpoint.mostRequests, pending[request.id] == nil else { return nil }
        let start = max(now, freeFrom[request.isIn] ?? .zero)
        let due = start + .milliseconds(request.packetLengths.count)
        freeFrom[request.isIn] = due
        return due
    }

    mutating func note(_ id: UInt32, timer: Timer) { pending[id] = timer }

    mutating func cancel(_ id: UInt32) -> Timer? { pending.removeValue(forKey: id) }

    mutating func takeAll() -> [UInt32: Timer] {
        defer {
            pending = [:]
            freeFrom = [:]
        }
        return pending
    }
}

/// The isochronous IN endpoint: repacks voice into HCI packets that fill the frames of the alternate setting, whatever packet length the
/// controller uses.
///
/// Settings 1...5 are designed for a packet in three frames, setting 6 for an mSBC frame in one. Each packet starts in a new frame. Core
/// Vol 4, Part B, 2.1.1.
struct InboundVoice {
    /// Maximum queued frames: a quarter of a second.
    static let mostFrames = 256
    private static let header = HCIPacket.Kind.sco.headerLength

    private let frameSize: Int
    /// Voice octets per packet.
    private let length: Int
    private var frames = Deque<ArraySlice<UInt8>>()
    /// Voice octets of each connection that do not fill a packet yet.
    private var partial: [ConnectionHandle: [UInt8]] = [:]

    init(alternate: UInt8 = 0, frameSize: Int = 0) {
        self.frameSize = frameSize
        length = (alternate == 6 ? 1 : 3) * frameSize - Self.header
    }

    /// Returns false if the packet was dropped.
    mutating func put(_ packet: HCIPacket) -> Bool {
        guard frameSize > 0, let voice = try? HCIData.SynchronousData(prefixOf: packet.bytes) else { return false }
        var waiting = partial.removeValue(forKey: voice.connectionHandle) ?? []
        waiting += voice.data
        var isKept = true
        while waiting.count >= length {
            var whole = voice
            whole.data = Array(waiting.prefix(length))
            waiting.removeFirst(length)
            isKept = cut(whole) && isKept
        }
        partial[voice.connectionHandle] = waiting
        return isKept
    }

    private mutating func cut(_ packet: HCIData.SynchronousData) -> Bool {
        guard frames.count + (Self.header + length + frameSize - 1) / frameSize <= Self.mostFrames else { return false }
        let bytes = packet.parameters
        for start in stride(from: 0, to: bytes.count, by: frameSize) { frames.append(bytes[start..<min(bytes.count, start + frameSize)]) }
        return true
    }

    /// Data for the frames of a request, concatenated, and the length of each frame.
    mutating func take(_ lengths: [Int]) -> (data: [UInt8], moved: [Int]) {
        var data: [UInt8] = []
        let moved = lengths.map { length in
            guard let frame = frames.popFirst() else { return 0 }
            let piece = frame.prefix(length)
            data += piece
            return piece.count
        }
        return (data, moved)
    }
}

/// Extracts voice packets from the data of the isochronous OUT endpoint. Core Vol 4, Part E, 5.4.3.
struct OutboundVoice {
    private var bytes: [UInt8] = []

    mutating func append(_ piece: [UInt8]) -> [HCIPacket] {
        bytes += piece
        var packets: [HCIPacket] = []
        var start = 0
        while bytes.count - start >= 3 {
            let length = 3 + Int(bytes[start + 2])
            guard bytes.count - start >= length else { break }
            packets.append(HCIPacket(.sco, Array(bytes[start..<start + length])))
            start += length
        }
        bytes.removeFirst(start)
        return packets
    }
}
