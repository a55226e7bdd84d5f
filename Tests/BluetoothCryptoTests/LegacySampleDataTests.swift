import BBBenchTesting
import BBBluetoothCrypto
import BBPackets
import Testing

/// A row of sample data as octets: inputs, then the output.
struct SampleRow: Sendable, CustomTestStringConvertible {
    let octets: [[UInt8]]
    var expected: [UInt8] { octets[octets.count - 1] }
    var testDescription: String { octets.map { Hex.octets($0.prefix(4)) }.joined(separator: " ") }

    /// The number with octet 0 printed first.
    func little(_ index: Int) -> UInt128 { UInt128(littleEndianOctets: octets[index]) }
    /// The number as printed.
    func big(_ index: Int) -> UInt128 { UInt128(octets: octets[index]) }
    /// An address with octet 0 printed first.
    func address(_ index: Int) -> BDADDR { BDADDR(UInt64(truncatingIfNeeded: little(index))) }
    func narrow(_ index: Int) throws -> UInt192 { try #require(UInt192(octets: octets[index])) }
    func wide(_ index: Int) throws -> UInt256 { try #require(UInt256(octets: octets[index])) }

    /// Splits a text of hexadecimal words into rows.
    static func rows(columns: Int, _ text: String) -> [SampleRow] {
        let words = text.split(whereSeparator: \.isWhitespace).map { BBBenchTesting.octets(String($0)) }
        return stride(from: 0, to: words.count, by: columns).map { SampleRow(octets: Array(words[$0..<$0 + columns])) }
    }
}

/// The sample data of Core Vol 2, Part G for legacy authentication and encryption. Octet 0 is first, even in addresses.
@Suite struct LegacySampleDataTests {
    /// Key, AU_RAND, address, SRES with ACO.
    static let authentications = SampleRow.rows(
        columns: 4,
        """
        00000000000000000000000000000000 00000000000000000000000000000000 000000000000 056c0fe648afcdd4bd40fef76693b113
        159dd9f43fc3d328efba0cd8a861fa57 bc3f30689647c8d7c5a03ca80a91eceb 7ca89b233c2d 8d5205c53ed75df4abd9af638d144e94
        45298d06e46bac21421ddfbed94c032b 0891caee063f5da1809577ff94ccdcfb c62f19f6ce98 00507e5f2a5f19fbf60907e69f39ca9f
        35949a914225fabad91995d226de1d92 0ecd61782b4128480c05dc45542b1b8c f428f0e624b3 80e5629ca6fe4dcde3924611d3cc6ba1
        """)

    @Test(arguments: authentications) func e1(_ row: SampleRow) {
        let response = AuthenticationFunctions.e1(key: row.little(0), rand: row.little(1), claimant: row.address(2))
        #expect((UInt128(response.sres) | response.aco << 32).littleEndianOctets == row.expected)
    }

    /// RAND, address, key.
    static let unitKeys = SampleRow.rows(
        columns: 3,
        """
        00000000000000000000000000000000 000000000000 d14ca028545ec262cee700e39b5c39ee
        2dd9a550343191304013b2d7e1189d09 cac4364303b6 e62f8bac609139b3999aedbc9d228042
        dab3cffe9d5739d1b7bf4a667ae5ee24 02f8fd4cd661 b0376d0a9b338c2e133c32b69cb816b3
        13ecad08ad63c37f8a54dc56e82f4dc1 9846c5ead4d9 5b61e83ad04d23e9d1c698851fa30447
        """)

    @Test(arguments: unitKeys) func e21(_ row: SampleRow) {
        #expect(AuthenticationFunctions.e21(rand: row.little(0), address: row.address(1)).littleEndianOctets == row.expected)
    }

    /// RAND, PIN, address, key.
    static let initializationKeys = SampleRow.rows(
        columns: 4,
        """
        001de169248850245a5f7cc7f0d6d633 d5a51083a04a1971f18649ea8b79311a 000000000000 539e4f2732e5ae2de1e0401f0813bd0d
        67ed56bfcf99825f0c6b349369da30ab 7885b515e84b1f082cc499976f1725ce 000000000000 04435771e03a9daceb8bb1a493ee9bd8
        40a94509238664f244ff8e3d13b119d3 1ce44839badde30396d03c4c36f23006 000000000000 9cde4b60f9b5861ed9df80858bac6f7f
        24b101fd56117d42c0545a4247357048 fd397c7f5c1f937cdf82d8816cc377e2 000000000000 a5f2adf328e4e6a2b42f19c8b74ba884
        321964061ac49a436f9fb9824ac63f8b ad955d58b6b8857820ac1262d617a6 0314c0642543 c0ec1a5694e2b48d54297911e6c98b8f
        d4ae20c80094547d7051931b5cc2a8d6 e1232e2c5f3b833b3309088a87b6 fabecc58e609 d7b39be13e3692c65b4a9e17a9c55e17
        272b73a2e40db52a6a61c6520549794a 549f2694f353f5145772d8ae1e 20487681eb9f 9ac64309a37c25c3b4a584fc002a1618
        7edb65f01a2f45a2bc9b24fb3390667e 2e5a42797958557b23447ca8 04f0d2737f02 d3af4c81e3f482f062999dee7882a73b
        26a92358294dce97b1d79ec32a67e81a 05fbad03f52fa9324f7732 b9ac071f9d70 be87b44d079d45a08a71d15208c5cb50
        0edef05327eab5262430f21fc91ce682 8210e47390f3f48c32b3 7a3cdfe377d1 bf0706d76ec3b11cce724b311bf71ff5
        86290e2892f278ff6c3fb917b020576a 3dcdffcfd086802107 791a6a2c5cc3 cdb0cc68f6f6fbd70b46652de3ef3ffb
        3ab52a65bb3b24a08eb6cd284b4b9d4b d0fb9b6838d464d8 25a868db91ab 983218718ca9aa97892e312d86dd9516
        a6dc447ff08d4b366ff96e6cf207e179 9c57e10b4766cc 54ebd9328cb6 9cd6650ead86323e87cafb1ff516d1e0
        3348470a7ea6cc6eb81b40472133262c fcad169d7295 430d572f8842 98f1543ab4d87bd5ef5296fb5e3d3a21
        0f5bb150b4371ae4e5785293d22b7b0c b10d068bca b44775199f29 c55070b72bc982adb972ed05d1a74ddb
        148662a4baa73cfadb55489159e476e1 fb20f177 a683bd0b1896 7ec864df2f1637c7e81f2319ae8f4671
        193a1b84376c88882c8d3b4ee93ba8d5 a123b9 4459a44610f6 ac0daabf17732f632e34ef193658bf5d
        1453db4d057654e8eb62d7d62ec3608c 3eaf 411fbbb51d1e 1674f9dc2063cc2b83d3ef8ba692ebef
        1313f7115a9db842fcedc4b10088b48d 6d 008aa9be62d5 38ec0258134ec3f08461ae5c328968a1
        """)

    @Test(arguments: initializationKeys) func e22(_ row: SampleRow) {
        let key = AuthenticationFunctions.e22(rand: row.little(0), pin: row.octets[1], address: row.address(2))
        #expect(key?.littleEndianOctets == row.expected)
    }

    @Test func aPINHasOneToSixteenOctets() {
        for count in [0, 17] {
            #expect(AuthenticationFunctions.e22(rand: 0, pin: [UInt8](repeating: 0x30, count: count), address: 0) == nil)
        }
    }

    /// Key, EN_RAND, COF, Kc.
    static let encryptionKeys = SampleRow.rows(
        columns: 4,
        """
        00000000000000000000000000000000 00000000000000000000000000000000 48afcdd4bd40fef76693b113
          cc802aecc7312285912e90af6a1e1154
        34e86915d20c485090a6977931f96df5 950e604e655ea3800fe3eb4a28918087 68f4f472b5586ac5850f5f74
          c1beafea6e747e304cf0bd7734b0a9e2
        35cf77b333c294671d426fa79993a133 6a8ebcf5e6e471505be68d5eb8a3200c 658d791a9554b77c0b2f7b9f
          a3032b4df1cceba8adc1a04427224299
        b9f90c53206792b1826838b435b87d4d 5ecd6d75db322c75b6afbd799cb18668 63f701c7013238bbf88714ee
          ea520cfc546b00eb7c3a6cea3ecb39ed
        """)

    @Test(arguments: encryptionKeys) func e3(_ row: SampleRow) {
        let key = AuthenticationFunctions.e3(key: row.little(0), rand: row.little(1), cof: row.little(2))
        #expect(key.littleEndianOctets == row.expected)
    }

    /// Octets, Kc, Kc': both printed as numbers, most significant digit first.
    static let lengths = SampleRow.rows(
        columns: 3,
        """
        01 a2b230a493f281bb61a85b82a9d4a30e 7aa16f3959836ba322049a7b87f1d8a5
        02 64e7df78bb7ccaa4614331235b3222ad 142057bb0bceac4c58bd142e1e710a50
        03 575e5156ba685dc6112124acedb2c179 d56d0adb8216cb397fe3c5911ff95618
        04 8917b4fc403b6db21596b86d1cb8adab 91910128b0e2f5eda132a03eaf3d8cda
        05 785c915bdd25b9c60102ab00b6cd2a68 6fb5651ccb80c8d7ea1ee56df1ec5d02
        06 5e77d19f55ccd7d5798f9a323b83e5d8 16096bcbafcf8def1d226a1b4d3f9a3d
        07 05454e038ddcfbe3ed024b2d92b7f54c 50f9c0d4e3178da94a09fe0d34f67b0e
        08 7ce149fcf4b38ad72a5d8a41eb15ba31 532c36d45d0954e0922989b6826f78dc
        09 5eeff7ca84fc27829c0517263df6f36e 016313f60d3771cf7f8e4bb94aa6827d
        0a 7b13846e88beb4de34e7160afd44dc65 023bc1ec34a0029ef798dcfb618ba58d
        0b bda6de6c6e7d757e8dfe2d499a181193 022e08a93aa51d8d2f93fa7885cc1f87
        0c e6483b1c2cdb10409a658f97c4efd90d 030d752b216fe29bb880275cd7e6f6f9
        0d d79d281da22668476b223c46dc0ab9ee 03f111389cebf91900b938084ac158aa
        0e cad9a65b9fca1c1da2320fcf7c4ae48e 284840fdf1305f3c529f570376adf7cf
        0f 21f0cc31049b7163d375e9e106029809 7f10b53b6df84b94f22e566a3754a37e
        10 35ec8fc3d50ccd325f2fd907bde206de 35ec8fc3d50ccd325f2fd907bde206de
        """)

    @Test(arguments: lengths) func keyLengths(_ row: SampleRow) {
        #expect(EncryptionKeyLength.reduced(row.big(1), octets: Int(row.octets[0][0]))?.octets == row.expected)
    }

    @Test func aKeyHasOneToSixteenOctets() {
        #expect(EncryptionKeyLength.reduced(1, octets: 0) == nil)
        #expect(EncryptionKeyLength.reduced(1, octets: 17) == nil)
    }

    /// Octets and Kc' from the memory of a controller, octet 0 first: the Kc of the first chain below with every length.
    static let lengthsOfAController = SampleRow.rows(
        columns: 2,
        """
        01 61d97e3717259fa931a45741ebc4010f
        02 f899f6f9f2fd3c7580712e971bb65946
        03 6a516d6cf3b0c1e2d7fa516e49a185fb
        04 92a7d1695f9fa949a58093f07cb5cfd2
        05 e704580fea5d97b06ca67a0a7fd232b5
        06 89af8d19e226c9abc164c371e11fe90e
        07 cc2de64988a54ec6fcd1edeb4fa08521
        08 fde6d783b5d97f430c3464966f05e400
        09 f3c64abe37c115680496a319e8743700
        0a 98dc7701d413fc8ccdf9f0879f4ce900
        0b d7e37ea76572f10fe00e4c5da2a9a405
        0c 4031012b857b8b9e193efc5878f04c05
        0d 664e0a617f03f1e88751629e5647d209
        0e 0c3880e2b92d6f6fc402f7266e5b110e
        0f a85b53e7da0c8b8780bfd28de1529013
        10 674444bf8008b7d11e30d37243392579
        """)

    @Test(arguments: lengthsOfAController) func keyLengthsOfAController(_ row: SampleRow) {
        let key = UInt128(littleEndianOctets: octets("674444bf8008b7d11e30d37243392579"))
        #expect(EncryptionKeyLength.reduced(key, octets: Int(row.octets[0][0]))?.littleEndianOctets == row.expected)
    }

    /// Link key, AU_RAND, claimant, octets of the key, SRES with ACO, Kc for an EN_RAND of zero, Kc'.
    static let chains = SampleRow.rows(
        columns: 7,
        """
        97773ca35380352aebb317027c360bee 00000000000000000000000000000000 f9f104364e40 10 6324a4325d5c3dfae55cf1475407363f
          674444bf8008b7d11e30d37243392579 674444bf8008b7d11e30d37243392579
        97773ca35380352aebb317027c360bee 459a3212d1452c6a1b793789fda175f6 413e099a8120 09 749fac760ac6084c69c799643b457ccd
          0c949c55c80f8a77d1f5ecb03a573d19 dd4a4b89503d20a9bc4a6a8887abf801
        f80fa88ff3dc39f659f1155f0b4d249e 00000000000000000000000000000000 9671275be5dc 07 9a2203acf23aa5bc7b2ae5715c32261e
          04da6770543cc03839d3a4068dfd25aa 455ef0869087fe7a5a5683ef24f7387c
        """)

    @Test(arguments: chains) func fromALinkKeyToAnEncryptionKey(_ row: SampleRow) {
        let response = AuthenticationFunctions.e1(key: row.little(0), rand: row.little(1), claimant: row.address(2))
        #expect((UInt128(response.sres) | response.aco << 32).littleEndianOctets == row.octets[4])
        let key = AuthenticationFunctions.e3(key: row.little(0), rand: 0, cof: response.aco)
        #expect(key.littleEndianOctets == row.octets[5])
        #expect(EncryptionKeyLength.reduced(key, octets: Int(row.octets[3][0]))?.littleEndianOctets == row.expected)
    }

    /// Kc', the central's address, CLK26-1 in four octets, key stream.
    static let streams = SampleRow.rows(
        columns: 4,
        """
        00000000000000000000000000000000 000000000000 00000000 62967286c92c3ae18e182949d8edb105ff6877a3aed307f87d02aefc5998864c
        00000000000000000000000000000000 000000000000 00000003 31c3d89ca06b54326cb15a4b52c26c525fd3ab0068fff496b416bc5b9de731e9
        ffffffffffffffffffffffffffffffff ffffffffffff ffffff03 d1ffbf95b16b9f9e433da61acae82172b472efb332f8c807d4160cd763040813
        2187f04aba9031d0780d4c53e0153a63 2c7f94560f1b 5f1a0002 94996fe0bf0774253339d8a1c0a5299435d0955d669feb917ec50593559cc390
        """)

    @Test(arguments: streams) func keyStreams(_ row: SampleRow) {
        // Bits 0 and 27 of the clock have no effect.
        for clock in [0, 1, 1 << 27] as [UInt32] {
            var stream = E0(key: row.little(0), central: row.address(1), clock: UInt32(row.little(2)) << 1 | clock)
            #expect((0..<row.expected.count).map { _ in stream.next() } == row.expected)
        }
    }

    @Test func whatIsEncryptedTwiceIsClear() {
        let clear: [UInt8] = Array(0...200)
        var text = clear
        for expected in [false, true] {
            var stream = E0(key: 0x0123_4567_89AB_CDEF, central: 0x1122_3344_5566, clock: 0x0123_4560)
            stream.apply(to: &text)
            #expect((text == clear) == expected)
        }
    }

    /// Both devices of a pairing with the PIN "0000", and the encryption that follows.
    @Test func legacyPairingFromEndToEnd() throws {
        func number(_ text: String) -> UInt128 { UInt128(littleEndianOctets: octets(text)) }
        let (a, b): (BDADDR, BDADDR) = (0x1122_3344_5566, 0xAABB_CCDD_EEFF)
        let initial = try #require(
            AuthenticationFunctions.e22(rand: number("102132435465768798a9bacbdcedfe0f"), pin: octets("30303030"), address: b))
        #expect(initial == number("e371598797ac0210037e33aafd392818"))
        let (first, second) = (number("00112233445566778899aabbccddeeff"), number("f0e1d2c3b4a5968778695a4b3c2d1e0f"))
        #expect(first ^ initial == number("e3607bb4d3f964678be7991131e4c6e7"))
        let key = AuthenticationFunctions.e21(rand: first, address: a) ^ AuthenticationFunctions.e21(rand: second, address: b)
        #expect(key == number("6408ca6ad855b911cd3feea52b123ae4"))
        let response = AuthenticationFunctions.e1(key: key, rand: number("a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"), claimant: a)
        #expect(response.sres == 0x4D8F_4361)
        let encryption = AuthenticationFunctions.e3(key: key, rand: number("5f4e3d2c1b0a99887766554433221100"), cof: response.aco)
        let reduced = try #require(EncryptionKeyLength.reduced(encryption, octets: 7))
        #expect(reduced == number("cdc4eadef654dcd77486123b7b252b41"))
        var stream = E0(key: reduced, central: a, clock: UInt32(number("28d1a402")) << 1)
        #expect((0..<16).map { _ in stream.next() } == octets("da56e3a50334e2f54410dfac25dec915"))
    }
}
