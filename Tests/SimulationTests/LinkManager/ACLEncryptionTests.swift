import BBBenchTesting
import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Encryption of a BR/EDR link from mode to key refresh, and attacks on it. Core Vol 2, Part C, 4.2.5; Part H, 3 and 4.
@Suite struct ACLEncryptionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isSecure = true
        var hasKeys = true
        /// True if the link is already encrypted.
        var isEncrypted = true
        var sizes: (central: ClosedRange<UInt8>, peripheral: ClosedRange<UInt8>) = (7...16, 7...16)
        var a: [String]
        var b: [String]
        var pdus: [String]
        /// Mode and key size of both devices at the end.
        var ends: (mode: ACLEncryptionMode, size: UInt8) = (.aesCCM, 16)
        var tamper: (@Sendable (LMP.Message) -> (any LMPPDU)?)?
        var act: @Sendable (LMPBench) -> Void
    }

    private static func start(_ side: String) -> [String] {
        let other = side == "A0" ? "B0" : "A1"
        let (central, peripheral) = side == "A0" ? ("A0", "B0") : ("A1", "B1")
        return [
            "\(side) encryptionModeReq", "\(other) +encryptionModeReq", "\(central) encryptionKeySizeReq",
            "\(peripheral) +encryptionKeySizeReq", "\(central) startEncryptionReq", "\(peripheral) +startEncryptionReq",
        ]
    }
    private static let encrypt: @Sendable (LMPBench) -> Void = { #expect($0.a.connection.setEncryption(isOn: true) == .success) }
    private static let refused = ["A0 encryptionModeReq", "B0 +encryptionModeReq", "A0 encryptionKeySizeReq"]

    private static let rows: [Row] = [
        Row(
            testDescription: "AES-CCM, asked for by the central", isEncrypted: false, a: ["encryption 2 00"], b: ["encryption 2 00"],
            pdus: start("A0"), act: encrypt),
        Row(
            testDescription: "AES-CCM, asked for by the peripheral", isEncrypted: false, a: ["encryption 2 00"], b: ["encryption 2 00"],
            pdus: start("B1"), act: { #expect($0.b.connection.setEncryption(isOn: true) == .success) }),
        Row(
            testDescription: "E0", isSecure: false, isEncrypted: false, a: ["encryption 1 00"], b: ["encryption 1 00"], pdus: start("A0"),
            ends: (.e0, 16), act: encrypt),
        Row(
            testDescription: "a peripheral with shorter keys", isSecure: false, isEncrypted: false, sizes: (7...16, 7...10),
            a: ["encryption 1 00"], b: ["encryption 1 00"],
            pdus: PairingTests.all(
                refused, ["B0 encryptionKeySizeReq", "A0 +encryptionKeySizeReq", "A0 startEncryptionReq", "B0 +startEncryptionReq"]),
            ends: (.e0, 10), act: encrypt),
        Row(
            testDescription: "a central with shorter keys", isSecure: false, isEncrypted: false, sizes: (7...9, 7...16),
            a: ["encryption 1 00"], b: ["encryption 1 00"], pdus: start("A0"), ends: (.e0, 9), act: encrypt),
        Row(
            testDescription: "no size suits both", isEncrypted: false, sizes: (7...9, 16...16), a: ["encryption 0 2F"],
            b: ["encryption 0 2F"], pdus: PairingTests.all(refused, ["B0 -encryptionKeySizeReq 20"]), ends: (.off, 0), act: encrypt),
        Row(
            testDescription: "a key of one octet is proposed (KNOB)", isSecure: false, isEncrypted: false, a: ["encryption 0 2F"],
            b: ["encryption 0 2F"], pdus: PairingTests.all(refused, ["B0 -encryptionKeySizeReq 20"]), ends: (.off, 0),
            tamper: { pdu in
                guard case .encryptionKeySizeReq = pdu else { return nil }
                return LMP.EncryptionKeySizeReq(keySize: 1)
            }, act: encrypt),
        Row(
            testDescription: "a key of one octet is answered (KNOB)", isSecure: false, isEncrypted: false, a: ["encryption 0 2F"],
            b: ["encryption 0 2F"], pdus: PairingTests.all(refused, ["B0 +encryptionKeySizeReq", "A0 -encryptionKeySizeReq 20"]),
            ends: (.off, 0),
            tamper: { pdu in
                guard case .accepted(let accepted) = pdu, UInt16(accepted.opcode.rawValue) == LMP.EncryptionKeySizeReq.opcode else {
                    return nil
                }
                return LMP.EncryptionKeySizeReq(keySize: 1)
            }, act: encrypt),
        Row(
            testDescription: "no key", hasKeys: false, isEncrypted: false, a: ["encryption 0 06"], b: [], pdus: [], ends: (.off, 0),
            act: encrypt),
        Row(
            testDescription: "a start without a size (KNOB)", isEncrypted: false, a: [], b: [],
            pdus: ["A0 startEncryptionReq", "B0 -startEncryptionReq 24"], ends: (.off, 0),
            act: { $0.inject(LMP.StartEncryptionReq(randomNumber: PairingTests.key).bytes(.central), from: $0.a) }),
        Row(
            testDescription: "E0 stops, asked for by the central", isSecure: false, a: ["encryption 0 00"], b: ["encryption 0 00"],
            pdus: ["A0 encryptionModeReq", "B0 +encryptionModeReq", "A0 stopEncryptionReq", "B0 +stopEncryptionReq"], ends: (.off, 0),
            act: { _ = $0.a.connection.setEncryption(isOn: false) }),
        Row(
            testDescription: "E0 stops, asked for by the peripheral", isSecure: false, a: ["encryption 0 00"], b: ["encryption 0 00"],
            pdus: ["B1 encryptionModeReq", "A1 +encryptionModeReq", "A1 stopEncryptionReq", "B1 +stopEncryptionReq"], ends: (.off, 0),
            act: { _ = $0.b.connection.setEncryption(isOn: false) }),
        Row(
            testDescription: "AES-CCM does not stop", a: ["encryption 2 25"], b: [], pdus: [],
            act: { _ = $0.a.connection.setEncryption(isOn: false) }),
        Row(
            testDescription: "both ask for encryption: the central's request is served", isEncrypted: false, a: ["encryption 2 00"],
            b: ["encryption 0 23", "encryption 2 00"],
            pdus: PairingTests.all(
                ["A0 encryptionModeReq", "B1 encryptionModeReq", "B0 +encryptionModeReq", "A1 -encryptionModeReq 23"],
                Array(start("A0").dropFirst(2))),
            act: {
                _ = $0.a.connection.setEncryption(isOn: true)
                _ = $0.b.connection.setEncryption(isOn: true)
            }),
        Row(
            testDescription: "E0 with a fresh key, wanted by the central", isSecure: false, a: ["refreshed 00"], b: ["refreshed 00"],
            pdus: [
                "A0 pauseEncryptionReq", "B0 pauseEncryptionReq", "A0 stopEncryptionReq", "B0 +stopEncryptionReq",
                "A0 startEncryptionReq", "B0 +startEncryptionReq",
            ], ends: (.e0, 16), act: { _ = $0.a.connection.refreshKey() }),
        Row(
            testDescription: "E0 with a fresh key, wanted by the peripheral", isSecure: false, a: ["refreshed 00"], b: ["refreshed 00"],
            pdus: [
                "B1 pauseEncryptionReq", "A1 stopEncryptionReq", "B1 +stopEncryptionReq", "B1 resumeEncryptionReq",
                "A1 startEncryptionReq", "B1 +startEncryptionReq",
            ], ends: (.e0, 16), act: { _ = $0.b.connection.refreshKey() }),
        Row(
            testDescription: "AES-CCM with a fresh session, wanted by the central", a: ["refreshed 00"], b: ["refreshed 00"],
            pdus: [
                "A0 pauseEncryptionAESReq", "B0 pauseEncryptionReq", "A0 stopEncryptionReq", "B0 +stopEncryptionReq",
                "A0 startEncryptionReq", "B0 +startEncryptionReq",
            ], act: { _ = $0.a.connection.refreshKey() }),
        Row(
            testDescription: "AES-CCM with a fresh session, wanted by the peripheral", a: ["refreshed 00"], b: ["refreshed 00"],
            pdus: [
                "B1 pauseEncryptionAESReq", "A1 stopEncryptionReq", "B1 +stopEncryptionReq", "B1 resumeEncryptionReq",
                "A1 startEncryptionReq", "B1 +startEncryptionReq",
            ], act: { _ = $0.b.connection.refreshKey() }),
        Row(
            testDescription: "a stale number in LMP_start_encryption_req does no harm to AES-CCM", a: ["refreshed 00"], b: ["refreshed 00"],
            pdus: [
                "A0 pauseEncryptionAESReq", "B0 pauseEncryptionReq", "A0 stopEncryptionReq", "B0 +stopEncryptionReq",
                "A0 startEncryptionReq", "B0 +startEncryptionReq",
            ],
            tamper: { pdu in
                guard case .startEncryptionReq = pdu else { return nil }
                return LMP.StartEncryptionReq(randomNumber: PairingTests.key)
            }, act: { _ = $0.a.connection.refreshKey() }),
        Row(
            testDescription: "SCO is refused on a link with AES-CCM", a: [], b: [], pdus: ["A0 scoLinkReq", "B0 -scoLinkReq 0E"],
            act: {
                $0.inject(
                    LMP.ScoLinkReq(scoHandle: 1, timingControlFlags: [], dSco: 0, tSco: 6, scoPacket: 2, airMode: 2).bytes(.central),
                    from: $0.a)
            }),
    ]

    private static let pausedByA = ["A0 pauseEncryptionAESReq", "B0 pauseEncryptionReq", "A0 stopEncryptionReq", "B0 +stopEncryptionReq"]
    private static let byA: @Sendable (LMPBench) -> Void = { #expect($0.a.connection.switchRole(to: .peripheral) == .success) }

    /// Encryption pauses for a role switch and continues in the new roles, or in the old ones if the switch fails. Core Vol 2, Part C,
    /// 4.4.2.
    private static let switching: [Row] = [
        Row(
            testDescription: "roles are switched, wanted by the central", a: ["peripheral 00", "refreshed 00"],
            b: ["central 00", "refreshed 00"],
            pdus: pausedByA + [
                "A0 switchReq", "B0 slotOffset", "B0 +switchReq", "A1 resumeEncryptionReq", "B1 startEncryptionReq",
                "A1 +startEncryptionReq", "B0 packetTypeTableReq", "A0 +packetTypeTableReq",
            ], act: byA),
        Row(
            testDescription: "roles are switched, wanted by the peripheral, on a link with E0", isSecure: false,
            a: ["peripheral 00", "refreshed 00"], b: ["central 00", "refreshed 00"],
            pdus: [
                "B1 pauseEncryptionReq", "A1 stopEncryptionReq", "B1 +stopEncryptionReq", "B1 slotOffset", "B1 switchReq", "A1 +switchReq",
                "B0 startEncryptionReq", "A0 +startEncryptionReq", "B0 packetTypeTableReq", "A0 +packetTypeTableReq",
            ], ends: (.e0, 16), act: { #expect($0.b.connection.switchRole(to: .central) == .success) }),
        Row(
            testDescription: "the switch of roles is refused", a: ["central 21", "refreshed 00"], b: ["refreshed 00"],
            pdus: pausedByA + ["A0 switchReq", "B0 -switchReq 21", "A0 startEncryptionReq", "B0 +startEncryptionReq"],
            act: {
                $0.b.linkManagerSettings.allowsRoleSwitch = false
                byA($0)
            }),
        Row(
            testDescription: "the switch of roles fails", a: ["central 35", "refreshed 00"], b: ["peripheral 35", "refreshed 00"],
            pdus: pausedByA + ["A0 switchReq", "B0 slotOffset", "B0 +switchReq", "A0 startEncryptionReq", "B0 +startEncryptionReq"],
            act: {
                for end in [$0.a, $0.b] { end.wire.switchesRoles = false }
                byA($0)
            }),
    ]

    /// A combination key replaces another. Core Vol 2, Part C, 4.2.3.
    private static let changing: [Row] = [
        Row(
            testDescription: "the link key changes", isSecure: false, isEncrypted: false, a: ["key 6", "changed 00"], b: ["key 6"],
            pdus: ["A0 combKey", "B0 combKey", "A0 auRand", "B0 sres", "B0 auRand", "A0 sres"], ends: (.off, 0),
            act: { #expect($0.a.connection.changeKey() == .success) }),
        Row(
            testDescription: "encryption takes up the changed key", isSecure: false, a: ["key 6", "refreshed 00"],
            b: ["key 6", "refreshed 00", "changed 00"],
            pdus: [
                "B1 combKey", "A1 combKey", "B1 auRand", "A1 sres", "A1 auRand", "B1 sres", "B1 pauseEncryptionReq", "A1 stopEncryptionReq",
                "B1 +stopEncryptionReq", "B1 resumeEncryptionReq", "A1 startEncryptionReq", "B1 +startEncryptionReq",
            ], ends: (.e0, 16), act: { #expect($0.b.connection.changeKey() == .success) }),
        Row(
            testDescription: "no key to change", isSecure: false, hasKeys: false, isEncrypted: false, a: ["changed 06"], b: [], pdus: [],
            ends: (.off, 0), act: { #expect($0.a.connection.changeKey() == .success) }),
        Row(
            testDescription: "a key of Secure Connections stays", isEncrypted: false, a: ["changed 26"], b: [], pdus: [], ends: (.off, 0),
            act: { #expect($0.a.connection.changeKey() == .success) }),
        Row(
            testDescription: "a change of a key that is not known", hasKeys: false, isEncrypted: false, a: [], b: [],
            pdus: ["A0 combKey", "B0 -combKey 06"], ends: (.off, 0),
            act: { $0.inject(LMP.CombKey(randomNumber: PairingTests.key).bytes(.central), from: $0.a) }),
    ]

    private static func bench(isSecure: Bool, hasKeys: Bool = true) throws -> LMPBench {
        let host: LMPHostFeatures = isSecure ? [.simplePairing, .secureConnections] : .simplePairing
        let bench = LMPBench(a: LMPBench.settings("A", host: host), b: LMPBench.settings("B", host: host))
        try bench.connect()
        for end in [bench.a, bench.b] { end.answers = { $0 == .linkKeyRequested ? .linkKey(PairingTests.key) : nil } }
        if hasKeys {
            #expect(bench.a.connection.authenticate() == .success)
            try bench.run()
        }
        return bench
    }

    @Test(arguments: rows + switching + changing) func encryption(_ row: Row) throws {
        let bench = try Self.bench(isSecure: row.isSecure, hasKeys: row.hasKeys)
        bench.a.linkManagerSettings.keySizes = row.sizes.central
        bench.b.linkManagerSettings.keySizes = row.sizes.peripheral
        if row.isEncrypted {
            _ = bench.a.connection.setEncryption(isOn: true)
            try bench.run()
        }
        let before = bench.a.wire.protection.transmit
        bench.forget()
        if let tamper = row.tamper {
            bench.onTheWay = { pdu, _ in
                guard let message = LMPMessage(pdu) else { return pdu }
                return tamper(message.pdu)?.bytes(message.transaction) ?? pdu
            }
        }
        row.act(bench)
        try bench.run()
        #expect(bench.a.log == row.a)
        #expect(bench.b.log == row.b)
        #expect(bench.sent == row.pdus)
        for end in [bench.a, bench.b] {
            #expect(end.connection.state.security.mode == row.ends.mode)
            #expect(end.connection.state.security.keySize == row.ends.size)
        }
        let (one, two) = (bench.a.wire.protection, bench.b.wire.protection)
        #expect(one.transmit == two.receive && one.receive == two.transmit && one.transmit == one.receive)
        #expect((one.transmit == .off) == (row.ends.mode == .off))
        if row.a.last == "refreshed 00" { #expect(one.transmit != before) }
    }

    /// A role switch before authentication does not avoid it: the new central still has to prove that it has the key (BIAS).
    @Test(arguments: [true, false]) func impersonationAfterASwitchOfRoles(attackerKnowsKey: Bool) throws {
        let bench = try Self.bench(isSecure: true, hasKeys: false)
        if !attackerKnowsKey { bench.a.answers = { $0 == .linkKeyRequested ? .linkKey(PairingTests.otherKey) : nil } }
        _ = bench.a.connection.switchRole(to: .peripheral)
        try bench.run()
        #expect(bench.b.connection.role == .central)
        bench.forget()
        #expect(bench.a.connection.authenticate() == .success)
        try bench.run()
        #expect(bench.sent.prefix(3) == ["A1 auRand", "B1 auRand", "A1 sres"])
        #expect(bench.sent.last == (attackerKnowsKey ? "B1 sres" : "B0 detach"))
        #expect(bench.b.log == (attackerKnowsKey ? ["key?"] : ["key?", "disconnected 16"]))
        #expect((bench.b.connection.state.security.cipheringOffset != nil) == attackerKnowsKey)
    }

    /// A public key reflected to its sender is rejected (CVE-2020-26558).
    @Test(arguments: [true, false]) func reflectedKey(isSecure: Bool) throws {
        let bench = try Self.bench(isSecure: isSecure, hasKeys: false)
        for end in [bench.a, bench.b] {
            end.answers = { report in
                switch report {
                case .linkKeyRequested: .noLinkKey
                case .ioCapabilityRequested: .ioCapability(IOOffer(capability: .displayYesNo, hasOutOfBandData: false, requirements: 1))
                default: nil
                }
            }
        }
        var sent: [[UInt8]] = []
        bench.onTheWay = { pdu, sender in
            guard case .encapsulatedPayload = LMPMessage(pdu)?.pdu else { return pdu }
            if sender == "A" { sent.append(pdu) }
            return sender == "A" ? pdu : sent.removeFirst()
        }
        #expect(bench.a.connection.authenticate() == .success)
        try bench.run()
        #expect(bench.sent.last == "A0 -encapsulatedPayload 1E")
        #expect(bench.a.log.suffix(2) == ["paired 05", "authenticated 05"])
        #expect(bench.b.log.last == "paired 05")
    }

    // MARK: Sample data

    /// Legacy keys from link key to encryption key, computed independently; octet 0 is on the left.
    @Test func legacyKeys() {
        var state = ACLLinkState(
            role: .central, own: LMPBench.addresses.a, peer: LMPBench.addresses.b, settings: LMPBench.settings("A", host: []),
            secrets: .system)
        _ = state.apply(.linkKey(octets("6408ca6ad855b911cd3feea52b123ae4")))
        let toB = state.response(to: octets("0123456789abcdeffedcba9876543210"), claimant: LMPBench.addresses.b)
        #expect(toB?.sres == octets("ca721e2a") && toB?.offset == octets("8e8dd86fca84205600f6c72f"))
        let toA = state.response(to: octets("a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"), claimant: LMPBench.addresses.a)
        #expect(toA?.sres == octets("61438f4d") && toA?.offset == octets("e1de797b66e721f2899ca7af"))
        if let toA { _ = state.apply(.cipheringOffset(toA.offset)) }
        let random = octets("5f4e3d2c1b0a99887766554433221100")
        for (size, key) in [(16, "67eb6ae68f9d53ed9a0b1fbfdf226a6f"), (7, "cdc4eadef654dcd77486123b7b252b41")] as [(UInt8, String)] {
            let number = UInt128(littleEndianOctets: octets(key))
            #expect(state.encryption(with: random, size: size) == .e0(key: number, central: LMPBench.addresses.a))
        }
    }

    /// Sample data of secure authentication and its encryption key; the most significant octet is on the left. Core Vol 2, Part G.
    @Test(arguments: [LinkRole.central, .peripheral]) func secureKeys(_ role: LinkRole) {
        let (central, peripheral): (BDADDR, BDADDR) = (0x5612_3737_BFCE, 0xA713_702D_CFC1)
        let isCentral = role == .central
        var state = ACLLinkState(
            role: role, own: isCentral ? central : peripheral, peer: isCentral ? peripheral : central, settings: LMPBench.settings("A"),
            secrets: .system)
        _ = state.apply(.peerFeatures(page: 1, state.settings.page(1), highest: 2))
        _ = state.apply(.peerFeatures(page: 2, state.settings.page(2), highest: 2))
        _ = state.apply(.linkKey(octets("c234c1198f3b520186ab92a2f874934e").reversed()))
        let answers = state.confirmation(
            central: octets("d5cb8454d177733effffb2ec712baeab").reversed(),
            peripheral: octets("a6e8e7cc25a75f6e216583f7ff3dc4cf").reversed())
        #expect(answers?.central == octets("746af87e").reversed() && answers?.peripheral == octets("1eeb1137").reversed())
        if let answers { _ = state.apply(.cipheringOffset(answers.offset)) }
        let key = UInt128(octets: octets("677b377f74a5d501121c46492d4cb489"))
        // The IV is ACO at the first start; after a pause, the least significant half of the number that paused encryption.
        #expect(state.encryption(with: PairingTests.otherKey, size: 16) == .aesCCM(key: key, iv: answers?.offset ?? []))
        #expect(
            state.encryption(with: PairingTests.otherKey, size: 16, resumedFrom: PairingTests.key)
                == .aesCCM(key: key, iv: Array(PairingTests.key.prefix(8))))
    }
}
