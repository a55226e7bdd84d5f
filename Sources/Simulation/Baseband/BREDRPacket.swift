import Packets

/// The packet types that inquiry uses, by their TYPE code. Core Vol 2, Part B, 6.5.
enum BREDRPacketType: UInt8 {
    case fhs = 2
    case dm1 = 3
    case dh1 = 4
    case dm3 = 10
    case dh3 = 11
    case dm5 = 14
    case dh5 = 15

    /// Whether the payload is sent at rate 2/3.
    var isForwardErrorCorrected: Bool {
        switch self {
        case .fhs, .dm1, .dm3, .dm5: true
        case .dh1, .dh3, .dh5: false
        }
    }

    /// The most octets of user data.
    var capacity: Int {
        switch self {
        case .fhs: 18
        case .dm1: 17
        case .dh1: 27
        case .dm3: 121
        case .dh3: 183
        case .dm5: 224
        case .dh5: 339
        }
    }

    var payloadHeaderLength: Int {
        switch self {
        case .fhs: 0
        case .dm1, .dh1: 1
        case .dm3, .dh3, .dm5, .dh5: 2
        }
    }
}

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

    /// LT_ADDR 0, TYPE, FLOW, ARQN and SEQN 0, and HEC, the bit that is sent first in the least significant place. Core Vol 2, Part B, 6.4.
    ///
    /// - Parameter uap: of the access code's address; DCI for inquiry access codes.
    func header(uap: UInt8) -> UInt32 {
        guard let type else { return 0 }
        let fields = UInt32(type.rawValue) << 3
        return fields | UInt32(HeaderErrorCheck.of(fields, uap: uap)) << 10
    }

    /// Preamble and sync word.
    static let idAirTime: Microseconds = 68

    /// The radio sends a bit each microsecond: access code with trailer, header at rate 1/3, payload with CRC.
    var airTime: Microseconds {
        guard let type else { return Self.idAirTime }
        let bits = (payload.count + 2) * 8
        return Microseconds(72 + 54 + (type.isForwardErrorCorrected ? (bits + 9) / 10 * 15 : bits))
    }
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
