import BBPackets

/// Timing of an inquiry response: an FHS packet, and an extended inquiry response if the device has one. Core Vol 2, Part B, 8.4.3.
enum InquiryResponse {
    /// Start of the ID packet to start of the response.
    static let delay: Microseconds = 625
    /// Start of the FHS packet to start of the extended response.
    static let extendedDelay: Microseconds = 1_250
}

/// 240 octets of extended inquiry response data; trailing zeros are not sent. Core Vol 3, Part C, 8.
struct ExtendedResponse: Equatable {
    static let length = 240

    let data: [UInt8]
    let isForwardErrorCorrected: Bool

    /// Returns nil if all octets are zero; no extended response is then announced.
    init?(_ data: [UInt8], isForwardErrorCorrected: Bool) {
        guard data.contains(where: { $0 != 0 }) else { return nil }
        self.data = data
        self.isForwardErrorCorrected = isForwardErrorCorrected
    }

    /// Reads an extended response from a received packet; nil if the packet does not carry one.
    init?(_ packet: BREDRPacket) {
        guard let type = packet.type, type != .fhs, packet.payload.count >= type.payloadHeaderLength else { return nil }
        let significant = packet.payload.dropFirst(type.payloadHeaderLength).prefix(Self.length)
        data = significant + [UInt8](repeating: 0, count: Self.length - significant.count)
        isForwardErrorCorrected = type.isForwardErrorCorrected
    }

    /// The data without trailing zeros.
    private var significant: ArraySlice<UInt8> { data[..<((data.lastIndex { $0 != 0 } ?? -1) + 1)] }

    /// The shortest packet type that holds the data: DM1, DM3 or DM5 if FEC is required and the data fits, otherwise DH1, DH3 or DH5.
    var packetType: BREDRPacketType {
        let length = significant.count
        let isCorrected = isForwardErrorCorrected && length <= BREDRPacketType.dm5.capacity
        let types: [BREDRPacketType] = isCorrected ? [.dm1, .dm3, .dm5] : [.dh1, .dh3, .dh5]
        return types.first { length <= $0.capacity } ?? .dh5
    }

    /// Payload header (L2CAP start, FLOW 0) and data. Core Vol 2, Part B, 6.6.2.
    var payload: [UInt8] {
        let header = BREDRPayloadHeader(.start, flow: false, length: significant.count)
        return header.octets(count: packetType.payloadHeaderLength) + significant
    }
}
