import BluetoothCrypto
import Packets

/// The encryption of a link's payloads, direction by direction. Core Vol 2, Part H, 4 and 9.
///
/// E0 encrypts payload header, data and CRC anew each time a packet is sent; AES-CCM encrypts user data once and adds a MIC, and the voice of eSCO anew each time,
/// without a MIC.
struct PayloadProtection {
    private struct Direction {
        var encryption = PayloadEncryption.off
        var cipher: LinkCipher?
        /// PayloadCounter: 36 bits, from 0 on with each key and IV.
        private(set) var counter: UInt64 = 0

        mutating func start(_ encryption: PayloadEncryption) {
            self.encryption = encryption
            counter = 0
            cipher = nil
            if case .aesCCM(let key, let iv) = encryption { cipher = LinkCipher(sessionKey: key, iv: iv) }
        }

        mutating func count() { counter = (counter + 1) & 0xF_FFFF_FFFF }
    }

    private var transmit = Direction()
    private var receive = Direction()

    mutating func apply(_ encryption: PayloadEncryption, _ direction: LinkDirection) {
        switch direction {
        case .transmit: transmit.start(encryption)
        case .receive: receive.start(encryption)
        }
    }

    /// What AES-CCM takes of a packet's user data.
    var overhead: Int { transmit.cipher == nil ? 0 : LinkCipher.micLength }

    /// User data as it is sent each time: messages of the link manager have no MIC.
    mutating func seal(_ data: ArraySlice<UInt8>, llid: UInt8, isCentral: Bool) -> ArraySlice<UInt8> {
        guard let cipher = transmit.cipher, llid != LLID.control, !data.isEmpty else { return data }
        var sealed: [UInt8] = []
        cipher.seal(data.span.bytes, counter: transmit.counter, fromCentral: isCentral, header: llid, into: &sealed)
        transmit.count()
        return sealed[...]
    }

    /// New user data; nil when its MIC is wrong.
    mutating func open(_ data: ArraySlice<UInt8>, llid: UInt8, isCentral: Bool) -> ArraySlice<UInt8>? {
        guard let cipher = receive.cipher, llid != LLID.control, !data.isEmpty else { return data }
        var opened: [UInt8] = []
        guard cipher.open(data.span.bytes, counter: receive.counter, fromCentral: !isCentral, header: llid, into: &opened) else {
            return nil
        }
        receive.count()
        return opened[...]
    }

    /// The nonce of voice has CLK27-1 in the place of PayloadCounter, and a bit that no PayloadCounter has; the day counter is 0.
    private static func clockFormat(_ clock: UInt32) -> UInt64 { 1 << 38 | UInt64(clock >> 1) }

    /// Encrypts payload and CRC, where there is one, of a packet that starts at `clock`.
    func encrypt(_ packet: inout BREDRPacket, clock: UInt32) {
        if let cipher = transmit.cipher, packet.isVoice {
            cipher.apply(to: &packet.payload, counter: Self.clockFormat(clock), fromCentral: packet.isFromCentral == true)
            packet.isSealed = true
            return
        }
        guard case .e0(let key, let central) = transmit.encryption, !packet.payload.isEmpty else { return }
        let crc = packet.crc ?? []
        var octets = packet.payload + crc
        var stream = E0(key: key, central: central, clock: clock)
        stream.apply(to: &octets)
        if !crc.isEmpty { packet.encryptedCRC = Array(octets.suffix(crc.count)) }
        octets.removeLast(crc.count)
        packet.clear = packet.payload
        packet.payload = octets
    }

    /// The payload of a packet that started at `clock`; nil when its CRC does not come out.
    func decrypt(_ packet: BREDRPacket, clock: UInt32) -> [UInt8]? {
        guard case .e0(let key, let central) = receive.encryption else {
            guard packet.encryptedCRC == nil || packet.encryptedCRC == CRC16.of(packet.payload, uap: packet.uap) else { return nil }
            var payload = packet.payload
            if let cipher = receive.cipher, packet.isVoice {
                cipher.apply(to: &payload, counter: Self.clockFormat(clock), fromCentral: packet.isFromCentral == true)
            }
            return payload
        }
        let crc = packet.crc ?? []
        var octets = packet.payload + crc
        var stream = E0(key: key, central: central, clock: clock)
        stream.apply(to: &octets)
        let payload = Array(octets.dropLast(crc.count))
        return crc.isEmpty || CRC16.of(payload, uap: packet.uap) == Array(octets.suffix(crc.count)) ? payload : nil
    }
}

extension BREDRPacket {
    /// A payload of eSCO, which has a CRC and no payload header.
    fileprivate var isVoice: Bool { type.map { $0.format.hasCRC && $0.format.header == 0 && $0 != .fhs } ?? false }
}
