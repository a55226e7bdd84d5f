import BBPackets

/// A BR/EDR packet to transmit: content, channel and power. Core Vol 2, Part B, 6.
struct BREDRPacket {
    var rfChannel: UInt8
    /// LAP of the access code.
    var lap: UInt32
    /// Initial value of HEC and CRC: the UAP of the access code's address, or DCI for inquiry access codes.
    var uap = defaultCheckInitialization
    /// Packet type; nil for an ID packet, which consists of an access code only.
    var type: BREDRPacketType?
    var ltAddr: UInt8 = 0
    var flow = false
    var arqn = false
    var seqn = false
    /// Payload header and data, without CRC.
    var payload: [UInt8] = []
    /// The CRC after E0 encryption; nil if sent unencrypted.
    var encryptedCRC: [UInt8]?
    /// The payload before E0 encryption; nil if sent unencrypted.
    var clear: [UInt8]?
    /// True if the user data is encrypted with AES-CCM.
    var isSealed = false
    /// Whitening of header and payload; nil for an ID packet.
    var whitening: Whitening?
    /// True if the sender is the central of the piconet, or becomes it with this packet; nil if there is no piconet.
    var isFromCentral: Bool?
    /// Transmit power in dBm.
    var power: Int8 = TransmitPower.preferred

    var channel: RadioChannel { .bredr(rfChannel) }

    /// Packet header with HEC, first transmitted bit in the least significant position; zero for an ID packet.
    var header: UInt32 {
        type.map { BREDRHeader(ltAddr: ltAddr, type: $0.code, flow: flow, arqn: arqn, seqn: seqn).bits(uap: uap) } ?? 0
    }

    /// The two CRC octets; nil if the packet type has no CRC.
    var crc: [UInt8]? {
        guard let type, type.format.hasCRC else { return nil }
        return encryptedCRC ?? CRC16.of(payload, uap: uap)
    }

    /// Duration of preamble and sync word.
    static let idAirTime: Microseconds = 68

    var airTime: Microseconds { type.map { Microseconds($0.airTime(payload: payload.count)) } ?? Self.idAirTime }
}

/// RF channel and access codes that a BR/EDR receiver is tuned to.
struct BREDRTuning {
    var rfChannel: UInt8
    /// LAP of the access code to receive or send.
    var lap: UInt32
    /// LAP of a second access code to receive at the same time.
    var otherLAP: UInt32?

    func hears(_ packet: BREDRTuning) -> Bool { packet.rfChannel == rfChannel && (packet.lap == lap || packet.lap == otherLAP) }
}

/// A received BR/EDR packet.
struct BREDRReception {
    var packet: BREDRPacket
    /// Time of the first bit.
    var start: Microseconds
    /// RSSI in dBm.
    var rssi: Int8
    /// False if the header or payload is corrupted. The payload is then meaningless. The header is still valid if the packet has a payload,
    /// since header bits are sent three times.
    var isIntact: Bool
}

/// The default check initialization (DCI), used instead of the UAP with inquiry access codes. Core Vol 2, Part B, 1.2.1.
let defaultCheckInitialization: UInt8 = 0

/// The parts of a BD_ADDR. Core Vol 2, Part B, 1.2.
extension BDADDR {
    var lap: UInt32 { UInt32(rawValue & 0xFF_FFFF) }
    var uap: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 24) }
    /// The 28 low bits of the address (UAP and LAP), which select the hopping sequence.
    var hopAddress: UInt32 { UInt32(rawValue & 0xFFF_FFFF) }
}
