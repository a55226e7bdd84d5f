import BBBluetoothCrypto

/// Header and payload of a packet as transmitted bits: with checks, encryption, whitening and FEC. Core Vol 2, Part B, 7.
///
/// The access code is `AccessCode`. The synchronization sequence and trailer of a 2 or 3 Mb/s payload are not included.
public struct BREDRFrame: Sendable, Equatable {
    /// 54 bits, first transmitted bit in the least significant position.
    public let header: UInt64
    /// Payload bits, eight per octet, first transmitted bit in the least significant position.
    public let payload: [UInt8]
    public let payloadBits: Int

    /// - Parameters:
    ///   - payload: payload header and user data. With AES-CCM, data is already encrypted and the CRC covers the MIC; with E0, data and CRC
    ///     are encrypted here.
    ///   - uap: UAP of the access code's address; DCI for inquiry access codes.
    ///   - clock: CLK at the start of the packet; nil omits whitening, as in the specification's sample data.
    ///   - keyStream: E0 key stream; nil without E0.
    public init(_ type: BREDRPacketType, _ header: BREDRHeader, payload: [UInt8], uap: UInt8, clock: UInt32?, keyStream: E0? = nil) {
        let format = type.format
        var octets = payload + (format.hasCRC ? CRC16.of(payload, uap: uap) : [])
        if var keyStream { keyStream.apply(to: &octets) }
        self.init(header: header.bits(uap: uap), octets, format.coding, clock.map { Whitening(clock: $0) })
    }

    /// The transmitted bits of a packet; nil for an ID packet, which has neither header nor payload.
    init?(_ packet: BREDRPacket) {
        guard let type = packet.type, let whitening = packet.whitening else { return nil }
        self.init(header: packet.header, packet.payload + (packet.crc ?? []), type.format.coding, whitening)
    }

    private init(header: UInt32, _ octets: [UInt8], _ coding: PayloadCoding, _ whitening: Whitening?) {
        var (octets, whitening) = (octets, whitening)
        self.header = OneThirdCode.encode(header ^ (whitening?.next(bits: 18) ?? 0), count: 18)
        whitening?.apply(to: &octets)
        (payload, payloadBits) = Self.coded(octets, coding)
    }

    /// Header and payload, each starting on an octet boundary.
    var octets: [UInt8] { (0..<7).map { UInt8(truncatingIfNeeded: header >> UInt64(8 * $0)) } + payload }

    private static func coded(_ octets: [UInt8], _ coding: PayloadCoding) -> (octets: [UInt8], count: Int) {
        var bits = BitWriter()
        switch coding {
        case .none: return (octets, octets.count * 8)
        case .oneThird:
            for octet in octets { bits.append(OneThirdCode.encode(UInt32(octet), count: 8), bits: 24) }
        case .twoThirds:
            // The last block is padded with zeros.
            for start in stride(from: 0, to: octets.count * 8, by: TwoThirdsCode.dataBits) {
                let data = (0..<TwoThirdsCode.dataBits).reduce(UInt16(0)) { data, bit in
                    let place = start + bit
                    return place < octets.count * 8 ? data | UInt16(octets[place / 8] >> UInt8(place % 8) & 1) << UInt16(bit) : data
                }
                bits.append(UInt64(TwoThirdsCode.encode(data)), bits: TwoThirdsCode.blockBits)
            }
        }
        return (bits.octets, bits.count)
    }
}

/// Packs fields into octets, least significant bit first.
struct BitWriter {
    private(set) var octets: [UInt8] = []
    private(set) var count = 0

    mutating func append(_ value: UInt64, bits: Int) {
        for bit in 0..<bits {
            if count % 8 == 0 { octets.append(0) }
            octets[count / 8] |= UInt8(value >> UInt64(bit) & 1) << UInt8(count % 8)
            count += 1
        }
    }
}
