import Packets

/// A packet of BR/EDR as it goes out: what, where and how strong. Core Vol 2, Part B, 6.
struct BREDRPacket {
    var rfChannel: UInt8
    /// Of the access code.
    var lap: UInt32
    /// What HEC and CRC begin with: of the access code's address, or DCI for inquiry access codes.
    var uap = defaultCheckInitialization
    /// Nil for an ID packet, which is an access code alone.
    var type: BREDRPacketType?
    var ltAddr: UInt8 = 0
    var flow = false
    var arqn = false
    var seqn = false
    /// Payload header and data, without CRC.
    var payload: [UInt8] = []
    /// The CRC as E0 has encrypted it; nil where it is sent in clear.
    var encryptedCRC: [UInt8]?
    /// The payload before E0 encrypted it; nil where it is sent in clear.
    var clear: [UInt8]?
    /// Whether AES-CCM has encrypted its user data.
    var isSealed = false
    /// Of header and payload; nil for an ID packet.
    var whitening: Whitening?
    /// Whether its sender is the central of the piconet, or becomes one by it; nil where there is none.
    var isFromCentral: Bool?
    /// In dBm.
    var power: Int8 = TransmitPower.preferred

    var channel: RadioChannel { .bredr(rfChannel) }

    /// The packet header and HEC, the bit that is sent first in the least significant place; zero for an ID packet.
    var header: UInt32 {
        type.map { BREDRHeader(ltAddr: ltAddr, type: $0.code, flow: flow, arqn: arqn, seqn: seqn).bits(uap: uap) } ?? 0
    }

    /// The two octets after the payload; nil for a type without.
    var crc: [UInt8]? {
        guard let type, type.format.hasCRC else { return nil }
        return encryptedCRC ?? CRC16.of(payload, uap: uap)
    }

    /// Preamble and sync word.
    static let idAirTime: Microseconds = 68

    var airTime: Microseconds { type.map { Microseconds($0.airTime(payload: payload.count)) } ?? Self.idAirTime }
}

/// What a receiver of BR/EDR tunes to.
struct BREDRTuning {
    var rfChannel: UInt8
    /// Of the access code that is listened for, or sent.
    var lap: UInt32
    /// Another access code that is listened for at the same time.
    var otherLAP: UInt32?

    func hears(_ packet: BREDRTuning) -> Bool { packet.rfChannel == rfChannel && (packet.lap == lap || packet.lap == otherLAP) }
}

/// A packet of BR/EDR as a receiver got it.
struct BREDRReception {
    var packet: BREDRPacket
    /// The packet's first bit.
    var start: Microseconds
    /// In dBm.
    var rssi: Int8
    /// False when header or payload came broken: then the payload means nothing, and the header only where there is a payload, since it is
    /// sent three times.
    var isIntact: Bool
}

/// The default check initialization: what stands for the UAP with inquiry access codes. Core Vol 2, Part B, 1.2.1.
let defaultCheckInitialization: UInt8 = 0

/// The parts of an address. Core Vol 2, Part B, 1.2.
extension BDADDR {
    var lap: UInt32 { UInt32(rawValue & 0xFF_FFFF) }
    var uap: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 24) }
    /// The 28 low bits, UAP above LAP, to which a hopping sequence belongs.
    var hopAddress: UInt32 { UInt32(rawValue & 0xFFF_FFFF) }
}
