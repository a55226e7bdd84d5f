import BBBenchTesting
import BBBluetoothCrypto
import BBPackets
import Testing

/// Sample data of the specification and of RFC 4493. A row: name, computed number, printed number; octets are compared as numbers.
@Suite struct SampleDataTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let computed: @Sendable () throws -> [UInt8]
        let printed: String
        var testDescription: String { name }

        init(_ name: String, _ printed: String, _ computed: @escaping @Sendable () throws -> [UInt8]) {
            (self.name, self.printed, self.computed) = (name, printed, computed)
        }

        init(_ name: String, _ printed: String, _ computed: @escaping @Sendable () throws -> UInt128) {
            self.init(name, printed) { try computed().octets }
        }
    }

    static func wide(_ text: String) -> UInt256 { UInt256(octets: octets(text)) ?? UInt256(high: 0, low: 0) }

    static let u = wide("20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6")
    static let v = wide("55188b3d32f6bb9a900afcfbeed4e72a59cb9ac2f19d7cfb6b4fdd49f47fc5fd")
    static let w = wide("ec0234a357c8ad05341010a60a397d9b99796b13b4f866f1868d34f373bfa698")
    static let n1: UInt128 = 0xd5cb_8454_d177_733e_ffff_b2ec_712b_aeab
    static let n2: UInt128 = 0xa6e8_e7cc_25a7_5f6e_2165_83f7_ff3d_c4cf
    static let a1 = DeviceAddress(value: 0x5612_3737_bfce)
    static let a2 = DeviceAddress(value: 0xa713_702d_cfc1)
    static let key: UInt128 = 0xec02_34a3_57c8_ad05_3410_10a6_0a39_7d9b
    static let ltk: UInt128 = 0x368d_f9bc_e326_4b58_bd06_6c33_334f_bf64
    static let linkKey: UInt128 = 0x0504_0302_0100_0908_0706_0504_0302_0100
    static let cmacKey: UInt128 = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c
    static let cmacText = octets(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
    static var cipher: LinkCipher { LinkCipher(sessionKey: 0x99AD_1B52_26A3_7E3E_058E_3B8E_27C2_C666, iv: octets("24ABDCBABEBAAFDE")) }
    static let database = octets(
        """
        01000028001802000328 0A0300002A04000328020500012A0600002801180700032820080005 2A0900 02290A0003280A0B00292B0C000328020D002A2B0E0000280818
        0F000228140016000F1810000328A211 00182A12000229130000290000140001280F18150003280216 00192A
        """)

    static let toolbox: [Sample] = [
        Sample("c1", "1E1E3FEF878988EAD2A74DC5BEF13B86") {
            SecurityToolbox.c1(
                k: 0, r: 0x5783_D521_56AD_6F0E_6388_274E_C670_2EE0, request: octets("07071000000101").reversed(),
                response: octets("05000800000302").reversed(), initiator: DeviceAddress(value: 0xA1A2_A3A4_A5A6, kind: .random),
                responder: DeviceAddress(value: 0xB1B2_B3B4_B5B6))
        },
        Sample("s1", "9A1FE1F0E8B0F49B5B4216AE796DA062") {
            SecurityToolbox.s1(k: 0, r1: 0x000F_0E0D_0C0B_0A09_1122_3344_5566_7788, r2: 0x0102_0304_0506_0708_99AA_BBCC_DDEE_FF00)
        },
        Sample("f4", "f2c916f107a9bd1cf1eda1bea974872d") { SecurityToolbox.f4(u: u, v: v, x: n1, z: 0) },
        Sample("f5 MacKey", "2965f176a1084a02fd3f6a20ce636e20") { SecurityToolbox.f5(w: w, n1: n1, n2: n2, a1: a1, a2: a2).macKey },
        Sample("f5 LTK", "6986791169d7cd23980522b594750a38") { SecurityToolbox.f5(w: w, n1: n1, n2: n2, a1: a1, a2: a2).ltk },
        Sample("f6", "e3c473989cd0e8c5d26c0b09da958f61") {
            SecurityToolbox.f6(
                w: 0x2965_f176_a108_4a02_fd3f_6a20_ce63_6e20, n1: n1, n2: n2, r: 0x12a3_343b_b453_bb54_08da_42d2_0c2d_0fc8,
                ioCap: [1, 1, 2], a1: a1, a2: a2)
        },
        Sample("g2", "2f9ed5ba") { bigEndian(SecurityToolbox.g2(u: u, v: v, x: n1, y: n2)) },
        Sample("h6", "2d9ae102e76dc91ce8d3a9e280b16399") { SecurityToolbox.h6(w: key, keyID: 0x6c65_6272) },
        Sample("h7", "fb173597c6a3c0ecd2998c2a75a57011") { SecurityToolbox.h7(salt: 0x746D_7031, w: key) },
        Sample("h8", "e5e5bebaae7228e722a38904ed350f6d") {
            SecurityToolbox.h8(k: key, s: 0x1536_d18d_e3d2_0df9_9b70_44c1_2f9e_d5ba, keyID: 0xcc03_0148)
        },
        Sample("ah", "000dfbaa") { bigEndian(SecurityToolbox.ah(irk: key, prand: 0x70_8194)) },
        Sample("RPA", "7081940DFBAA") { DeviceAddress.resolvable(irk: key, prand: 0x70_8194).octets.reversed() },
        Sample("link key of LTK, h6", "bc1ca4ef633fc1bd0d8230afee388fb0") { KeyDerivation.linkKey(fromLTK: ltk, h7: false) },
        Sample("link key of LTK, h7", "287ad379dca402530a39f1f43047b835") { KeyDerivation.linkKey(fromLTK: ltk, h7: true) },
        Sample("LTK of link key, h6", "a813fb72f1a3dfa18a2c9a43f10d0a30") { KeyDerivation.ltk(fromLinkKey: linkKey, h7: false) },
        Sample("LTK of link key, h7", "e85e09eb5eccb3e269418a133211bc79") { KeyDerivation.ltk(fromLinkKey: linkKey, h7: true) },
    ]

    /// Core Vol 6, Part E, 3: for the Broadcast_Code "Børne House".
    private static let isochronousKey = SecurityToolbox.h7(salt: 0x4249_4731, w: 0x0000_0000_6573_756f_4820_656e_72b8_c342)
    private static let groupKey = SecurityToolbox.h6(w: isochronousKey, keyID: 0x4249_4732)
    /// Coordinated Set Identification Service 1.0, 4.5 and 4.7: k1 and s1 are CMACs.
    private static let setIdentityKey: UInt128 = 0x457d_7d09_21a1_fd22_cecd_8c86_dd72_cccd
    private static let setKey: UInt128 = {
        let salt = AESKey(0).cmac([UInt8]("SIRKenc".utf8))
        return AESKey(AESKey(salt).cmac((0x676e_1b9b_d448_696f_061e_c622_3ce5_ced9 as UInt128).octets)).cmac([UInt8]("csis".utf8))
    }()

    static let hashes: [Sample] = [
        Sample("CMAC 0", "bb1d6929e95937287fa37d129b756746") { AESKey(cmacKey).cmac([]) },
        Sample("CMAC 16", "070a16b46b4d4144f79bdd9dd04a287c") { AESKey(cmacKey).cmac([UInt8](cmacText.prefix(16))) },
        Sample("CMAC 40", "dfa66747de9ae63030ca32611497c827") { AESKey(cmacKey).cmac([UInt8](cmacText.prefix(40))) },
        Sample("CMAC 64", "51f0bebf7e3b9d92fc49741779363cfe") { AESKey(cmacKey).cmac(cmacText) },
        Sample("signed write", "01000000F1871E933C900FF2") {
            AttributeHashes.signature(
                csrk: UInt128(littleEndianOctets: octets("505E42DF9691EC72D31FCDFBEB641B61")), message: octets("d212001337"), counter: 1)
        },
        Sample("Database Hash", "F1CA2D48ECF58BAC8A8830BBB9FBA990") { AttributeHashes.databaseHash(database) },
        Sample("session key", "99AD1B5226A37E3E058E3B8E27C2C666") {
            AESKey(0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF).encrypt(0x0213_2435_4657_6879_ACBD_CEDF_E0F1_0213)
        },
        Sample("IGLTK", "4c0dd74c2b19aa95d89823855f1001b8") { isochronousKey },
        Sample("GLTK", "c4cd4b8349b5a18a02de66209017aed3") { groupKey },
        Sample("GSK", "be2a16fc7ac464e752301bccc818812c") {
            SecurityToolbox.h8(k: groupKey, s: 0x5518_8b3d_32f6_bb9a_900a_fcfb_eed4_e72a, keyID: 0x4249_4733)
        },
        Sample("sef of CSIS", "170a3835e13524a07e2562d5f25fd346") { setKey ^ setIdentityKey },
        Sample("sih of CSIS", "001948da") { bigEndian(SecurityToolbox.ah(irk: setIdentityKey, prand: 0x69_f563)) },
    ]

    private static func secondA() throws -> P256KeyPair {
        try P256KeyPair(privateKey: wide("06a516693c9aa31a6084545d0c5db641b48572b97203ddffb7ac73f7d0457663"))
    }
    private static func secondB() throws -> P256KeyPair {
        try P256KeyPair(privateKey: wide("529aa0670d72cd6497502ed473502b037e8803b5c60829a5a3caa219505530ba"))
    }

    static let curve: [Sample] = [
        Sample("debug key x", "20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6") {
            try P256KeyPair.debug().publicKey.x.octets
        },
        Sample("debug key y", "dc809c49652aeb6d63329abf5a52155c766345c28fed3024741c8ed01589d28b") {
            try P256KeyPair.debug().publicKey.y.octets
        },
        Sample("set 1 DHKey", "ec0234a357c8ad05341010a60a397d9b99796b13b4f866f1868d34f373bfa698") {
            try P256KeyPair.debug().sharedSecret(with: P256KeyPair(privateKey: v).publicKey).octets
        },
        Sample("set 1 public B", "1ea1f0f01faf1d9609592284f19e4c0047b58afd8615a69f559077b22faaa190") {
            try P256KeyPair(privateKey: v).publicKey.x.octets
        },
        Sample("set 1 public B, y", "4c55f33e429dad377356703a9ab85160472d1130e28e36765f89aff915b1214a") {
            try P256KeyPair(privateKey: v).publicKey.y.octets
        },
        Sample("set 1 DHKey from the other side", "ec0234a357c8ad05341010a60a397d9b99796b13b4f866f1868d34f373bfa698") {
            try P256KeyPair(privateKey: v).sharedSecret(with: P256KeyPair.debug().publicKey).octets
        },
        Sample("set 2 public A, x", "2c31a47b5779809ef44cb5eaaf5c3e43d5f8faad4a8794cb987e9b03745c78dd") {
            try secondA().publicKey.x.octets
        },
        Sample("set 2 public A, y", "919512183898dfbecd52e2408e43871fd021109117bd3ed4eaf8437743715d4f") {
            try secondA().publicKey.y.octets
        },
        Sample("set 2 public B, x", "f465e43ff23d3f1b9dc7dfc04da8758184dbc966204796eccf0d6cf5e16500cc") {
            try secondB().publicKey.x.octets
        },
        Sample("set 2 public B, y", "0201d048bcbbd899eeefc424164e33c201c2b010ca6b4d43a8a155cad8ecb279") {
            try secondB().publicKey.y.octets
        },
        Sample("set 2 DHKey from the other side", "ab85843a2f6d883f62e5684b38e307335fe6e1945ecd19604105c6f23221eb69") {
            try secondA().sharedSecret(with: secondB().publicKey).octets
        },
        Sample("set 2 DHKey", "ab85843a2f6d883f62e5684b38e307335fe6e1945ecd19604105c6f23221eb69") {
            try secondB().sharedSecret(with: secondA().publicKey).octets
        },
    ]

    static let air: [Sample] = [
        Sample("LL_START_ENC_RSP1", "9FCDA7F448") { cipher.seal([6], counter: 0, fromCentral: true, header: 0x0F) },
        Sample("LL_START_ENC_RSP2", "A34C13A415") { cipher.seal([6], counter: 0, fromCentral: false, header: 0x07) },
        Sample("LL_DATA1", "7A70D66415226DF26B17839A060405596BD6564F796B5B9CE6FF32F75A6D33") {
            cipher.seal(
                octets("1700636465666768696A6B6C6D6E6F707131323334353637383930"), counter: 1, fromCentral: true, header: 0x0E)
        },
        Sample("LL_DATA2", "F38881E7BD94C9C369B9A66846DD4786AA8C39CE540D0DAE3ADCDF89B96088") {
            cipher.seal(
                octets("17003736353433323130 4142434445464748494A4B4C4D4E4F5051"), counter: 1, fromCentral: false, header: 0x06)
        },
    ]

    private static func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) } }

    @Test(arguments: toolbox + hashes + curve + air) func sample(_ sample: Sample) throws {
        #expect(try sample.computed() == octets(sample.printed))
    }

    @Test func aDamagedPacketDoesNotOpen() {
        let cipher = Self.cipher
        let sealed = cipher.seal([1, 2, 3], counter: 9, fromCentral: true, header: 2)
        #expect(cipher.open(sealed, counter: 9, fromCentral: true, header: 0x1E) == [1, 2, 3])
        #expect(cipher.open(sealed, counter: 10, fromCentral: true, header: 2) == nil)
        #expect(cipher.open(sealed, counter: 9, fromCentral: false, header: 2) == nil)
        #expect(cipher.open(sealed, counter: 9, fromCentral: true, header: 3) == nil)
        #expect(cipher.open([1, 2, 3], counter: 9, fromCentral: true, header: 2) == nil)
        for bit in 0..<sealed.count * 8 {
            var damaged = sealed
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(cipher.open(damaged, counter: 9, fromCentral: true, header: 2) == nil)
        }
        #expect(cipher.open(sealed, counter: 9, fromCentral: true, header: 2) == [1, 2, 3], "the cipher is usable after a failure")
    }

    @Test(arguments: [0, 1, 15, 16, 17, 251]) func aPayloadOfEachLengthOpensAgain(_ length: Int) {
        let cipher = Self.cipher
        let payload = (0..<length).map { UInt8($0) }
        let sealed = cipher.seal(payload, counter: 0x7F_FFFF_FFFF, fromCentral: true, header: 2)
        #expect(sealed.count == length + LinkCipher.micLength)
        #expect(cipher.open(sealed, counter: 0x7F_FFFF_FFFF, fromCentral: true, header: 2) == payload)
        var stream = payload
        cipher.apply(to: &stream, counter: 0x7F_FFFF_FFFF, fromCentral: true)
        #expect(stream == sealed.dropLast(LinkCipher.micLength))
        cipher.apply(to: &stream, counter: 0x7F_FFFF_FFFF, fromCentral: true)
        #expect(stream == payload)
    }

    @Test func aPointOffTheCurveIsRefused() throws {
        let mine = try P256KeyPair.debug()
        var point = try P256KeyPair(privateKey: Self.v).publicKey
        point.y.low ^= 1
        #expect(throws: CurveError.pointNotOnCurve) { try mine.sharedSecret(with: point) }
        point.y = UInt256(high: 0, low: 0)
        #expect(throws: CurveError.pointNotOnCurve) { try mine.sharedSecret(with: point) }
        point = P256PublicKey(x: UInt256(high: .max, low: .max), y: point.y)
        #expect(throws: CurveError.pointNotOnCurve) { try mine.sharedSecret(with: point) }
        #expect(throws: CurveError.privateKeyOutOfRange) { try P256KeyPair(privateKey: UInt256(high: 0, low: 0)) }
        #expect(throws: CurveError.privateKeyOutOfRange) { try P256KeyPair(privateKey: UInt256(high: .max, low: .max)) }
        // The order of the base point, and the number before it.
        let order = Self.wide("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        #expect(throws: CurveError.privateKeyOutOfRange) { try P256KeyPair(privateKey: order) }
        let last = try P256KeyPair(privateKey: UInt256(high: order.high, low: order.low - 1)).publicKey
        #expect(last.x == Self.wide("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"), "the base point, mirrored")
    }

    /// Points that must not be accepted as a peer's key. Core Vol 3, Part H, 2.3.5.6.1.
    @Test func theOwnKeyAndTheDebugKeyAreRefusedForPairing() throws {
        let (mine, debug) = (try Self.secondA(), try P256KeyPair.debug())
        #expect(throws: CurveError.ownKey) { try mine.pairingSecret(with: mine.publicKey, acceptsDebugKey: true) }
        #expect(throws: CurveError.debugKey) { try mine.pairingSecret(with: debug.publicKey) }
        #expect(throws: CurveError.debugKey) { try debug.pairingSecret(with: debug.publicKey) }
        #expect(throws: CurveError.pointNotOnCurve) {
            try mine.pairingSecret(with: P256PublicKey(x: debug.publicKey.x, y: UInt256(high: 0, low: 0)), acceptsDebugKey: true)
        }
        #expect(try mine.pairingSecret(with: debug.publicKey, acceptsDebugKey: true) == debug.sharedSecret(with: mine.publicKey))
        #expect(try debug.pairingSecret(with: debug.publicKey, acceptsDebugKey: true) == debug.sharedSecret(with: debug.publicKey))
    }

    @Test func onlyTheRightKeyResolves() {
        let address = DeviceAddress.resolvable(irk: Self.key, prand: 0xFF_FFFF)
        #expect(address.value >> 46 == 1)
        #expect(address.resolves(with: Self.key))
        #expect(!address.resolves(with: Self.key ^ 1))
        #expect(!DeviceAddress(value: address.value, kind: .public).resolves(with: Self.key))
    }
}
