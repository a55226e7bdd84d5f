import BBPackets

/// A signalling message, independent of fragmentation. AVDTP 1.3, 8.4.
public struct AVDTPMessage: Sendable, Hashable {
    public enum Kind: UInt8, Sendable, CaseIterable {
        case command = 0
        case generalReject
        case accept
        case reject
    }

    /// Transaction label, 0...15.
    public var label: UInt8
    public var kind: Kind
    /// Signal identifier, 0...63, known or unknown.
    public var signal: UInt8
    public var payload: [UInt8]

    public init(label: UInt8, _ kind: Kind, signal: UInt8, _ payload: [UInt8] = []) {
        (self.label, self.kind, self.signal, self.payload) = (label, kind, signal, payload)
    }

    fileprivate enum PacketType: UInt8 {
        case single = 0
        case start, next, end
    }

    private func header(_ type: PacketType) -> UInt8 { label << 4 | type.rawValue << 2 | kind.rawValue }

    /// The packets of the message, none longer than the MTU of the channel.
    public func packets(mtu: Int) -> [[UInt8]] {
        let mtu = max(48, mtu)
        guard payload.count + 2 > mtu else { return [[header(.single), signal] + payload] }
        let head = mtu - 3
        let rest = payload.dropFirst(head)
        let count = 1 + (rest.count + mtu - 2) / (mtu - 1)
        var packets = [[header(.start), UInt8(truncatingIfNeeded: count), signal] + payload.prefix(head)]
        for start in stride(from: head, to: payload.count, by: mtu - 1) {
            let end = min(payload.count, start + mtu - 1)
            packets.append([header(end == payload.count ? .end : .next)] + payload[start..<end])
        }
        return packets
    }
}

/// Reassembles messages from packets. AVDTP 1.3, 8.4.2 to 8.4.4.
public struct AVDTPAssembler: Sendable {
    /// Maximum message length, more than any capabilities need.
    public static let limit = 4_096

    private var partial: AVDTPMessage?
    private var packetsLeft = 0

    public init() {}

    /// Processes a received packet.
    ///
    /// - Returns: the message that the packet completes. A packet that does not continue the message, or a message that is too long, is
    ///   dropped.
    public mutating func receive(_ packet: [UInt8]) -> AVDTPMessage? {
        var reader = ByteReader(packet.span.bytes)
        guard let header = try? reader.u8("Header"), let type = AVDTPMessage.PacketType(rawValue: header >> 2 & 3),
            let kind = AVDTPMessage.Kind(rawValue: header & 3)
        else { return nil }
        switch type {
        case .single, .start:
            partial = nil
            if type == .start {
                guard let count = try? reader.u8("Number Of Signal Packets"), count >= 2 else { return nil }
                packetsLeft = Int(count) - 1
            }
            guard let signal = try? reader.u8("Signal Identifier") else { return nil }
            let message = AVDTPMessage(label: header >> 4, kind, signal: signal & 0x3F, reader.rest())
            if type == .single { return message }
            partial = message
            return nil
        case .next, .end: return continueWith(label: header >> 4, kind, reader.rest(), isLast: type == .end)
        }
    }

    private mutating func continueWith(label: UInt8, _ kind: AVDTPMessage.Kind, _ octets: [UInt8], isLast: Bool) -> AVDTPMessage? {
        guard var message = partial else { return nil }
        partial = nil
        packetsLeft -= 1
        guard message.label == label, message.kind == kind, message.payload.count + octets.count <= Self.limit,
            isLast == (packetsLeft == 0)
        else { return nil }
        message.payload += octets
        if isLast { return message }
        partial = message
        return nil
    }
}
