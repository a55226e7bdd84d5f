import Packets

/// When a device in inquiry scan answers: with an FHS packet, and an extended inquiry response if it has one. Core Vol 2, Part B, 8.4.3.
enum InquiryResponse {
    /// From the start of the ID packet to the start of its answer.
    static let delay: Microseconds = 625
    /// From the start of the FHS packet to the start of the extended response.
    static let extendedDelay: Microseconds = 1_250
}

/// 240 octets of data, whose last zeros are not sent. Core Vol 3, Part C, 8.
struct ExtendedResponse: Equatable {
    static let length = 240

    let data: [UInt8]
    let isForwardErrorCorrected: Bool

    /// Nil when there is nothing but zeros: then no response is announced.
    init?(_ data: [UInt8], isForwardErrorCorrected: Bool) {
        guard data.contains(where: { $0 != 0 }) else { return nil }
        self.data = data
        self.isForwardErrorCorrected = isForwardErrorCorrected
    }

    /// Reads the payload of the packet that carried it; nil when it is none.
    init?(_ packet: BREDRPacket) {
        guard let type = packet.type, type != .fhs, packet.payload.count >= type.payloadHeaderLength else { return nil }
        let significant = packet.payload.dropFirst(type.payloadHeaderLength).prefix(Self.length)
        data = significant + [UInt8](repeating: 0, count: Self.length - significant.count)
        isForwardErrorCorrected = type.isForwardErrorCorrected
    }

    /// The octets that are sent.
    private var significant: ArraySlice<UInt8> { data[..<((data.lastIndex { $0 != 0 } ?? -1) + 1)] }

    /// The smallest packet type that holds it: DM1, DM3 or DM5 if errors are to be corrected and it fits, else DH1, DH3 or DH5.
    var packetType: BREDRPacketType {
        let length = significant.count
        let isCorrected = isForwardErrorCorrected && length <= BREDRPacketType.dm5.capacity
        let types: [BREDRPacketType] = isCorrected ? [.dm1, .dm3, .dm5] : [.dh1, .dh3, .dh5]
        return types.first { length <= $0.capacity } ?? .dh5
    }

    /// Payload header and data: the start of an L2CAP message, with FLOW 0. Core Vol 2, Part B, 6.6.2.
    var payload: [UInt8] {
        let header = BREDRPayloadHeader(.start, flow: false, length: significant.count)
        return header.octets(count: packetType.payloadHeaderLength) + significant
    }
}
