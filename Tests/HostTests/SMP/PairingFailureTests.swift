import BBBenchTesting
import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Pairings that must fail: the device that ends them, the PDU and the reason.
@Suite struct PairingFailureTests {
    typealias Side = PairingLab.Side

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// The device that ends the pairing, and its reason.
        var endedBy: Side
        var reason: PairingFailedReason
        var central = PairingSettings()
        var peripheral = PairingSettings()
        /// PDUs of this sender and opcode are changed, after a number of unchanged ones.
        var sender = Side.central
        var opcode: UInt8 = 0
        var skip = 0
        var change: @Sendable ([UInt8]) -> [[UInt8]] = { [$0] }

        init(
            _ name: String, _ endedBy: Side, _ reason: PairingFailedReason,
            _ settings: (inout PairingSettings, inout PairingSettings) -> Void = { _, _ in }
        ) {
            (testDescription, self.endedBy, self.reason) = (name, endedBy, reason)
            settings(&central, &peripheral)
        }

        func changing(_ sender: Side, _ opcode: UInt8, skip: Int = 0, _ change: @escaping @Sendable ([UInt8]) -> [[UInt8]]) -> Row {
            var row = self
            (row.sender, row.opcode, row.skip, row.change) = (sender, opcode, skip, change)
            return row
        }
    }

    private static func set(_ index: Int, _ value: UInt8) -> @Sendable ([UInt8]) -> [[UInt8]] {
        { pdu in
            var changed = pdu
            changed[index] = value
            return [changed]
        }
    }

    private static func flip(_ index: Int) -> @Sendable ([UInt8]) -> [[UInt8]] { { set(index, $0[index] ^ 1)($0) } }
    private static func legacy(_ central: inout PairingSettings, _ peripheral: inout PairingSettings) {
        central.supportsSecureConnections = false
        // The devices must agree on the tested feature.
        peripheral.supportsSecureConnections = false
    }
    private static func compare(_ central: inout PairingSettings, _ peripheral: inout PairingSettings) {
        (central.ioCapability, peripheral.ioCapability, central.asksForMITM) = (.displayYesNo, .displayYesNo, true)
    }
    private static func passkey(_ central: inout PairingSettings, _ peripheral: inout PairingSettings) {
        (central.ioCapability, peripheral.ioCapability, central.asksForMITM) = (.keyboardOnly, .displayOnly, true)
    }

    static let features = [
        Row("the peripheral insists on authentication", .peripheral, .authenticationRequirements) { $1.minimumLevel = .authenticated },
        Row("the central insists on authentication", .central, .authenticationRequirements) { central, _ in
            central.minimumLevel = .authenticated
        },
        Row("Secure Connections Only against a legacy central", .peripheral, .authenticationRequirements) {
            ($0.ioCapability, $1.ioCapability) = (.displayYesNo, .keyboardDisplay)
            ($0.supportsSecureConnections, $1.isSecureConnectionsOnly) = (false, true)
        },
        Row("Secure Connections Only and Just Works", .peripheral, .authenticationRequirements) { $1.isSecureConnectionsOnly = true },
        Row("Secure Connections Only and a short key", .peripheral, .encryptionKeySize) {
            compare(&$0, &$1)
            ($0.maximumKeySize, $1.isSecureConnectionsOnly) = (15, true)
        },
        Row("LE Secure Connections alone, at any level, against a legacy central", .peripheral, .authenticationRequirements) {
            ($0.supportsSecureConnections, $1.requiresSecureConnections) = (false, true)
        },
        Row("LE Secure Connections alone, at any level, and a short key", .peripheral, .encryptionKeySize) {
            ($0.maximumKeySize, $1.requiresSecureConnections) = (15, true)
        },
        Row("a key too short for the peripheral", .peripheral, .encryptionKeySize) { ($0.maximumKeySize, $1.minimumKeySize) = (9, 10) },
        Row("a key too short for the central", .central, .encryptionKeySize) { ($1.maximumKeySize, $0.minimumKeySize) = (9, 10) },
        Row("out of band or not at all", .central, .oobNotAvailable) { central, _ in central.requiresOutOfBand = true },
        Row("key size 6", .peripheral, .encryptionKeySize).changing(.central, 1, set(4, 6)),
        Row("key size 0", .peripheral, .encryptionKeySize).changing(.central, 1, set(4, 0)),
        Row("key size 17", .peripheral, .invalidParameters).changing(.central, 1, set(4, 17)),
        Row("CVE-2019-19196: key size 253", .central, .invalidParameters).changing(.peripheral, 2, set(4, 253)),
        Row("an IO capability that does not exist", .peripheral, .invalidParameters).changing(.central, 1, set(1, 5)),
        Row("an OOB flag that does not exist", .central, .invalidParameters).changing(.peripheral, 2, set(2, 2)),
        Row("more keys than were asked for", .central, .invalidParameters).changing(.peripheral, 2, set(6, 7)),
        Row("a response with an octet too many", .central, .invalidParameters).changing(.peripheral, 2) { [$0 + [0]] },
        Row("a second request", .peripheral, .unspecifiedReason).changing(.central, 1) { [$0, $0] },
        Row("a response to a response", .central, .unspecifiedReason).changing(.peripheral, 2) { [$0, $0] },
    ]

    static let values = [
        Row("legacy: the central's confirm value", .peripheral, .confirmValueFailed, legacy).changing(.central, 3, flip(1)),
        Row("legacy: the peripheral's confirm value", .central, .confirmValueFailed, legacy).changing(.peripheral, 3, flip(16)),
        Row("legacy: the central's random value", .peripheral, .confirmValueFailed, legacy).changing(.central, 4, flip(9)),
        Row("legacy: a random value before the confirm value", .peripheral, .unspecifiedReason, legacy).changing(.central, 3) {
            [[4] + $0.dropFirst()]
        },
        Row("CVE-2019-17520: a public key in legacy pairing", .peripheral, .unspecifiedReason, legacy).changing(.central, 3) { _ in
            [[0x0C] + [UInt8](repeating: 0x11, count: 64)]
        },
        Row("a confirm value cut short", .peripheral, .invalidParameters, legacy).changing(.central, 3) { [Array($0.dropLast())] },
        Row("a point off the curve", .peripheral, .dhKeyCheckFailed).changing(.central, 0x0C, flip(64)),
        Row("x off the curve", .central, .dhKeyCheckFailed).changing(.peripheral, 0x0C, flip(1)),
        Row("CVE-2018-5383: y is 0", .peripheral, .dhKeyCheckFailed).changing(.central, 0x0C) {
            [Array($0[..<33]) + [UInt8](repeating: 0, count: 32)]
        },
        Row("the point 0, 0", .central, .dhKeyCheckFailed).changing(.peripheral, 0x0C) { _ in [[0x0C] + [UInt8](repeating: 0, count: 64)]
        },
        Row("coordinates beyond the field", .peripheral, .dhKeyCheckFailed).changing(.central, 0x0C) { _ in
            [[0x0C] + [UInt8](repeating: 0xFF, count: 64)]
        },
        Row("the debug key", .peripheral, .authenticationRequirements) { central, _ in central.usesDebugKeys = true },
        Row("the confirm value of Just Works", .central, .confirmValueFailed).changing(.peripheral, 3, flip(3)),
        Row("the peripheral's nonce", .central, .confirmValueFailed).changing(.peripheral, 4, flip(3)),
        Row("CVE-2020-13593: a DHKey check in place of a nonce", .peripheral, .unspecifiedReason).changing(.central, 4) {
            [[0x0D] + $0.dropFirst()]
        },
        Row("a DHKey check before the nonce", .central, .unspecifiedReason).changing(.peripheral, 4) { [[0x0D] + $0.dropFirst(), $0] },
        Row("the central's DHKey check", .peripheral, .dhKeyCheckFailed).changing(.central, 0x0D, flip(8)),
        Row("the peripheral's DHKey check", .central, .dhKeyCheckFailed).changing(.peripheral, 0x0D, flip(8)),
        Row("the central's nonce", .peripheral, .dhKeyCheckFailed).changing(.central, 4, flip(1)),
        Row("IO capabilities changed on the way", .central, .dhKeyCheckFailed).changing(.peripheral, 2, set(1, 4)),
        Row("passkey: round 1", .peripheral, .confirmValueFailed, passkey).changing(.central, 3, flip(5)),
        Row("passkey: round 20", .peripheral, .confirmValueFailed, passkey).changing(.central, 3, skip: 19, flip(5)),
        Row("passkey: the peripheral's round 7", .central, .confirmValueFailed, passkey).changing(.peripheral, 4, skip: 6, flip(5)),
        Row("passkey: a DHKey check after 19 rounds", .peripheral, .unspecifiedReason, passkey).changing(.central, 3, skip: 19) {
            [[0x0D] + $0.dropFirst()]
        },
        Row("a pairing request in place of a confirm value", .central, .commandNotSupported).changing(.peripheral, 3) { _ in
            [[1, 3, 0, 9, 16, 3, 3]]
        },
        Row("a security request in place of a nonce", .peripheral, .commandNotSupported).changing(.central, 4) { _ in [[0x0B, 1]] },
    ]

    static let keys = [
        Row("an LTK of zeros", .central, .keyRejected, legacy).changing(.peripheral, 6) { _ in [[6] + [UInt8](repeating: 0, count: 16)] },
        Row("keys out of order", .central, .unspecifiedReason, legacy).changing(.peripheral, 6) { _ in [] },
        Row("a key twice", .peripheral, .unspecifiedReason, legacy).changing(.central, 6) { [$0, $0] },
        Row("an identity of an unknown kind", .peripheral, .invalidParameters, legacy).changing(.central, 9, set(1, 2)),
        Row("a private address for an identity", .peripheral, .invalidParameters).changing(.central, 9, set(7, 0x40)),
    ]

    @Test(arguments: features + values + keys) func aPairingEnds(_ row: Row) {
        var lab = PairingLab(row.central, row.peripheral)
        let counter = Counter()
        lab.onTheWay = { side, pdu in
            guard side == row.sender, pdu[0] == row.opcode else { return [pdu] }
            counter.count += 1
            return counter.count == row.skip + 1 ? row.change(pdu) : [pdu]
        }
        lab.pair()
        #expect(lab[row.endedBy].error == .peer(.pairingRefused(row.reason)))
        let code = (row.endedBy == .central ? "C" : "P") + "05"
        #expect(lab.transcript.count { $0 == code } == 1)
        #expect(lab[row.endedBy.other].error == .peer(.pairingFailed(row.reason)) || lab[row.endedBy.other].result != nil)
        for side in [Side.central, .peripheral] {
            #expect(!lab[side].manager.isBusy && lab[side].manager.deadline == nil)
            if !Self.keys.contains(where: { $0.testDescription == row.testDescription }) { #expect(lab[side].manager.level == .none) }
        }
        #expect(lab[row.endedBy].bond == nil)
    }

    private final class Counter { var count = 0 }

    /// The peer's public key is the device's own, so there is no shared secret.
    @Test(arguments: [Side.central, .peripheral]) func aReflectedKeyIsRefused(_ victim: Side) {
        var lab = PairingLab(PairingSettings(), PairingSettings())
        let box = KeyBox()
        lab.onTheWay = { side, pdu in
            guard pdu[0] == SMP.PairingPublicKey.opcode else { return [pdu] }
            if side == victim { box.key = pdu }
            return [side == victim || box.key.isEmpty ? pdu : box.key]
        }
        if victim == .peripheral {
            // The responder's key is the second one of its stream: it equals the key of a central with the same random numbers.
            lab[.central].setup.secrets = SecretSource(seed: 5, label: "both", on: RunLoop())
            lab[.peripheral].setup.secrets = SecretSource(seed: 5, label: "both", on: RunLoop())
        }
        lab.pair()
        let reasons = [Side.central, .peripheral].compactMap { lab[$0].error }
        #expect(reasons.contains(.peer(.pairingRefused(.dhKeyCheckFailed))))
        #expect(lab[.central].result == nil && lab[.peripheral].result == nil)
    }

    private final class KeyBox { var key: [UInt8] = [] }

    struct AnswerRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var who: Side
        var answer: PairingAnswer
        var reason: PairingFailedReason
        /// The device that detects it.
        var endedBy: Side
        var central = IOCapability.noInputNoOutput
        var peripheral = IOCapability.noInputNoOutput
        var isSecureConnections = true
    }

    static let answers = [
        AnswerRow(
            testDescription: "no consent", who: .peripheral, answer: .agrees(false), reason: .pairingNotSupported, endedBy: .peripheral),
        AnswerRow(
            testDescription: "the numbers differ for the central", who: .central, answer: .agrees(false), reason: .numericComparisonFailed,
            endedBy: .central, central: .displayYesNo, peripheral: .displayYesNo),
        AnswerRow(
            testDescription: "the numbers differ for the peripheral", who: .peripheral, answer: .agrees(false),
            reason: .numericComparisonFailed, endedBy: .peripheral, central: .displayYesNo, peripheral: .displayYesNo),
        AnswerRow(
            testDescription: "no passkey", who: .central, answer: .passkey(nil), reason: .passkeyEntryFailed, endedBy: .central,
            central: .keyboardOnly, peripheral: .displayOnly),
        AnswerRow(
            testDescription: "a passkey of seven digits", who: .central, answer: .passkey(1_000_000), reason: .passkeyEntryFailed,
            endedBy: .central, central: .keyboardOnly, peripheral: .displayOnly, isSecureConnections: false),
        AnswerRow(
            testDescription: "the wrong passkey, legacy", who: .central, answer: .passkey(1), reason: .confirmValueFailed,
            endedBy: .peripheral, central: .keyboardOnly, peripheral: .displayOnly, isSecureConnections: false),
        AnswerRow(
            testDescription: "the wrong passkey", who: .peripheral, answer: .passkey(1), reason: .confirmValueFailed, endedBy: .peripheral,
            central: .displayOnly, peripheral: .keyboardOnly),
    ]

    @Test(arguments: answers) func theUserDeclines(_ row: AnswerRow) {
        var (central, peripheral) = (PairingSettings(), PairingSettings())
        (central.ioCapability, peripheral.ioCapability) = (row.central, row.peripheral)
        (central.asksForMITM, central.supportsSecureConnections) = (true, row.isSecureConnections)
        (central.passkey, peripheral.passkey) = (999_999, 999_999)
        var lab = PairingLab(central, peripheral)
        lab.answer = { side, question in
            if case .showPasskey = question { return nil }
            return side == row.who ? row.answer : nil
        }
        lab.pair()
        #expect(lab[row.endedBy].error == .peer(.pairingRefused(row.reason)))
        #expect(lab[row.endedBy.other].error == .peer(.pairingFailed(row.reason)))
    }

    /// Core Vol 3, Part H, 3.4: nothing happens after thirty seconds without a command.
    @Test func silenceEndsPairingForGood() {
        var lab = PairingLab(PairingSettings(), PairingSettings())
        lab.onTheWay = { $1[0] == SMP.PairingRandom.opcode ? [] : [$1] }
        lab.now = .seconds(3)
        lab.pair()
        #expect(lab[.central].manager.deadline == .seconds(33) && lab[.peripheral].manager.deadline == .seconds(33))
        lab.expire(.peripheral)
        #expect(lab[.peripheral].error == .peer(.timedOut(.pairing)) && lab[.peripheral].manager.isSilent)
        let sent = lab.transcript.count
        lab.onTheWay = { [$1] }
        lab.inject(PairingFeatures.request(PairingSettings()).requestPDU, to: .peripheral)
        lab.pair(from: .peripheral)
        #expect(lab.transcript.count == sent && lab[.peripheral].manager.deadline == nil)
    }

    /// Another Security Request restarts the timer of a central whose user has not replied. Core Vol 3, Part H, 3.4.
    @Test func aSecurityRequestRestartsTheTimer() {
        let lab = PairingLab(PairingSettings(), PairingSettings())
        var manager = SecurityManager()
        let times: [(now: Microseconds, deadline: Microseconds)] = [(0, .seconds(30)), (.seconds(20), .seconds(50))]
        for (now, deadline) in times {
            _ = manager.received([SMP.SecurityRequest.opcode, 1], lab[.central].setup, at: now)
            #expect(manager.deadline == deadline)
        }
    }

    /// Core Vol 3, Part H, 2.3.4: keys are shortened even if the peer has sent more, which a bond file would not accept.
    @Test func aKeyIsAsLongAsAgreed() throws {
        var settings = PairingSettings()
        (settings.supportsSecureConnections, settings.maximumKeySize) = (false, 7)
        var lab = PairingLab(settings, settings)
        lab.onTheWay = { $1[0] == SMP.EncryptionInformation.opcode ? [[$1[0]] + [UInt8](1...16)] : [$1] }
        lab.pair()
        for side in [Side.central, .peripheral] {
            let bond = try #require(lab[side].bond)
            #expect(bond.peerLongTermKey?.value == [UInt8](1...7) + [UInt8](repeating: 0, count: 9))
            let keys = KeyStore()
            keys.add(bond)
            #expect(try BondDocument.read(BondDocument.text(of: keys)).kept == keys.kept)
        }
    }

    @Test func aLaterFailureWaitsLonger() {
        var attempts = RepeatedAttempts()
        let peer = PairingLab.central
        let error = HostError.peer(.pairingRefused(.confirmValueFailed))
        var (now, waits) = (Microseconds(0), [Microseconds]())
        for _ in 0..<9 {
            attempts.failed(peer, error, at: now)
            var wait = Microseconds(0)
            while attempts.mustWait(peer, at: now + wait) { wait = wait + .milliseconds(500) }
            waits.append(wait)
            now = now + wait
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 64, 64, 64].map { .seconds($0) })
        // It decreases while no pairing fails.
        attempts.failed(peer, error, at: now + .seconds(64 + 32))
        #expect(attempts.mustWait(peer, at: now + .seconds(96 + 31)) && !attempts.mustWait(peer, at: now + .seconds(96 + 32)))
        attempts.succeeded(peer)
        attempts.failed(peer, .peer(.pairingFailed(.authenticationRequirements)), at: now)
        #expect(!attempts.mustWait(peer, at: now))
        for value in 0..<UInt64(2 * RepeatedAttempts.limit) { attempts.failed(DeviceAddress(value: value), error, at: now) }
        #expect(attempts.count == RepeatedAttempts.limit)
    }

    @Test func whoMustWaitIsTold() {
        var lab = PairingLab(PairingSettings(), PairingSettings())
        lab[.peripheral].setup.mustWait = true
        lab.pair()
        #expect(lab.transcript == ["C01", "P05"] && lab[.central].error == .peer(.pairingFailed(.repeatedAttempts)))
        lab[.central].setup.mustWait = true
        lab.pair()
        #expect(lab.transcript.count == 2 && lab[.central].error == .peer(.pairingRefused(.repeatedAttempts)))
    }

    /// A strong bond is not replaced by a weak one, unless requested.
    @Test(arguments: [false, true]) func aWeakerBondDoesNotReplaceAStronger(isWanted: Bool) {
        var settings = PairingSettings()
        settings.acceptsWeakerBond = isWanted
        var lab = PairingLab(PairingSettings(), settings)
        let key = LongTermKey([UInt8](1...16))
        lab[.peripheral].setup.bond = Bond(PairingLab.central, localLongTermKey: key, isAuthenticated: true, isSecureConnections: true)
        lab.pair()
        #expect((lab[.peripheral].error == .peer(.pairingRefused(.authenticationRequirements))) != isWanted)
        #expect((lab[.peripheral].result != nil) == isWanted)
    }

    struct StrayRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var to = Side.peripheral
        var pdus: [String]
        var answers: [String] = []
    }

    static let strays = [
        StrayRow(testDescription: "a security request to a peripheral", pdus: ["0b 09"], answers: ["P05"]),
        StrayRow(testDescription: "a security request to a peripheral, cut short", pdus: ["0b"], answers: ["P05"]),
        StrayRow(testDescription: "a pairing request to a central", to: .central, pdus: ["01 03 00 09 10 03 03"], answers: ["C05"]),
        StrayRow(testDescription: "a pairing request cut short", pdus: ["01 03"], answers: ["P05"]),
        StrayRow(testDescription: "a failure is not answered", pdus: ["05 01", "05", "05 08 00"]),
        StrayRow(testDescription: "codes that do not exist", pdus: ["", "00", "0f", "ff 00"]),
        StrayRow(
            testDescription: "values that nobody asked for",
            pdus: ["04" + String(repeating: "11", count: 16), "0c" + String(repeating: "11", count: 64), "0e 00"]),
    ]

    @Test(arguments: strays) func aStrayCommandStartsNothing(_ row: StrayRow) {
        var lab = PairingLab(PairingSettings(), PairingSettings())
        for pdu in row.pdus { lab.inject(octets(pdu), to: row.to) }
        #expect(lab.transcript == row.answers && !lab[row.to].manager.isBusy)
    }

    /// CVE-2019-19194: no key is supplied before pairing, and none with other identifiers after it.
    @Test func noKeyBeforeItsTime() {
        var lab = PairingLab(PairingSettings(), PairingSettings())
        lab[.peripheral].setup.bond = Bond(PairingLab.central, localLongTermKey: LongTermKey([UInt8](1...16)))
        lab.onTheWay = { $1[0] == SMP.PairingDHKeyCheck.opcode ? [] : [$1] }
        lab.pair()
        var manager = lab[.peripheral].manager
        #expect(manager.key(encryptedDiversifier: 0, randomNumber: 0, of: lab[.peripheral].setup.bond) == nil)
        #expect(manager.encryptionChanged(isOn: true, lab[.peripheral].setup, at: 0) == nil)
        #expect(manager.level == .none)
    }
}
