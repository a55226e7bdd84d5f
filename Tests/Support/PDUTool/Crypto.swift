import BBBluetoothCrypto
import BBPackets

/// The security toolbox by name, for comparison with another implementation. Numbers are octets in hexadecimal, most significant first; an
/// address starts with its type.
enum Crypto {
    struct Refusal: Error {
        var text: String
    }

    static func answer(_ name: String, _ words: [String]) -> String {
        do {
            let arguments = try words.map { word throws -> [UInt8] in
                guard let octets = word == "-" ? [] : Hex.parse(word) else { throw Refusal(text: "no octets: \(word)") }
                return octets
            }
            return JSON.object([("value", JSON.string(Hex.octets(try compute(name, Arguments(values: arguments)))))])
        } catch let refusal as Refusal {
            return JSON.object([("error", JSON.string(refusal.text))])
        } catch {
            return JSON.object([("refused", JSON.string("\(error)"))])
        }
    }

    struct Arguments {
        var values: [[UInt8]]

        func octets(_ index: Int) throws -> [UInt8] {
            guard values.indices.contains(index) else { throw Refusal(text: "argument \(index) is missing") }
            return values[index]
        }

        func key(_ index: Int) throws -> UInt128 { UInt128(octets: try octets(index)) }
        func word(_ index: Int) throws -> UInt32 { UInt32(truncatingIfNeeded: try key(index)) }

        func wide(_ index: Int) throws -> UInt256 {
            guard let value = UInt256(octets: try octets(index)) else { throw Refusal(text: "argument \(index) has no 32 octets") }
            return value
        }

        func address(_ index: Int) throws -> DeviceAddress {
            let octets = try octets(index)
            guard octets.count == 7, let kind = DeviceAddress.Kind(rawValue: octets[0]) else {
                throw Refusal(text: "argument \(index) is no address")
            }
            return DeviceAddress(value: octets[1...].reduce(0) { $0 << 8 | UInt64($1) }, kind: kind)
        }
    }

    private static func compute(_ name: String, _ given: Arguments) throws -> [UInt8] {
        if let value = try toolbox(name, given) ?? link(name, given) ?? curve(name, given) ?? bredr(name, given) { return value }
        throw Refusal(text: "no function \(name)")
    }

    private static func toolbox(_ name: String, _ given: Arguments) throws -> [UInt8]? {
        switch name {
        case "e": AESKey(try given.key(0)).encrypt(try given.key(1)).octets
        case "cmac": AESKey(try given.key(0)).cmac(try given.octets(1)).octets
        case "c1":
            SecurityToolbox.c1(
                k: try given.key(0), r: try given.key(1), request: try given.octets(2), response: try given.octets(3),
                initiator: try given.address(4), responder: try given.address(5)
            ).octets
        case "s1": SecurityToolbox.s1(k: try given.key(0), r1: try given.key(1), r2: try given.key(2)).octets
        case "f4":
            SecurityToolbox.f4(
                u: try given.wide(0), v: try given.wide(1), x: try given.key(2), z: UInt8(truncatingIfNeeded: try given.key(3))
            )
            .octets
        case "f5": try f5(given)
        case "f6":
            SecurityToolbox.f6(
                w: try given.key(0), n1: try given.key(1), n2: try given.key(2), r: try given.key(3), ioCap: try given.octets(4),
                a1: try given.address(5), a2: try given.address(6)
            ).octets
        case "g2": number(SecurityToolbox.g2(u: try given.wide(0), v: try given.wide(1), x: try given.key(2), y: try given.key(3)))
        case "h6": SecurityToolbox.h6(w: try given.key(0), keyID: try given.word(1)).octets
        case "h7": SecurityToolbox.h7(salt: try given.key(0), w: try given.key(1)).octets
        case "h8": SecurityToolbox.h8(k: try given.key(0), s: try given.key(1), keyID: try given.word(2)).octets
        case "ah": number(SecurityToolbox.ah(irk: try given.key(0), prand: try given.word(1)))
        default: nil
        }
    }

    private static func f5(_ given: Arguments) throws -> [UInt8] {
        let keys = SecurityToolbox.f5(
            w: try given.wide(0), n1: try given.key(1), n2: try given.key(2), a1: try given.address(3), a2: try given.address(4))
        return keys.macKey.octets + keys.ltk.octets
    }

    private static func link(_ name: String, _ given: Arguments) throws -> [UInt8]? {
        switch name {
        case "signature":
            return AttributeHashes.signature(csrk: try given.key(0), message: try given.octets(1), counter: try given.word(2))
        case "link-key": return KeyDerivation.linkKey(fromLTK: try given.key(0), h7: try given.key(1) != 0).octets
        case "ltk": return KeyDerivation.ltk(fromLinkKey: try given.key(0), h7: try given.key(1) != 0).octets
        case "seal", "open":
            let cipher = LinkCipher(sessionKey: try given.key(0), iv: try given.octets(1))
            let (text, counter) = (try given.octets(2), UInt64(truncatingIfNeeded: try given.key(3)))
            let (isFromCentral, header) = (try given.key(4) != 0, UInt8(truncatingIfNeeded: try given.key(5)))
            if name == "seal" { return cipher.seal(text, counter: counter, fromCentral: isFromCentral, header: header) }
            guard let clear = cipher.open(text, counter: counter, fromCentral: isFromCentral, header: header) else {
                throw Refusal(text: "the MIC does not match")
            }
            return clear
        default: return nil
        }
    }

    private static func curve(_ name: String, _ given: Arguments) throws -> [UInt8]? {
        switch name {
        case "public-key":
            let key = try P256KeyPair(privateKey: given.wide(0)).publicKey
            return key.x.octets + key.y.octets
        case "dhkey":
            let peer = P256PublicKey(x: try given.wide(1), y: try given.wide(2))
            return try P256KeyPair(privateKey: given.wide(0)).pairingSecret(with: peer).octets
        default: return nil
        }
    }

    static func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) } }
}
