import BluetoothCrypto
import Packets

/// Random numbers, AES and P-256. Core Vol 4, Part E, 7.8.22, 7.8.23, 7.8.36 and 7.8.37.
extension CommandTable {
    mutating func addLESecurity() {
        complete(HCICommands.LEEncrypt.self, 27, 6, failing: .init()) { (_, command) throws(CommandFailure) in
            let key = AESKey(UInt128(littleEndianOctets: command.key))
            let cipher = key.encrypt(UInt128(littleEndianOctets: command.plaintextData))
            return .init(status: .success, encryptedData: cipher.littleEndianOctets)
        }
        complete(HCICommands.LERand.self, 27, 7, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, randomNumber: controller.random.next())
        }
        start(HCICommands.LEReadLocalP256PublicKey.self, 34, 1) { (controller, _) throws(CommandFailure) in
            let pair = P256KeyPair.generate(using: &controller.random)
            controller.keyPair = pair
            controller.emit(
                HCIEvents.LEReadLocalP256PublicKeyComplete(status: .success, localP256PublicKey: pair.publicKey.littleEndianOctets))
        }
        start(HCICommands.LEGenerateDHKey.self, 34, 2) { (controller, command) throws(CommandFailure) in
            try controller.generateDHKey(command.remoteP256PublicKey, controller.keyPair)
        }
        start(HCICommands.LEGenerateDHKeyV2.self, 41, 2) { (controller, command) throws(CommandFailure) in
            try Check.that(command.keyType <= 1)
            try controller.generateDHKey(command.remoteP256PublicKey, command.keyType == 0 ? controller.keyPair : try? P256KeyPair.debug())
        }
    }
}

extension Controller {
    /// A key that is not on the curve is answered with an error and a key of ones. Core Vol 4, Part E, 7.7.65.9.
    fileprivate func generateDHKey(_ octets: [UInt8], _ pair: P256KeyPair?) throws(CommandFailure) {
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
