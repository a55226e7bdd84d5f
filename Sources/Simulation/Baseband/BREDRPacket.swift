import Packets

/// A packet of BR/EDR as it goes out: what, where and how strong. Core Vol 2, Part B, 6.
struct BREDRPacket {
    var rfChannel: UInt8
    /// Of the access code.
    var lap: UInt32
    /// Nil for an ID packet, which is an access code alone.
    var type: BREDRPacketType?
    /// Payload header and data, without CRC.
    var payload: [UInt8] = []
    /// In dBm.
    var power: Int8 = TransmitPower.preferred

    var channel: RadioChannel { .bredr(rfChannel) }

    /// The packet header with LT_ADDR, FLOW, ARQN and SEQN 0, and HEC, the bit that is sent first in the least significant place.
    ///
    /// - Parameter uap: of the access code's address; DCI for inquiry access codes.
    func header(uap: UInt8) -> UInt32 { type.map { BREDRHeader(type: $0.code).bits(uap: uap) } ?? 0 }

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
    /// False when header or payload came broken: then the content means nothing.
    var isIntact: Bool
}

/// The default check initialization: what stands for the UAP with inquiry access codes. Core Vol 2, Part B, 1.2.1.
let defaultCheckInitialization: UInt8 = 0
