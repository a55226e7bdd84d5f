/// BR/EDR packet types that have a header. Core Vol 2, Part B, 6.5. An ID packet is an access code only and has no type.
public enum BREDRPacketType: String, Sendable, CaseIterable {
    case null = "NULL"
    case poll = "POLL"
    case fhs = "FHS"
    case dm1 = "DM1"
    case dh1 = "DH1"
    case dm3 = "DM3"
    case dh3 = "DH3"
    case dm5 = "DM5"
    case dh5 = "DH5"
    case aux1 = "AUX1"
    case twoDH1 = "2-DH1"
    case twoDH3 = "2-DH3"
    case twoDH5 = "2-DH5"
    case threeDH1 = "3-DH1"
    case threeDH3 = "3-DH3"
    case threeDH5 = "3-DH5"
    case hv1 = "HV1"
    case hv2 = "HV2"
    case hv3 = "HV3"
    case ev3 = "EV3"
    case ev4 = "EV4"
    case ev5 = "EV5"
    case twoEV3 = "2-EV3"
    case twoEV5 = "2-EV5"
    case threeEV3 = "3-EV3"
    case threeEV5 = "3-EV5"

    /// Properties of a packet type. Core Vol 2, Part B, 6.7.
    struct Format {
        /// TYPE in the packet header.
        var code: UInt8
        /// Maximum number of slots.
        var slots = 1
        /// Payload header length in octets.
        var header = 0
        /// Maximum user data in octets.
        var capacity = 0
        var coding = PayloadCoding.none
        var hasCRC = false
        var modulation = PayloadModulation.gfsk
    }

    var format: Format {
        switch self {
        case .null: Format(code: 0)
        case .poll: Format(code: 1)
        case .fhs: Format(code: 2, capacity: 18, coding: .twoThirds, hasCRC: true)
        case .dm1: Format(code: 3, header: 1, capacity: 17, coding: .twoThirds, hasCRC: true)
        case .dh1: Format(code: 4, header: 1, capacity: 27, hasCRC: true)
        case .dm3: Format(code: 10, slots: 3, header: 2, capacity: 121, coding: .twoThirds, hasCRC: true)
        case .dh3: Format(code: 11, slots: 3, header: 2, capacity: 183, hasCRC: true)
        case .dm5: Format(code: 14, slots: 5, header: 2, capacity: 224, coding: .twoThirds, hasCRC: true)
        case .dh5: Format(code: 15, slots: 5, header: 2, capacity: 339, hasCRC: true)
        case .aux1: Format(code: 9, header: 1, capacity: 29)
        case .twoDH1: Format(code: 4, header: 2, capacity: 54, hasCRC: true, modulation: .dqpsk)
        case .twoDH3: Format(code: 10, slots: 3, header: 2, capacity: 367, hasCRC: true, modulation: .dqpsk)
        case .twoDH5: Format(code: 14, slots: 5, header: 2, capacity: 679, hasCRC: true, modulation: .dqpsk)
        case .threeDH1: Format(code: 8, header: 2, capacity: 83, hasCRC: true, modulation: .dpsk8)
        case .threeDH3: Format(code: 11, slots: 3, header: 2, capacity: 552, hasCRC: true, modulation: .dpsk8)
        case .threeDH5: Format(code: 15, slots: 5, header: 2, capacity: 1_021, hasCRC: true, modulation: .dpsk8)
        case .hv1: Format(code: 5, capacity: 10, coding: .oneThird)
        case .hv2: Format(code: 6, capacity: 20, coding: .twoThirds)
        case .hv3: Format(code: 7, capacity: 30)
        case .ev3: Format(code: 7, capacity: 30, hasCRC: true)
        case .ev4: Format(code: 12, slots: 3, capacity: 120, coding: .twoThirds, hasCRC: true)
        case .ev5: Format(code: 13, slots: 3, capacity: 180, hasCRC: true)
        case .twoEV3: Format(code: 6, capacity: 60, hasCRC: true, modulation: .dqpsk)
        case .twoEV5: Format(code: 12, slots: 3, capacity: 360, hasCRC: true, modulation: .dqpsk)
        case .threeEV3: Format(code: 7, capacity: 90, hasCRC: true, modulation: .dpsk8)
        case .threeEV5: Format(code: 13, slots: 3, capacity: 540, hasCRC: true, modulation: .dpsk8)
        }
    }

    /// TYPE in the packet header. Its meaning depends on the logical transport and on the packet type table.
    public var code: UInt8 { format.code }
    /// Number of slots a packet may occupy: 1, 3 or 5.
    public var slots: Int { format.slots }
    /// Maximum user data in octets.
    public var capacity: Int { format.capacity }
    /// Payload header length in octets.
    public var payloadHeaderLength: Int { format.header }
    /// True if the payload is sent with rate 2/3 FEC.
    var isForwardErrorCorrected: Bool { format.coding == .twoThirds }
}

/// Forward error correction of a payload. Core Vol 2, Part B, 7.4 and 7.5.
enum PayloadCoding {
    case none
    /// Rate 1/3: each bit is sent three times.
    case oneThird
    /// Rate 2/3: 10 data bits in a 15-bit block.
    case twoThirds
}

/// Modulation of a payload; access code and header are always GFSK. Core Vol 2, Part A, 3.
enum PayloadModulation {
    case gfsk
    /// pi/4-DQPSK: 2 Mb/s.
    case dqpsk
    /// 8DPSK: 3 Mb/s.
    case dpsk8

    var bitsPerSymbol: Int {
        switch self {
        case .gfsk: 1
        case .dqpsk: 2
        case .dpsk8: 3
        }
    }
}

// MARK: Air time

extension BREDRPacketType {
    /// Access code with trailer, in bits of 1 us. Core Vol 2, Part B, 6.3.
    static let accessCodeLength = 72
    /// Header: 18 bits, each sent three times. Core Vol 2, Part B, 6.4.
    static let headerLength = 54
    /// Gap between the header and a 2 or 3 Mb/s payload, in us: guard time of 4.75...5.25 us and synchronization sequence of 11 symbols.
    /// Core Vol 2, Part B, 6.6.
    private static let guardAndSync = 5 + 11
    /// Trailer of a 2 or 3 Mb/s payload, in symbols. Core Vol 2, Part B, 6.6.
    private static let trailer = 2

    /// Duration of a packet in microseconds; one symbol takes 1 us.
    ///
    /// - Parameter payload: octets of payload header and user data, without CRC.
    public func airTime(payload: Int) -> Int {
        let format = format
        let bits = (payload + (format.hasCRC ? 2 : 0)) * 8
        let coded =
            switch format.coding {
            case .none: bits
            case .oneThird: bits * 3
            case .twoThirds: (bits + 9) / 10 * 15
            }
        let perSymbol = format.modulation.bitsPerSymbol
        let symbols = (coded + perSymbol - 1) / perSymbol
        return Self.accessCodeLength + Self.headerLength + symbols + (perSymbol == 1 ? 0 : Self.guardAndSync + Self.trailer)
    }
}
