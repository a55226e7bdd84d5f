import Packets

/// L2CAP frames of case steps over ACL: cut to the controller's buffers, sent as credits allow, put together on arrival.
final class DataChannel {
    struct Frame {
        var handle: UInt16
        var channel: UInt16
        var payload: [UInt8]
    }

    /// From LE_Read_Buffer_Size.
    var bufferLength = 27
    var bufferCount = 1
    private var inFlight: [UInt16: Int] = [:]
    private var waiting: [HCIPacket] = []
    private var partial: [UInt16: [UInt8]] = [:]

    func reset() {
        inFlight.removeAll()
        waiting.removeAll()
        partial.removeAll()
    }

    /// What can be sent now; the rest follows from `completed`.
    func packets(of payload: [UInt8], channel: UInt16, handle: UInt16) -> [HCIPacket] {
        let length = UInt16(truncatingIfNeeded: payload.count)
        let frame = Self.little(length) + Self.little(channel) + payload
        var position = 0
        while position < frame.count {
            let end = min(frame.count, position + max(1, bufferLength))
            let boundary: UInt16 = position == 0 ? 0 : 1
            let bytes = Self.little(handle & 0xFFF | boundary << 12) + Self.little(UInt16(end - position)) + frame[position..<end]
            waiting.append(HCIPacket(.acl, bytes))
            position = end
        }
        return release()
    }

    func completed(_ packet: HCIPacket) -> [HCIPacket] {
        let parameters = packet.parameters
        guard let count = parameters.first else { return [] }
        for row in 0..<Int(count) where parameters.count >= 5 + 4 * row {
            let at = 1 + 4 * row
            let handle = (UInt16(parameters[at]) | UInt16(parameters[at + 1]) << 8) & 0xFFF
            let done = Int(parameters[at + 2]) | Int(parameters[at + 3]) << 8
            inFlight[handle] = max(0, (inFlight[handle] ?? 0) - done)
        }
        return release()
    }

    /// Disconnection Complete: the link's packets are gone.
    func forget(_ packet: HCIPacket) {
        let parameters = packet.parameters
        guard parameters.count >= 3, parameters[0] == 0 else { return }
        let handle = (UInt16(parameters[1]) | UInt16(parameters[2]) << 8) & 0xFFF
        inFlight[handle] = nil
        partial[handle] = nil
        waiting.removeAll { Self.handle(of: $0) == handle }
    }

    /// A whole frame, when this packet completes one.
    func received(_ packet: HCIPacket) -> Frame? {
        let bytes = packet.bytes
        guard bytes.count >= 4 else { return nil }
        let handle = Self.handle(of: packet)
        let isStart = (bytes[1] >> 4) & 0b11 != 0b01
        if isStart { partial[handle] = Array(bytes[4...]) } else { partial[handle]?.append(contentsOf: bytes[4...]) }
        guard let frame = partial[handle], frame.count >= 4 else { return nil }
        let length = Int(frame[0]) | Int(frame[1]) << 8
        guard frame.count >= 4 + length else { return nil }
        partial[handle] = nil
        return Frame(handle: handle, channel: UInt16(frame[2]) | UInt16(frame[3]) << 8, payload: Array(frame[4..<4 + length]))
    }

    private func release() -> [HCIPacket] {
        var released: [HCIPacket] = []
        while !waiting.isEmpty, inFlight.values.reduce(0, +) < bufferCount {
            let packet = waiting.removeFirst()
            inFlight[Self.handle(of: packet), default: 0] += 1
            released.append(packet)
        }
        return released
    }

    static func handle(of packet: HCIPacket) -> UInt16 {
        packet.bytes.count < 2 ? 0 : (UInt16(packet.bytes[0]) | UInt16(packet.bytes[1]) << 8) & 0xFFF
    }

    private static func little(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }
}
