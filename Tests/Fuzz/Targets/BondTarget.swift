import BBPackets

@testable import BBHost

extension FuzzTarget {
    /// A bond file: it is rejected with a reason, or its content can be written and read again. Every second input is the complete file;
    /// the others replace parts of a valid one.
    static let bonds = FuzzTarget(
        name: "bonds", layer: nil,
        seeds: { [[0] + good] + (0..<UInt8(parts.count)).map { [1, $0, 0] } },
        run: { input in
            let text = input.first.map { $0 & 1 == 0 } ?? true ? [UInt8](input.dropFirst()) : edited(input.dropFirst())
            guard let keys = try? BondDocument.read(text) else { return }
            let again = try? BondDocument.read(BondDocument.text(of: keys))
            try promise(again?.kept == keys.kept, "what was read is not what was written")
        })

    private static let good: [UInt8] = {
        let keys = KeyStore()
        keys.identityAddress = DeviceAddress(value: 0xC000_0000_0001, kind: .random)
        keys.identityResolvingKey = [UInt8](1...16)
        var bond = Bond(
            DeviceAddress(value: 0xC0B1_BE00_0001, kind: .random), localLongTermKey: LongTermKey([UInt8](1...16)),
            peerLongTermKey: LongTermKey(
                [UInt8](1...7) + [UInt8](repeating: 0, count: 9), encryptedDiversifier: 1, randomNumber: 2, size: 7))
        bond.identityResolvingKey = [UInt8](2...17)
        bond.localSigningKey = SigningKey([UInt8](3...18), counter: 7)
        keys.add(bond)
        keys.keep(LinkKey([UInt8](6...21), .authenticatedCombinationP256), of: BDADDR(0x1B_DC00_0001))
        var client = ClientRecord(features: .robustCaching, knownHash: [UInt8](4...19))
        client.configurations[17] = 1
        keys.keep(client, of: PeerIdentity(bond.identity))
        let characteristic = RemoteCharacteristic(uuid: 0x2A19, properties: [.read, .notify], declaration: 2, value: 3, endHandle: 4)
        keys.keep(
            RemoteDatabase(
                hash: [UInt8](5...20),
                services: [
                    .init(
                        service: RemoteService(uuid: 0x180F, handle: 1, endHandle: 4),
                        characteristics: [.init(characteristic: characteristic, descriptors: [RemoteDescriptor(uuid: 0x2902, handle: 4)])])
                ]), of: PeerIdentity(bond.identity))
        return BondDocument.text(of: keys)
    }()

    /// The lines of a valid file.
    private static let parts = good.split(separator: 0x0A).map(Array.init)

    private static let values = [
        "0", "-1", "1", "7", "16", "65535", "65536", "4294967296", "1e99", "0.5", "null", "true", "[]", "{}", "\"\"", "\"00\"", "\"FFFF\"",
        "\"0000000000000000\"", "\"00000000000000000000000000000000\"", "\"C0:B1:BE:00:00:01/public\"", "\"0x2902\"", "\"\\u0000\"",
    ].map { [UInt8]($0.utf8) }

    /// The valid file with edits of three octets: line, operation, value.
    private static func edited(_ input: ArraySlice<UInt8>) -> [UInt8] {
        var lines = parts
        var rest = input
        while rest.count >= 3, !lines.isEmpty {
            let edit = [UInt8](rest.prefix(3))
            rest = rest.dropFirst(3)
            let index = Int(edit[0]) % lines.count
            switch edit[1] % 4 {
            case 0: lines.remove(at: index)
            case 1: lines.insert(lines[index], at: index)
            case 2: lines.swapAt(index, Int(edit[2]) % lines.count)
            default:
                let comma = lines[index].last == 0x2C ? [UInt8(0x2C)] : []
                let name = lines[index].firstIndex(of: 0x3A).map { Array(lines[index][...$0]) } ?? []
                lines[index] = name + values[Int(edit[2]) % values.count] + comma
            }
        }
        return [UInt8](lines.joined(separator: [0x0A]))
    }
}
