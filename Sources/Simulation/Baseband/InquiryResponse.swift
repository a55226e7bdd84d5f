import Packets

/// What a device in inquiry scan answers: an FHS packet, and an extended inquiry response if it has one. Core Vol 2, Part B, 6.5.1.4 and 8.4.3.
struct InquiryResponse: Equatable {
    var address: BDADDR
    var classOfDevice: UInt32
    /// SR: how often the device scans for pages, 0...2 for R0...R2.
    var pageScanRepetition: UInt8
    /// CLKN27-2 at the start of the FHS packet.
    var clock: UInt32
    /// EIR, the bit of the FHS packet that announces an extended response.
    var announcesExtended: Bool

    /// From the start of the ID packet to the start of its answer.
    static let delay: Microseconds = 625
    /// From the start of the FHS packet to the start of the extended response.
    static let extendedDelay: Microseconds = 1_250

    // MARK: The payload of the FHS packet

    private static let length = 18

    var payload: [UInt8] {
        var writer = BitWriter()
        let lap = address.rawValue & 0xFF_FFFF
        writer.append(SyncWord.of(lap: UInt32(lap)), bits: 34)
        writer.append(lap, bits: 24)
        writer.append(announcesExtended ? 1 : 0, bits: 1)
        writer.append(0, bits: 1)
        writer.append(UInt64(pageScanRepetition), bits: 2)
        // SP, of which one value is left.
        writer.append(0b10, bits: 2)
        writer.append(address.rawValue >> 24, bits: 24)
        writer.append(UInt64(classOfDevice), bits: 24)
        // LT_ADDR is zero in an answer to an inquiry.
        writer.append(0, bits: 3)
        writer.append(UInt64(clock), bits: 26)
        // The mandatory page scan mode.
        writer.append(0, bits: 3)
        return writer.octets
    }

    init(address: BDADDR, classOfDevice: UInt32, pageScanRepetition: UInt8, clock: UInt32, announcesExtended: Bool) {
        self.address = address
        self.classOfDevice = classOfDevice
        self.pageScanRepetition = pageScanRepetition
        self.clock = clock
        self.announcesExtended = announcesExtended
    }

    /// Nil when this is no FHS packet's payload.
    init?(payload: [UInt8]) {
        guard payload.count == Self.length else { return nil }
        func field(_ offset: Int, _ bits: Int) -> UInt64 {
            (0..<bits).reduce(0) { $0 | UInt64(payload[(offset + $1) / 8] >> UInt8((offset + $1) % 8) & 1) << UInt64($1) }
        }
        self.init(
            address: BDADDR(rawValue: field(64, 24) << 24 | field(34, 24)), classOfDevice: UInt32(field(88, 24)),
            pageScanRepetition: UInt8(field(60, 2)), clock: UInt32(field(115, 26)), announcesExtended: field(58, 1) == 1)
    }
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
