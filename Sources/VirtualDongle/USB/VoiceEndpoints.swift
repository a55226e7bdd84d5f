import DequeModule
import Packets
import Timing

/// When isochronous requests are due: a packet a frame, each direction one after another.
struct VoiceSchedule {
    private var freeFrom: [Bool: Microseconds] = [:]
    private var pending: [UInt32: Timer] = [:]

    /// Nil when too many requests are pending, or one with the same number.
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

/// The isochronous IN endpoint: voice in packets of HCI that fill the frames of the present alternate setting, however the controller has cut it.
///
/// Settings 1 to 5 are made for a packet in three frames, setting 6 for a frame of mSBC in one; each packet begins in a frame of its own. Core Vol 4,
/// Part B, 2.1.1.
struct InboundVoice {
    /// A quarter of a second; what a host does not fetch in time is no use to it.
    static let mostFrames = 256
    private static let header = HCIPacket.Kind.sco.headerLength

    private let frameSize: Int
    /// Octets of voice in a packet.
    private let length: Int
    private var frames = Deque<ArraySlice<UInt8>>()
    /// Voice of each connection that does not fill a packet yet.
    private var partial: [ConnectionHandle: [UInt8]] = [:]

    init(alternate: UInt8 = 0, frameSize: Int = 0) {
        self.frameSize = frameSize
        length = (alternate == 6 ? 1 : 3) * frameSize - Self.header
    }

    /// False when the packet was thrown away.
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

    /// What the frames of a request bring: their octets one after another, and how many each has.
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

/// Finds the voice packets in what the isochronous OUT endpoint carries. Core Vol 4, Part E, 5.4.3.
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
