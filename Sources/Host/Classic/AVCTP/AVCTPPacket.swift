import BBPackets

/// An AVCTP message, independent of fragmentation. AVCTP 1.4, 6.1.
public struct AVCTPMessage: Sendable, Hashable {
    /// Transaction label, 0...15.
    public var label: UInt8
    public var isResponse: Bool
    /// IPID: the response reports that the profile is not supported.
    public var isInvalidProfile: Bool
    /// PID: service class of the profile.
    public var profile: UInt16
    public var payload: [UInt8]

    public init(label: UInt8, isResponse: Bool, isInvalidProfile: Bool = false, profile: UInt16, _ payload: [UInt8] = []) {
        (self.label, self.isResponse, self.isInvalidProfile) = (label, isResponse, isInvalidProfile)
        (self.profile, self.payload) = (profile, payload)
    }

    fileprivate enum PacketType: UInt8 {
        case single = 0
        case start, next, end
    }

    private func header(_ type: PacketType) -> UInt8 {
        label << 4 | type.rawValue << 2 | (isResponse ? 2 : 0) | (isInvalidProfile ? 1 : 0)
    }

    private var profileOctets: [UInt8] { [UInt8(profile >> 8), UInt8(profile & 0xFF)] }

    /// The packets of the message, none longer than the MTU of the channel.
    public func packets(mtu: Int) -> [[UInt8]] {
        let mtu = max(48, mtu)
        guard payload.count + 3 > mtu else { return [[header(.single)] + profileOctets + payload] }
        let head = mtu - 4
        let count = 1 + (payload.count - head + mtu - 2) / (mtu - 1)
        var packets = [[header(.start), UInt8(truncatingIfNeeded: count)] + profileOctets + payload.prefix(head)]
        for start in stride(from: head, to: payload.count, by: mtu - 1) {
            let end = min(payload.count, start + mtu - 1)
            packets.append([header(end == payload.count ? .end : .next)] + payload[start..<end])
        }
        return packets
    }
}

/// Reassembles messages from packets. AVCTP 1.4, 6.1.
public struct AVCTPAssembler: Sendable {
    /// Maximum message length. An AV/C frame has at most 512 octets. AVRCP 1.6, 6.3.1.
    public static let limit = 1_024

    private var partial: AVCTPMessage?
    private var packetsLeft = 0

    public init() {}

    /// Processes a received packet.
    ///
    /// - Returns: the message that the packet completes. A packet that does not continue the message, or a message that is too long, is
    ///   dropped.
    public mutating func receive(_ packet: [UInt8]) -> AVCTPMessage? {
        var reader = ByteReader(packet.span.bytes)
        guard let header = try? reader.u8("Header"), let type = AVCTPMessage.PacketType(rawValue: header >> 2 & 3) else { return nil }
        switch type {
        case .single, .start:
            partial = nil
            if type == .start {
                guard let count = try? reader.u8("Number Of Packets"), count >= 2 else { return nil }
                packetsLeft = Int(count) - 1
            }
            guard let profile = try? reader.u16be("PID") else { return nil }
            let message = AVCTPMessage(
                label: header >> 4, isResponse: header & 2 != 0, isInvalidProfile: header & 1 != 0, profile: profile, reader.rest())
            if type == .single { return message }
            partial = message
            return nil
        case .next, .end: return continueWith(label: header >> 4, reader.rest(), isLast: type == .end)
        }
    }

    private mutating func continueWith(label: UInt8, _ octets: [UInt8], isLast: Bool) -> AVCTPMessage? {
        guard var message = partial else { return nil }
        partial = nil
        packetsLeft -= 1
        guard message.label == label, message.payload.count + octets.count <= Self.limit, isLast == (packetsLeft == 0) else { return nil }
        message.payload += octets
        if isLast { return message }
        partial = message
        return nil
    }
}
