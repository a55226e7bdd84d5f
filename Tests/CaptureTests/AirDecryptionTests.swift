import BBCapture
import BBPackets
import BBTraffic
import Testing

/// Encrypted links of an air log are decrypted with the known keys. The session is the specification's sample: Core Vol 6, Part C, 1.
@Suite struct AirDecryptionTests {
    private static let accessAddress = "50654CA7"
    private static let key: UInt128 = 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF

    /// Sender, header, payload on the air, decrypted payload.
    private static let session: [(isCentral: Bool, header: UInt8, sealed: String, clear: String?)] = [
        (true, 0x03, "03 9078563412EFCDAB 7424 1302F1E0DFCEBDAC 24ABDCBA", nil), (false, 0x03, "04 7968574635241302 BEBAAFDE", nil),
        (false, 0x0B, "05", nil), (true, 0x0F, "9FCDA7F448", "06"), (false, 0x07, "A34C13A415", "06"),
        (
            true, 0x06, "7A70D66415226DF26B17839A060405596BD6564F796B5B9CE6FF32F75A6D33",
            "1700636465666768696A6B6C6D6E6F707131323334353637383930"
        ),
        (
            false, 0x0E, "F38881E7BD94C9C369B9A66846DD4786AA8C39CE540D0DAE3ADCDF89B96088",
            "170037363534333231304142434445464748494A4B4C4D4E4F5051"
        ),
        // The first octet is CTEInfo, which is not encrypted.
        (true, 0x2E, "0A 6C7E13318787ECC6454F", "0A 03000400100A"),
    ]

    private static func frame(_ channel: AirFrame.Channel, _ accessAddress: [UInt8], _ header: UInt8, _ payload: [UInt8]) -> AirFrame {
        AirFrame(
            rfChannel: 0, signalPower: -40, referenceAccessAddress: 0, flags: [.dewhitened], channel: channel, modulation: .le1M,
            bytes: accessAddress + [header, UInt8(payload.count - (header & 0x20 != 0 ? 1 : 0))] + payload + [0, 0, 0])
    }

    private static func octets(_ text: String) -> [UInt8] { Hex.parse(text.filter { $0 != " " }) ?? [] }

    /// A link that starts and is then encrypted.
    private static func link() -> [(frame: AirFrame, clear: [UInt8]?)] {
        let address = Array((Hex.parse(accessAddress) ?? []).reversed())
        let parameters = [UInt8](repeating: 1, count: 12) + address + [UInt8](repeating: 1, count: 18)
        return [(frame(.advertising, [0xD6, 0xBE, 0x89, 0x8E], 0x05, parameters), nil)]
            + session.map { row in
                (
                    frame(row.isCentral ? .dataFromCentral : .dataFromPeripheral, address, row.header, octets(row.sealed)),
                    row.clear.map(octets)
                )
            }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Keys in the key log, by access address.
        var logged: [UInt128] = []
        /// Keys of bonds.
        var stored: [UInt128] = []
        var encryptedDiversifier: UInt16 = 0x2474
        var randomNumber: UInt64 = 0xABCD_EF12_3456_7890
        /// True for each of two links that is decrypted.
        var opened = [true, true]
    }

    static let rows = [
        Row(testDescription: "a key log", logged: [key, key]),
        Row(testDescription: "a key log of the first session", logged: [key], opened: [true, false]),
        Row(testDescription: "a key log with another key first", logged: [1, key], opened: [false, true]),
        Row(testDescription: "a bond", stored: [key]), Row(testDescription: "one of several bonds", stored: [1, key, 2]),
        Row(testDescription: "a bond whose key has another EDIV", stored: [key], encryptedDiversifier: 0, opened: [false, false]),
        Row(testDescription: "a bond whose key has another Rand", stored: [key], randomNumber: 0, opened: [false, false]),
        Row(testDescription: "bonds with others", stored: [1, 2], opened: [false, false]),
        Row(testDescription: "a key log, and a bond for what it does not know", logged: [key], stored: [1, key]),
        Row(testDescription: "nothing", opened: [false, false]),
    ]

    /// Two successive links have the same access address.
    @Test(arguments: rows) func aLinkIsOpened(_ row: Row) throws {
        let lines = row.logged.map { key in
            let digits = String(key, radix: 16)
            return "\(Self.accessAddress) " + String(repeating: "0", count: 32 - digits.count) + digits + "\n"
        }
        var keys = try AirKeys(lines.joined())
        for key in row.stored { keys.add(key, encryptedDiversifier: row.encryptedDiversifier, randomNumber: row.randomNumber) }
        var decryption = AirDecryption(keys: keys)
        for isOpened in row.opened {
            for (frame, clear) in Self.link() {
                let found = decryption.open(frame)
                guard isOpened, let clear else {
                    #expect(found == frame)
                    continue
                }
                #expect(found.bytes.dropFirst(6).dropLast(3).elementsEqual(clear))
                #expect(found.flags.isSuperset(of: [.decrypted, .micChecked, .micValid]))
            }
        }
    }
}
