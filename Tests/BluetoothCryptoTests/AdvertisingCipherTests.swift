import BBBenchTesting
import BBBluetoothCrypto
import BBPackets
import Testing

/// Sample data of the Supplement to the Core Specification, Part A, 2.3: encrypted advertising data.
@Suite struct AdvertisingCipherTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var randomizer: [UInt8]
        var sealed: [UInt8]

        init(_ name: String, _ randomizer: String, _ rest: String) {
            (testDescription, self.randomizer, sealed) = (name, octets(randomizer), octets(randomizer + rest))
        }
    }

    static let material = AdvertisingKeyMaterial(octets: octets("57A9DA12D12E6E131E20612AD10A6A19" + "9E7A00EFB17AE746"))
    /// A complete local name and an appearance.
    static let payload = octets("0F0953686F7274204D696E692D427573" + "03190A8C")
    static let samples = [
        Sample("2.3.1", "18E157CADE", "74E4DCAFDC51C7282810C2217F0E4CEF4343181F" + "BA0069CC"),
        Sample("2.3.2", "8D1C976E7A", "35444076125788C238A58E8BD9CFF0DEFE251A8E" + "7275454C"),
    ]

    @Test(arguments: samples) func dataIsAsPrinted(_ sample: Sample) throws {
        let material = try #require(Self.material)
        let cipher = AdvertisingCipher(material)
        #expect(cipher.seal(Self.payload, randomizer: sample.randomizer) == sample.sealed)
        #expect(cipher.open(sample.sealed) == Self.payload)
        #expect(AdvertisingKeyMaterial(octets: material.octets) == material)
    }

    /// No octet can be changed, and none left out.
    @Test(arguments: samples) func anythingElseIsRefused(_ sample: Sample) throws {
        let cipher = AdvertisingCipher(try #require(Self.material))
        for index in sample.sealed.indices {
            var changed = sample.sealed
            changed[index] ^= 1
            #expect(cipher.open(changed) == nil)
            #expect(cipher.open([UInt8](sample.sealed[..<index])) == nil)
        }
        let other = AdvertisingCipher(try #require(AdvertisingKeyMaterial(octets: [UInt8](repeating: 7, count: 24))))
        #expect(other.open(sample.sealed) == nil)
        #expect(AdvertisingKeyMaterial(octets: [UInt8](repeating: 7, count: 23)) == nil)
    }
}
