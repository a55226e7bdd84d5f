import BBBluetoothCrypto
import BBPackets

/// Random numbers, AES, P-256 and link encryption. Core Vol 4, Part E, 7.8.22 to 7.8.26, 7.8.36 and 7.8.37.
extension LEController {
    static func securityCommands(_ rows: inout CommandRows<LEController>) {
        rows.complete(HCICommands.LEEncrypt.self, needs: .leEncryption) { try $0.execute($1) }
        rows.complete(HCICommands.LERand.self, needs: .leEncryption) { try $0.execute($1) }
        rows.complete(HCICommands.ReadAuthenticatedPayloadTimeout.self, needs: .lePing) { try $0.execute($1) }
        rows.complete(HCICommands.WriteAuthenticatedPayloadTimeout.self, needs: .lePing) { try $0.execute($1) }
        rows.start(HCICommands.LEEnableEncryption.self) { try $0.execute($1) }
        rows.complete(HCICommands.LELongTermKeyRequestReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.LELongTermKeyRequestNegativeReply.self) { try $0.execute($1) }
        rows.start(HCICommands.LEReadLocalP256PublicKey.self) { try $0.execute($1) }
        rows.start(HCICommands.LEGenerateDHKey.self) { try $0.execute($1) }
        rows.start(HCICommands.LEGenerateDHKeyV2.self) { try $0.execute($1) }
    }

    func execute(_ command: HCICommands.LEEncrypt) throws(CommandRefusal) -> HCICommands.LEEncrypt.Return {
        let key = AESKey(UInt128(littleEndianOctets: command.key))
        let cipher = key.encrypt(UInt128(littleEndianOctets: command.plaintextData))
        return .init(status: .success, encryptedData: cipher.littleEndianOctets)
    }

    func execute(_ command: HCICommands.LERand) throws(CommandRefusal) -> HCICommands.LERand.Return {
        .init(status: .success, randomNumber: secrets.next() & configuration.quirks.varyingRandomBits)
    }

    func execute(_ command: HCICommands.LEEnableEncryption) throws(CommandRefusal) {
        let key = EncryptionKey(
            longTermKey: UInt128(littleEndianOctets: command.longTermKey), random: command.randomNumber,
            diversifier: command.encryptedDiversifier)
        try link(command.connectionHandle).connection.encrypt(key).check()
    }

    func execute(_ command: HCICommands.LELongTermKeyRequestReply) throws(CommandRefusal) -> HCICommands.LELongTermKeyRequestReply.Return {
        let link = try link(command.connectionHandle)
        try link.connection.replyToKeyRequest(UInt128(littleEndianOctets: command.longTermKey)).check()
        return .init(status: .success, connectionHandle: link.handle)
    }

    func execute(_ command: HCICommands.LELongTermKeyRequestNegativeReply) throws(CommandRefusal)
        -> HCICommands.LELongTermKeyRequestNegativeReply.Return
    {
        let link = try link(command.connectionHandle)
        try link.connection.replyToKeyRequest(nil).check()
        return .init(status: .success, connectionHandle: link.handle)
    }

    func execute(_ command: HCICommands.ReadAuthenticatedPayloadTimeout) throws(CommandRefusal)
        -> HCICommands.ReadAuthenticatedPayloadTimeout.Return
    {
        let link = try payloadLink(command.connectionHandle)
        var answer = HCICommands.ReadAuthenticatedPayloadTimeout.Return(status: .success, connectionHandle: link.handle)
        answer.authenticatedPayloadTimeoutMicroseconds = link.connection.authenticatedPayloadTimeout
        return answer
    }

    /// Sets the timeout, which must not be shorter than the connection interval with latency. Core Vol 4, Part E, 7.3.94.
    func execute(_ command: HCICommands.WriteAuthenticatedPayloadTimeout) throws(CommandRefusal)
        -> HCICommands.WriteAuthenticatedPayloadTimeout.Return
    {
        let link = try payloadLink(command.connectionHandle)
        let shortest = link.connection.state.timing.time(untilHeard: 1)
        try Check.that(command.authenticatedPayloadTimeoutMicroseconds >= shortest)
        link.connection.setAuthenticatedPayloadTimeout(command.authenticatedPayloadTimeoutMicroseconds)
        return .init(status: .success, connectionHandle: link.handle)
    }

    func execute(_ command: HCICommands.LEReadLocalP256PublicKey) throws(CommandRefusal) {
        let pair = P256KeyPair.generate(using: &secrets)
        keyPair = pair
        emit(
            HCIEvents.LEReadLocalP256PublicKeyComplete(status: .success, localP256PublicKey: pair.publicKey.littleEndianOctets))
    }

    func execute(_ command: HCICommands.LEGenerateDHKey) throws(CommandRefusal) {
        try generateDHKey(command.remoteP256PublicKey, keyPair)
    }

    func execute(_ command: HCICommands.LEGenerateDHKeyV2) throws(CommandRefusal) {
        try generateDHKey(command.remoteP256PublicKey, command.keyType == 0 ? keyPair : try? P256KeyPair.debug())
    }
}

extension LEController {
    /// The link of a command about the authenticated payload timeout, which this controller has for LE only. Core Vol 4, Part E, 3.2.
    private func payloadLink(_ handle: ConnectionHandle) throws(CommandRefusal) -> LinkEnd {
        try Check.that(try !controller.anyLink(handle).isBREDR, else: .unsupportedValue)
        return try link(handle)
    }

    /// Computes the DHKey. For a public key off the curve, the event has an error and a key of all ones. Core Vol 4, Part E, 7.7.65.9.
    private func generateDHKey(_ octets: [UInt8], _ pair: P256KeyPair?) throws(CommandRefusal) {
        guard let pair else { throw .disallowed }
        let remote = P256PublicKey(littleEndianOctets: octets)
        guard let remote, let secret = try? pair.sharedSecret(with: remote) else {
            return emit(
                HCIEvents.LEGenerateDHKeyComplete(status: .invalidHCICommandParameters, dhKey: [UInt8](repeating: 0xFF, count: 32)))
        }
        emit(HCIEvents.LEGenerateDHKeyComplete(status: .success, dhKey: secret.littleEndianOctets))
    }
}

extension P256PublicKey {
    /// X, then Y, each least significant octet first.
    var littleEndianOctets: [UInt8] { x.littleEndianOctets + y.littleEndianOctets }

    init?(littleEndianOctets octets: [UInt8]) {
        guard octets.count == 64, let x = UInt256(littleEndianOctets: Array(octets[..<32])),
            let y = UInt256(littleEndianOctets: Array(octets[32...]))
        else { return nil }
        self.init(x: x, y: y)
    }
}
