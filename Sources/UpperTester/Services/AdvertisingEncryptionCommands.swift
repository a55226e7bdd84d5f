import BBBTP
import BBBluetoothCrypto
import BBHost
import BBPackets

extension BTPHandlers {
    /// Encrypted advertising data, which belongs to the GAP service.
    mutating func addAdvertisingEncryption() {
        does(BTPCommands.GAPSetEADKeyMaterial.self) { server, command in
            guard let material = AdvertisingKeyMaterial(octets: command.sessionKey + command.iv) else { throw BTPError.fail }
            server.gap.advertisingKeys = material
            server.start { [unowned host = server.host] in await host.publishAdvertisingKeys(material) }
        }
        on(BTPCommands.GAPEncryptEADData.self) { server, command in
            guard let material = server.gap.advertisingKeys else { throw BTPError.fail }
            let sealed = server.host.encryptAdvertising(command.data + server.quirks.padding, with: material)
            guard sealed.count <= UInt8.max else { throw BTPError.fail }
            return BTPResponses.GAPEncryptEADData(data: sealed)
        }
        on(BTPCommands.GAPDecryptEADData.self) { server, command in
            guard let material = server.gap.advertisingKeys,
                let payload = server.host.decryptAdvertising(command.data, with: material)
            else { throw BTPError.fail }
            return BTPResponses.GAPDecryptEADData(data: payload)
        }
    }
}
