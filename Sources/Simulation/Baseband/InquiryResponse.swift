import Packets

/// What a device in inquiry scan answers: an FHS packet, and an extended inquiry response if it has one. Core Vol 2, Part B, 6.5.1.4 and 8.4.3.
struct InquiryResponse {
    var address: BDADDR
    var classOfDevice: UInt32
    /// SR: how often the device scans for pages, 0...2 for R0...R2.
    var pageScanRepetition: UInt8
    /// CLKN27-2 at the start of the FHS packet.
    var clock: UInt32
    /// Nil as well at the receiver that did not get it.
    var extended: ExtendedResponse?
    /// EIR, the bit of the FHS packet that announces it.
    let announcesExtended: Bool

    init(address: BDADDR, classOfDevice: UInt32, pageScanRepetition: UInt8, clock: UInt32, extended: ExtendedResponse?) {
        self.address = address
        self.classOfDevice = classOfDevice
        self.pageScanRepetition = pageScanRepetition
        self.clock = clock
        self.extended = extended
        announcesExtended = extended != nil
    }

    /// From the start of the ID packet to the start of its answer.
    static let delay: Microseconds = 625
    /// From the start of the FHS packet to the start of the extended response.
    static let extendedDelay: Microseconds = 1_250
    /// Access code, header, and 160 bits of payload and CRC at rate 2/3; the radio sends a bit each microsecond.
    static let airTime: Microseconds = 366
    /// Preamble and sync word.
    static let idAirTime: Microseconds = 68

    /// From the FHS packet's first bit to the last bit of the answer.
    var wholeAirTime: Microseconds { extended.map { Self.extendedDelay + $0.airTime } ?? Self.airTime }
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

    /// The octets that are sent.
    private var significantLength: Int { (data.lastIndex { $0 != 0 } ?? -1) + 1 }

    /// In the smallest packet that holds it: DM1, DM3 or DM5 if errors are to be corrected and it fits, else DH1, DH3 or DH5.
    var airTime: Microseconds {
        let length = significantLength
        let isCoded = isForwardErrorCorrected && length <= 224
        let header = length <= (isCoded ? 17 : 27) ? 1 : 2
        let bits = (header + length + 2) * 8
        return Microseconds(72 + 54 + (isCoded ? (bits + 9) / 10 * 15 : bits))
    }
}
