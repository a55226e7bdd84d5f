import BBPackets

/// Payload of an FHS packet: the response to an inquiry, and the central's parameters in a page. Core Vol 2, Part B, 6.5.1.4.
struct FHSPayload: Equatable {
    var address: BDADDR
    var classOfDevice: UInt32
    /// SR: page scan repetition mode, 0...2 for R0...R2.
    var pageScanRepetition: UInt8
    /// CLKN27-2 at the start of the FHS packet.
    var clock: UInt32
    /// EIR: an extended inquiry response follows.
    var announcesExtended: Bool
    /// LT_ADDR assigned to the paged device; 0 in an inquiry response.
    var ltAddr: UInt8 = 0

    // MARK: Encoding

    private static let length = 18

    var payload: [UInt8] {
        var writer = BitWriter()
        let lap = address.rawValue & 0xFF_FFFF
        writer.append(SyncWord.of(lap: UInt32(lap)), bits: 34)
        writer.append(lap, bits: 24)
        writer.append(announcesExtended ? 1 : 0, bits: 1)
        writer.append(0, bits: 1)
        writer.append(UInt64(pageScanRepetition), bits: 2)
        // SP: only one value is defined.
        writer.append(0b10, bits: 2)
        writer.append(address.rawValue >> 24, bits: 24)
        writer.append(UInt64(classOfDevice), bits: 24)
        writer.append(UInt64(ltAddr), bits: 3)
        writer.append(UInt64(clock), bits: 26)
        // The mandatory page scan mode.
        writer.append(0, bits: 3)
        return writer.octets
    }

    init(
        address: BDADDR, classOfDevice: UInt32, pageScanRepetition: UInt8, clock: UInt32, announcesExtended: Bool, ltAddr: UInt8 = 0
    ) {
        self.address = address
        self.classOfDevice = classOfDevice
        self.pageScanRepetition = pageScanRepetition
        self.clock = clock
        self.announcesExtended = announcesExtended
        self.ltAddr = ltAddr
    }

    /// Returns nil if this is not the payload of an FHS packet.
    init?(payload: [UInt8]) {
        guard payload.count == Self.length else { return nil }
        func field(_ offset: Int, _ bits: Int) -> UInt64 {
            (0..<bits).reduce(0) { $0 | UInt64(payload[(offset + $1) / 8] >> UInt8((offset + $1) % 8) & 1) << UInt64($1) }
        }
        self.init(
            address: BDADDR(rawValue: field(64, 24) << 24 | field(34, 24)), classOfDevice: UInt32(field(88, 24)),
            pageScanRepetition: UInt8(field(60, 2)), clock: UInt32(field(115, 26)), announcesExtended: field(58, 1) == 1,
            ltAddr: UInt8(field(112, 3)))
    }
}
