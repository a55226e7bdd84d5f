import BBBenchTesting
import BBBluetoothCrypto
import BBPackets
import Testing

/// The sample data of Core Vol 2, Part G for P-192, Secure Simple Pairing and secure authentication. The most significant octet is first.
@Suite struct SimplePairingSampleDataTests {
    static let n1: UInt128 = 0xd5cb_8454_d177_733e_ffff_b2ec_712b_aeab
    static let n2: UInt128 = 0xa6e8_e7cc_25a7_5f6e_2165_83f7_ff3d_c4cf
    static let r: UInt128 = 0x12a3_343b_b453_bb54_08da_42d2_0c2d_0fc8
    static let (a1, a2): (BDADDR, BDADDR) = (0x5612_3737_bfce, 0xa713_702d_cfc1)

    static func narrow(_ text: String) throws -> UInt192 { try #require(UInt192(octets: octets(text))) }
    static func wide(_ text: String) throws -> UInt256 { try #require(UInt256(octets: octets(text))) }
    static func narrowW() throws -> UInt192 { try narrow("fb3ba2012c7e62466e486e229290175b4afebc13fdccee46") }
    static func wideW() throws -> UInt256 { try wide("ec0234a357c8ad05341010a60a397d9b99796b13b4f866f1868d34f373bfa698") }

    /// Private keys of A and B, public key of A, public key of B, DHKey.
    static let agreements = SampleRow.rows(
        columns: 7,
        """
        07915f86918ddc27005df1d6cf0c142b625ed2eff4a518ff 1e636ca790b50f68f15d8dbe86244e309211d635de00e16d
          15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed b09d42b81bc5bd009f79e4b59dbbaa857fca856fb9f7ea25
          356b31938421fbbf2fb331c89fd588a69367e9a833f56812 7a216af0d4b6bcb5faaa5f5b93b69f0ca60b2e13b80ca944
          fb3ba2012c7e62466e486e229290175b4afebc13fdccee46
        52ec1ca6e0ec973c29065c3ca10be80057243002f09bb43e 57231203533e9efe18cc622fd0e34c6a29c6e0fa3ab3bc53
          45571f027e0d690795d61560804da5de789a48f94ab4b07e 0220016e8a6bce74b45ffec1e664aaa0273b7cbd907a8e2b
          ca2d82196fed362c3232563de1f30639aa8c688dd87ee758 1de0d634a0dabab988f5126459a9e5283df1b25c578cb960
          a20a34b5497332aa7a76ab135cc0c168333be309d463c0c0
        00a0df08eaf51e6e7be519d67c6749ea3f4517cdd2e9e821 2bf5e0d1699d50ca5025e8e2d9b13244b4d322a328be1821
          2ed35b430fa45f9d329186d754eeeb0495f0f653127f613d 27e08db74e424395052ddae7e3d5a8fecb52a8039b735b73
          4e226136cd5fe652ca21eb8cdbad400ac97f523c433ef51c 805d76a49dbb5268ff796216c017429a34f182f34b21784d
          3b3986ba70790762f282a12a6d3bcae7a2ca01e25b87724e
        030a4af66e1a4d590a83e0284fca5cdf83292b84f4c71168 12448b5c69ecd10c0471060f2bf86345c5e83c03d16bae2c
          f24a6899218fa912e7e4a8ba9357cb8182958f9fa42c968c 7c0b8a9ebe6ea92e968c3a65f9f1a9716fe826ad88c97032
          aaadc6e24117c9f413fcfadc8005acd5edc32b2a6dceffdf dec9ae5bdf242f4358bd0b03a8fb5fe04fa494faf0943777
          4a78f83fba757c35f94abea43e92effdd2bc700723c61939
        604df406c649cb460be16244589a40895c0db7367dc11a2f 526c2327303cd505b9cf0c012471902bb9e842ce32b0addc
          cbe3c629aceb41b73d475a79fbfe8c08cdc80ceec00ee7c9 f9f70f7ae42abda4f33af56f7f6aa383354e453fa1a2bd18
          9de6050caa714271a22c88ee2aa1fe33939670dc958a542d e91cd8bec3c00983643f08369389600e831fcad58735c4f2
          64d4fe35567e6ea0ca31f947e1533a635436d4870ce88c45
        1a2c582a09852979eb2cee18fb0befb9a55a6d06f6a8fad3 243778916920d68df535955bc1a3cccd5811133a8205ae41
          eca2d8d30bbef3ba8b7d591fdb98064a6c7b870cdcebe67c 2e4163a44f3ae26e70dae86f1bf786e1a5db5562a8ed9fee
          4a1a7ddacd23171cfed923cdfa7e93daabc93eb544b74afd 524bb1f8d2307766e7c3e97b4d6daa20451e51ca58a48b6c
          6433b36a7e9341940e78a63e31b3cf023282f7f1e3bf83bd
        0f494dd08b493edb07228058a9f30797ff147a5a2adef9b3 2da4cd46d9e06e81b1542503f2da89372e927877becec1be
          9f56a8aa27346d66652a546abacc7d69c17fd66e0853989f d7234c1464882250df7bbe67e0fa22aae475dc58af0c4210
          7a3a91c5534a9602d4bbba74d23c1717834e49cedeeb0a09 73b5c26db8625615bd06123852f8749863ed628abab07090
          c67beda9baf3c96a30616bf87a7d0ae704bc969e5cad354b
        7381d2bc6ddecb65126564cb1af6ca1985d19fb57f0fff16 18e276beff75adc3d520badb3806822e1c820f1064447848
          61c7f3c6f9e09f41423dce889de1973d346f2505a5a3b19b 919972ff4cd6aed8a4821e3adc358b41f7be07ede20137df
          c6d35b83a73a48c460fc10e2085ac5933bc071b122c9c151 53e8382a20fa1c118cc21b21515ea7a785f53f53e075d273
          6931496eef2fcfb03e0b1eef515dd4e1b0115b8b241b0b84
        41c7b484ddc37ef6b7952c379f87593789dac6e4f3d8d8e6 33e4eaa77f78216e0e99a9b200f81d2ca20dc74ad62d9b78
          9f09c773adb8e7b66b5d986cd15b143341a66d824113c15f d2000a91738217ab8070a76c5f96c03de317dfab774f4837
          f076fc3eb34b1c561cc91a03457ea1683f2ef60885949b5e 7456bf998aff940ae04f28b6c67ddb5b5efc5822eb49c76f
          a518f3826bb5fa3d5bc37da4217296d5b6af51e5445c6625
        703cf5ee9c075f7726d0bb36d131c664f5534a6e6305d631 757291c620a0e7e9dd13ce09ceb729c0ce1980e64d569b5f
          fa2b96d382cf894aeeb0bd985f3891e655a6315cd5060d03 f7e8206d05c7255300cc56c88448158c497f2df596add7a2
          4e9cf121e89e4f956345b0b19fd271166371a36777637032 9e6827518cbbf494e9403f1c58843bfb59d72dd293a28a6f
          12a3343bb453bb5408da42d20c2d0fcc18ff078f56d9c68c
        """)

    @Test(arguments: agreements) func keyAgreement(_ row: SampleRow) throws {
        let (a, b) = (try P192KeyPair(privateKey: row.narrow(0)), try P192KeyPair(privateKey: row.narrow(1)))
        #expect(a.publicKey == P192PublicKey(x: try row.narrow(2), y: try row.narrow(3)))
        #expect(b.publicKey == P192PublicKey(x: try row.narrow(4), y: try row.narrow(5)))
        #expect(try a.sharedSecret(with: b.publicKey).octets == row.expected)
        #expect(try b.pairingSecret(with: a.publicKey, acceptsDebugKey: true).octets == row.expected)
        var wrong = b.publicKey
        wrong.y.low ^= 1
        #expect(throws: CurveError.pointNotOnCurve) { try a.sharedSecret(with: wrong) }
    }

    @Test func keysThatAreRefused() throws {
        let (zero, most) = (UInt192(high: 0, low: 0), UInt192(high: .max, low: .max))
        let order = try Self.narrow("ffffffffffffffffffffffff99def836146bc9b1b4d22831")
        for number in [zero, order, most] { #expect(throws: CurveError.privateKeyOutOfRange) { try P192KeyPair(privateKey: number) } }
        let (mine, debug) = (try P192KeyPair(privateKey: Self.narrowW()), try P192KeyPair.debug())
        #expect(debug.publicKey.isDebugKey && !mine.publicKey.isDebugKey)
        for point in [P192PublicKey(x: zero, y: zero), P192PublicKey(x: most, y: most)] {
            #expect(throws: CurveError.pointNotOnCurve) { try mine.pairingSecret(with: point, acceptsDebugKey: true) }
        }
        #expect(throws: CurveError.debugKey) { try mine.pairingSecret(with: debug.publicKey) }
        #expect(throws: CurveError.ownKey) { try mine.pairingSecret(with: mine.publicKey, acceptsDebugKey: true) }
        #expect(try debug.pairingSecret(with: debug.publicKey, acceptsDebugKey: true) == debug.sharedSecret(with: debug.publicKey))
    }

    /// The largest private key is the negative of the smallest.
    @Test func theEndsOfTheRange() throws {
        let least = try P192KeyPair(privateKey: UInt192(high: 0, low: 1)).publicKey
        let greatest = try P192KeyPair(privateKey: Self.narrow("ffffffffffffffffffffffff99def836146bc9b1b4d22830")).publicKey
        #expect(least.x == greatest.x && least.y != greatest.y)
    }

    /// U, V, Z, f1 with the nonce N1.
    static let commitments = SampleRow.rows(
        columns: 4,
        """
        15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 356b31938421fbbf2fb331c89fd588a69367e9a833f56812 00
          1bdc955a9d542ffc9f9e670cdf665010
        15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 356b31938421fbbf2fb331c89fd588a69367e9a833f56812 80
          611325ebcb6e5269b868113306095fa6
        15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 356b31938421fbbf2fb331c89fd588a69367e9a833f56812 81
          b68df39fd8a406b06a6c517d3666cf91
        356b31938421fbbf2fb331c89fd588a69367e9a833f56812 15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 00
          f4e1ec4b88f305e81477627b1643a927
        356b31938421fbbf2fb331c89fd588a69367e9a833f56812 15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 80
          ac6aa7cfa96ae99dd3a74225adb068ae
        356b31938421fbbf2fb331c89fd588a69367e9a833f56812 15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 81
          5ad4721258aa1fa06082edad980d0cc5
        15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 00
          49125fc1e8cdc615826c15e5d23ede41
        15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 80
          ab651e8f0fbe8bff184e7c1010fe7281
        15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 15207009984421a6586f9fc3fe7e4329d2809ea51125f8ed 81
          c13c49d8464d8cf9bc9738681a2e4105
        356b31938421fbbf2fb331c89fd588a69367e9a833f56812 356b31938421fbbf2fb331c89fd588a69367e9a833f56812 00
          ba1aacf0b33b7fea213e1efa45131121
        356b31938421fbbf2fb331c89fd588a69367e9a833f56812 356b31938421fbbf2fb331c89fd588a69367e9a833f56812 80
          159f204c520565175c2b9c523acad2eb
        356b31938421fbbf2fb331c89fd588a69367e9a833f56812 356b31938421fbbf2fb331c89fd588a69367e9a833f56812 81
          9a162ff9a8235e5b12539ba0ff9179da
        """)

    @Test(arguments: commitments) func f1(_ row: SampleRow) throws {
        #expect(SimplePairing.f1(u: try row.narrow(0), v: try row.narrow(1), x: Self.n1, z: row.octets[2][0]).octets == row.expected)
    }

    /// The same on P-256.
    static let wideCommitments = SampleRow.rows(
        columns: 4,
        """
        20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6
          55188b3d32f6bb9a900afcfbeed4e72a59cb9ac2f19d7cfb6b4fdd49f47fc5fd 00 d301ce92cc7b9e3f51d2924b8b33faca
        20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6
          55188b3d32f6bb9a900afcfbeed4e72a59cb9ac2f19d7cfb6b4fdd49f47fc5fd 80 7e431112c10de8a3984c8ac8149ff6ec
        20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6
          55188b3d32f6bb9a900afcfbeed4e72a59cb9ac2f19d7cfb6b4fdd49f47fc5fd 81 38102c1c2afb4a464d9ae9877ba679ce
        """)

    @Test(arguments: wideCommitments) func f1OnP256(_ row: SampleRow) throws {
        #expect(SimplePairing.f1(u: try row.wide(0), v: try row.wide(1), x: Self.n1, z: row.octets[2][0]).octets == row.expected)
    }

    /// Two controllers on the air: X of the initiator and the responder, the responder's nonce and its commitment, each as sent, least
    /// significant octet first.
    @Test func recordedCommitment() throws {
        let initiator = octets("12d0f714b8f40e195c1dec57b755b6e2e1e6c4908ef2718266a8b5945a48a41a")
        let responder = octets("54380c3fc93dbb1910d73f1a2fd03529631cafabf0f7169c0118dd18a9f3c7b1")
        let (u, v) = (UInt256(octets: responder.reversed()), UInt256(octets: initiator.reversed()))
        let nonce = UInt128(littleEndianOctets: octets("efde65e5372936e1c3abca91837f948a"))
        let commitment = SimplePairing.f1(u: try #require(u), v: try #require(v), x: nonce, z: 0)
        #expect(commitment.littleEndianOctets == octets("b84a9bea11113288b0a9a34222a615d9"))
    }

    @Test func g() throws {
        let row = try #require(Self.commitments.first)
        let value = SimplePairing.g(u: try row.narrow(0), v: try row.narrow(1), x: Self.n1, y: Self.n2)
        #expect(value == 0x5214_6a1e && value % 1_000_000 == 69_598)
        let wideRow = try #require(Self.wideCommitments.first)
        let wide = SimplePairing.g(u: try wideRow.wide(0), v: try wideRow.wide(1), x: Self.n1, y: Self.n2)
        #expect(wide == 0x5fda_62e0 && wide % 1_000_000 == 0x0002_40e0)
    }

    @Test func f2() throws {
        let key = SimplePairing.f2(w: try Self.narrowW(), n1: Self.n1, n2: Self.n2, a1: Self.a1, a2: Self.a2)
        #expect(key == 0xc234_c119_8f3b_5201_86ab_92a2_f874_934e)
        let wide = SimplePairing.f2(w: try Self.wideW(), n1: Self.n1, n2: Self.n2, a1: Self.a1, a2: Self.a2)
        #expect(wide == 0x4730_0bb9_5c74_0412_9450_674b_1741_104d)
    }

    /// AuthReq, OOB flag and IO capability, and the check value of A; then those of B, and of A on P-256.
    static let checks = SampleRow.rows(
        columns: 2,
        """
        000000 5e6a346b8add7ee80e7ec0c2461b1509
        000001 7840e5445a13e3ce6e48a2decbe51482
        000002 da9afb5c6c9dbe0af4722b532520c4b3
        000003 2c0f220c50075285852e01bcee4b5f90
        000100 0a096af0fa61dce0933987febe95fc7d
        000101 49b8d74007888e770e1a49d6810069b9
        000102 309cd0327dec2514894a0c88b101a436
        000103 4512274ba875b156c2187e2061b90434
        010000 4bf22677415ed90aceb21873c71c1884
        010001 0d4b97992eb570efb369cfe45e1681b5
        """)
    static let checksOfTheOther = SampleRow.rows(
        columns: 2,
        """
        000000 8d56dc59e70855f563b5e85e42d5964e
        000001 c92fdacbf0ce931e9c4087a9dfb7bc0b
        000002 52ac910200dc34285bbbf2144883c498
        000003 c419d677e0d426e6bb36de5fa54c5041
        000100 fb0e1f9f7c623c1bf2675fcff1551137
        000101 16c7be68184f1170fbbb2bef5a9c515d
        000102 24849f33d3ac05fef9034c18d9adb310
        000103 e0f484bb0b071483285903e85094046b
        """)
    static let wideChecks = SampleRow.rows(
        columns: 2,
        """
        000000 5634c83c9996a86b53473fe25979ec90
        010103 9e6ab2067b717265da7cfeea37172260
        010203 beaf85859e38b56c7ffcb1ca4ae1ad4e
        """)

    @Test(arguments: checks) func f3(_ row: SampleRow) throws {
        let (a1, a2) = (Self.a1, Self.a2)
        let check = SimplePairing.f3(w: try Self.narrowW(), n1: Self.n1, n2: Self.n2, r: Self.r, ioCap: row.octets[0], a1: a1, a2: a2)
        #expect(check.octets == row.expected)
    }

    @Test(arguments: checksOfTheOther) func f3OfTheOther(_ row: SampleRow) throws {
        let (a1, a2) = (Self.a2, Self.a1)
        let check = SimplePairing.f3(w: try Self.narrowW(), n1: Self.n2, n2: Self.n1, r: Self.r, ioCap: row.octets[0], a1: a1, a2: a2)
        #expect(check.octets == row.expected)
    }

    @Test(arguments: wideChecks) func f3OnP256(_ row: SampleRow) throws {
        let (a1, a2) = (Self.a1, Self.a2)
        let check = SimplePairing.f3(w: try Self.wideW(), n1: Self.n1, n2: Self.n2, r: Self.r, ioCap: row.octets[0], a1: a1, a2: a2)
        #expect(check.octets == row.expected)
    }

    /// Link key, device authentication key, SRES of central and peripheral, ACO, encryption key.
    static let secureAuthentication = SampleRow.rows(
        columns: 6,
        """
        c234c1198f3b520186ab92a2f874934e b089c4e39d7c192c3aba3c2109d24c0d 746af87e 1eeb1137 c683b97d9d421f91
          677b377f74a5d501121c46492d4cb489
        47300bb95c7404129450674b1741104d e41a7958c41c9434f514530d8ca32e58 ce3c54f6 e3e8ba62 6e06e57f800816fc
          cd3010c956ecf37ceea4cf7ed33eca24
        """)

    @Test(arguments: secureAuthentication) func h4h5h3(_ row: SampleRow) {
        let key = SimplePairing.h4(t: row.big(0), a1: Self.a1, a2: Self.a2)
        #expect(key.octets == row.octets[1])
        let answers = SimplePairing.h5(s: key, r1: Self.n1, r2: Self.n2)
        #expect(UInt128(answers.sresCentral) == row.big(2) && UInt128(answers.sresPeripheral) == row.big(3))
        #expect(UInt128(answers.aco) == row.big(4))
        #expect(SimplePairing.h3(t: row.big(0), a1: Self.a1, a2: Self.a2, aco: answers.aco).octets == row.expected)
    }
}
