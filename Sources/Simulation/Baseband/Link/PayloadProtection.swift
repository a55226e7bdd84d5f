import BBBluetoothCrypto
import BBPackets

/// Payload encryption of a link, per direction. Core Vol 2, Part H, 4 and 9.
///
/// E0 encrypts payload header, data and CRC again for each transmission. AES-CCM encrypts user data once and adds a MIC; it encrypts eSCO
/// voice for each transmission, without a MIC.
struct PayloadProtection {
    private struct Direction {
        var encryption = PayloadEncryption.off
        var cipher: LinkCipher?
        /// PayloadCounter: 36 bits, starting at 0 with each key and IV.
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

    mutating func apply(_ encryption: PayloadEncryption, _ direction: PayloadDirection) {
        switch direction {
        case .transmit: transmit.start(encryption)
        case .receive: receive.start(encryption)
        }
    }

    /// Octets of a packet that AES-CCM uses for the MIC.
    var overhead: Int { transmit.cipher == nil ? 0 : LinkCipher.micLength }

    /// Encrypts user data for all its transmissions; LMP messages are sent without a MIC.
    mutating func seal(_ data: ArraySlice<UInt8>, llid: UInt8, isCentral: Bool) -> ArraySlice<UInt8> {
        guard let cipher = transmit.cipher, llid != LLID.control, !data.isEmpty else { return data }
        var sealed: [UInt8] = []
        cipher.seal(data.span.bytes, counter: transmit.counter, fromCentral: isCentral, header: llid, into: &sealed)
        transmit.count()
        return sealed[...]
    }

    /// Decrypts new user data; nil if the MIC is wrong.
    mutating func open(_ data: ArraySlice<UInt8>, llid: UInt8, isCentral: Bool) -> ArraySlice<UInt8>? {
        guard let cipher = receive.cipher, llid != LLID.control, !data.isEmpty else { return data }
        var opened: [UInt8] = []
        guard cipher.open(data.span.bytes, counter: receive.counter, fromCentral: !isCentral, header: llid, into: &opened) else {
            return nil
        }
        receive.count()
        return opened[...]
    }

    /// Nonce of eSCO voice: CLK27-1 instead of PayloadCounter, with a bit set that PayloadCounter never has; the day counter is 0.
    private static func clockFormat(_ clock: UInt32) -> UInt64 { 1 << 38 | UInt64(clock >> 1) }

    /// Encrypts the payload and its CRC, if any, of a packet that starts at `clock`.
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

    /// Decrypts the payload of a packet that started at `clock`; nil if the CRC is wrong.
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
    /// True for an eSCO payload: it has a CRC but no payload header.
    fileprivate var isVoice: Bool { type.map { $0.format.hasCRC && $0.format.header == 0 && $0 != .fhs } ?? false }
}
