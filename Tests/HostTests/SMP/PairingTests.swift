import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Pairings that succeed: which association model, in which order, to which keys.
@Suite struct PairingTests {
    /// Table 2.8 of Core Vol 3, Part H, 2.3.5.1, written independently: J Just Works, N Numeric Comparison, passkey displayed by the
    /// initiator (I), the responder (R) or neither (B); lower case for LE legacy pairing only.
    static let table = [
        "J J R J R",
        "J jN R J rN",
        "I I B J I",
        "J J J J J",
        "I iN R J iN",
    ].map { $0.split(separator: " ").map(String.init) }

    @Test(arguments: 0..<25, [false, true]) func theCapabilitiesMakeTheModel(_ pair: Int, isSecureConnections: Bool) {
        var (central, peripheral) = (PairingSettings(), PairingSettings())
        central.ioCapability = IOCapability(UInt8(pair % 5))
        peripheral.ioCapability = IOCapability(UInt8(pair / 5))
        central.asksForMITM = true
        peripheral.supportsSecureConnections = isSecureConnections
        var lab = PairingLab(central, peripheral)
        lab.pair()
        let cell = Self.table[pair / 5][pair % 5]
        let letter = isSecureConnections ? cell.last?.uppercased() : cell.first?.uppercased()
        let shows = (lab[.central].shown != nil, lab[.peripheral].shown != nil)
        let models: [String: AssociationModel] = ["J": .justWorks, "N": .numericComparison]
        for side in [PairingLab.Side.central, .peripheral] {
            let end = lab[side]
            #expect(end.error == nil)
            #expect(end.result?.model == models[letter ?? ""] ?? .passkeyEntry)
            #expect(end.result?.isSecureConnections == isSecureConnections)
            let level = letter == "J" ? LinkSecurity.encrypted : isSecureConnections ? .secureConnections : .authenticated
            #expect(end.result?.level == level && end.manager.level == level && end.manager.keySize == 16)
            #expect(end.result?.isBonded == true && end.result?.keySize == 16 && !end.manager.isBusy && end.manager.deadline == nil)
            #expect(end.compared == lab[side.other].compared && (end.compared != nil) == (letter == "N"))
        }
        #expect(shows == (letter == "I", letter == "R"))
        expectSameKeys(lab)
    }

    private func expectSameKeys(_ lab: PairingLab) {
        let (central, peripheral) = (lab[.central].bond, lab[.peripheral].bond)
        #expect(central?.peerLongTermKey != nil && central?.peerLongTermKey == peripheral?.localLongTermKey)
        #expect(central?.localLongTermKey != nil && central?.localLongTermKey == peripheral?.peerLongTermKey)
        #expect(central?.identity == PairingLab.peripheral && peripheral?.identity == lab[.central].setup.identity)
        #expect(central?.identityResolvingKey == lab[.peripheral].setup.identityResolvingKey)
        #expect(peripheral?.identityResolvingKey == lab[.central].setup.identityResolvingKey)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var central = PairingSettings()
        var peripheral = PairingSettings()
        var transcript: String
        var level = LinkSecurity.encrypted
        var keySize = 16
        var isBonded = true

        init(
            _ name: String, _ transcript: String, level: LinkSecurity = .encrypted, keySize: Int = 16, isBonded: Bool = true,
            _ change: (inout PairingSettings, inout PairingSettings) -> Void = { _, _ in }
        ) {
            (testDescription, self.transcript) = (name, transcript)
            (self.level, self.keySize, self.isBonded) = (level, keySize, isBonded)
            change(&central, &peripheral)
        }
    }

    private static let round = " C03 P03 C04 P04"
    static let sequences = [
        Row("legacy, Just Works", "C01 P02 C03 P03 C04 P04 E P06 P07 P08 P09 C06 C07 C08 C09") { $1.supportsSecureConnections = false },
        Row("legacy, all keys", "C01 P02 C03 P03 C04 P04 E P06 P07 P08 P09 P0a C06 C07 C08 C09 C0a") { central, peripheral in
            central.supportsSecureConnections = false
            (central.localKeys, central.peerKeys) = (.all, .all)
            (peripheral.localKeys, peripheral.peerKeys) = (.all, .all)
        },
        Row("legacy, the peripheral gives its LTK alone", "C01 P02 C03 P03 C04 P04 E P06 P07") { central, peripheral in
            central.supportsSecureConnections = false
            (central.localKeys, peripheral.localKeys) = ([], [.encKey])
        },
        Row("legacy, the central gives its CSRK alone", "C01 P02 C03 P03 C04 P04 E C0a") { central, peripheral in
            central.supportsSecureConnections = false
            (central.localKeys, peripheral.peerKeys, peripheral.localKeys) = (.all, .signKey, [])
        },
        Row("legacy, a key of 7 octets", "C01 P02 C03 P03 C04 P04 E P06 P07 P08 P09 C06 C07 C08 C09", keySize: 7) {
            $0.supportsSecureConnections = false
            $1.maximumKeySize = 7
        },
        Row("legacy, no bond", "C01 P02 C03 P03 C04 P04 E", isBonded: false) { central, _ in
            central.supportsSecureConnections = false
            central.isBonding = false
        },
        Row(
            "legacy, passkey with keypress notifications",
            "C01 P02 C0e C0e C0e C0e C0e C0e C0e C0e C03 P03 C04 P04 E P06 P07 P08 P09 C06 C07 C08 C09", level: .authenticated
        ) { central, peripheral in
            (central.ioCapability, peripheral.ioCapability) = (.keyboardOnly, .displayOnly)
            (central.usesKeypressNotifications, peripheral.usesKeypressNotifications) = (true, true)
            central.supportsSecureConnections = false
            peripheral.minimumLevel = .authenticated
        },
        Row("Just Works", "C01 P02 C0c P0c P03 C04 P04 C0d P0d E P08 P09 C08 C09"),
        Row("Just Works, all keys", "C01 P02 C0c P0c P03 C04 P04 C0d P0d E P08 P09 P0a C08 C09 C0a") { central, peripheral in
            (central.localKeys, central.peerKeys) = (.all, .all)
            (peripheral.localKeys, peripheral.peerKeys) = (.all, .all)
        },
        Row("Just Works, a key of 10 octets", "C01 P02 C0c P0c P03 C04 P04 C0d P0d E P08 P09 C08 C09", keySize: 10) { central, _ in
            central.maximumKeySize = 10
        },
        Row("Numeric Comparison", "C01 P02 C0c P0c P03 C04 P04 C0d P0d E P08 P09 C08 C09", level: .secureConnections) {
            ($0.ioCapability, $1.ioCapability) = (.displayYesNo, .keyboardDisplay)
            ($0.isSecureConnectionsOnly, $1.isSecureConnectionsOnly) = (true, true)
        },
        Row(
            "Numeric Comparison, a key of 15 octets", "C01 P02 C0c P0c P03 C04 P04 C0d P0d E P08 P09 C08 C09", level: .authenticated,
            keySize: 15
        ) {
            ($0.ioCapability, $1.ioCapability) = (.displayYesNo, .keyboardDisplay)
            ($0.asksForMITM, $1.maximumKeySize) = (true, 15)
        },
        Row(
            "passkey of Secure Connections",
            "C01 P02 C0c P0c" + String(repeating: round, count: 20) + " C0d P0d E P08 P09 C08 C09", level: .secureConnections
        ) {
            ($0.ioCapability, $1.ioCapability) = (.displayOnly, .keyboardOnly)
            ($0.asksForMITM, $0.passkey) = (true, 0)
        },
        Row("the debug key pair on both sides", "C01 P02 C0c P0c P03 C04 P04 C0d P0d E P08 P09 C08 C09") {
            ($0.usesDebugKeys, $1.usesDebugKeys) = (true, true)
        },
        Row("a debug key that is taken", "C01 P02 C0c P0c P03 C04 P04 C0d P0d E P08 P09 C08 C09") {
            ($0.usesDebugKeys, $1.acceptsDebugKeys) = (true, true)
        },
    ]

    @Test(arguments: sequences) func aPairingReadsLikeItsChart(_ row: Row) {
        var lab = PairingLab(row.central, row.peripheral)
        lab.pair()
        #expect(lab.transcript.joined(separator: " ") == row.transcript)
        for side in [PairingLab.Side.central, .peripheral] {
            let end = lab[side]
            #expect(end.error == nil && end.result?.level == row.level && end.manager.level == row.level)
            #expect(end.result?.keySize == row.keySize && end.manager.keySize == row.keySize)
            #expect(end.result?.isBonded == row.isBonded && (end.bond != nil) == row.isBonded)
            for key in [end.key, end.bond?.localLongTermKey, end.bond?.peerLongTermKey].compactMap(\.self) {
                #expect(key.size == row.keySize && key.value.dropFirst(row.keySize).allSatisfy { $0 == 0 })
                #expect(key.value.contains { $0 != 0 })
            }
            let typed = [Keypress.entryStarted] + Array(repeating: .digitEntered, count: 6) + [.entryCompleted]
            #expect(end.keypresses == (side == .peripheral && row.peripheral.usesKeypressNotifications ? typed : []))
        }
        #expect(lab[.central].bond?.peerLongTermKey == lab[.peripheral].bond?.localLongTermKey)
        #expect(lab[.central].bond?.localLongTermKey == lab[.peripheral].bond?.peerLongTermKey)
        #expect(lab[.central].bond?.peerSigningKey == lab[.peripheral].bond?.localSigningKey)
        #expect(lab[.central].bond?.localSigningKey == lab[.peripheral].bond?.peerSigningKey)
    }

    /// Reserved bits are ignored on reception. Core Vol 1, Part E, 2.7.2.
    @Test func reservedBitsOfKeyDistributionAreIgnored() throws {
        let setup = PairingLab(PairingSettings(), nil)[.central].setup
        let request = PairingFeatures.request(PairingSettings())
        var response = PairingFeatures.response(PairingSettings(), to: request)
        response.initiatorKeys.insert(KeyDistribution(rawValue: 0xF0))
        response.responderKeys.insert(KeyDistribution(rawValue: 0x30))
        let terms = try PairingTerms(.initiator, request: request, response: response, setup: setup, settings: PairingSettings())
        #expect(terms.sentKeys == .idKey && terms.expectedKeys == .idKey)
        response.responderKeys.insert(.signKey)
        #expect(throws: PairingRefusal(.invalidParameters)) {
            try PairingTerms(.initiator, request: request, response: response, setup: setup, settings: PairingSettings())
        }
    }

    @Test func linkKeysAreAgreedUponWithSecureConnectionsOnly() {
        for isSecureConnections in [false, true] {
            var settings = PairingSettings()
            (settings.localKeys, settings.peerKeys, settings.supportsSecureConnections) = (.all.union(.linkKey), .all.union(.linkKey), true)
            let request = PairingFeatures.request(settings)
            settings.supportsSecureConnections = isSecureConnections
            let response = PairingFeatures.response(settings, to: request)
            #expect(response.initiatorKeys.contains(.linkKey) == isSecureConnections)
            #expect(response.responderKeys.contains(.linkKey) == isSecureConnections)
        }
    }

    struct OutOfBandRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isSecureConnections = true
        var centralHas: Bool
        var peripheralHas: Bool
        /// True for wrong data.
        var isWrong = false
        var model: AssociationModel?
        var reason: PairingFailedReason?
    }

    static let outOfBand = [
        OutOfBandRow(testDescription: "both ways", centralHas: true, peripheralHas: true, model: .outOfBand),
        OutOfBandRow(testDescription: "the central has the peripheral's", centralHas: true, peripheralHas: false, model: .outOfBand),
        OutOfBandRow(testDescription: "the peripheral has the central's", centralHas: false, peripheralHas: true, model: .outOfBand),
        OutOfBandRow(
            testDescription: "the central has somebody else's", centralHas: true, peripheralHas: false, isWrong: true,
            reason: .confirmValueFailed),
        OutOfBandRow(
            testDescription: "the peripheral has somebody else's", centralHas: false, peripheralHas: true, isWrong: true,
            reason: .confirmValueFailed),
        OutOfBandRow(
            testDescription: "legacy, both have TK", isSecureConnections: false, centralHas: true, peripheralHas: true, model: .outOfBand),
        OutOfBandRow(
            testDescription: "legacy, one has TK", isSecureConnections: false, centralHas: true, peripheralHas: false, model: .justWorks),
        OutOfBandRow(
            testDescription: "legacy, different TK", isSecureConnections: false, centralHas: true, peripheralHas: true, isWrong: true,
            reason: .confirmValueFailed),
    ]

    @Test(arguments: outOfBand) func whatWentOutOfBandCounts(_ row: OutOfBandRow) {
        var secrets = SecretSource.system
        let made = [LocalOutOfBandData(using: &secrets), LocalOutOfBandData(using: &secrets), LocalOutOfBandData(using: &secrets)]
        let key = [UInt8](1...16)
        var (central, peripheral) = (PairingSettings(), PairingSettings())
        (central.supportsSecureConnections, peripheral.supportsSecureConnections) = (row.isSecureConnections, row.isSecureConnections)
        if row.centralHas {
            central.outOfBandData = row.isSecureConnections ? made[row.isWrong ? 2 : 1].data : OutOfBandData(temporaryKey: key)
        }
        if row.peripheralHas {
            peripheral.outOfBandData =
                row.isSecureConnections ? made[row.isWrong ? 2 : 0].data : OutOfBandData(temporaryKey: row.isWrong ? key.reversed() : key)
        }
        var lab = PairingLab(central, peripheral)
        lab[.central].setup.outOfBand = made[0]
        lab[.peripheral].setup.outOfBand = made[1]
        lab.pair()
        for side in [PairingLab.Side.central, .peripheral] {
            #expect(lab[side].result?.model == row.model)
            let reasons = row.reason.map { [HostError.peer(.pairingFailed($0)), .peer(.pairingRefused($0))] }
            #expect(lab[side].error.map { reasons?.contains($0) ?? false } ?? (row.reason == nil))
        }
    }

    @Test func aPeripheralAsksForSecurity() {
        var lab = PairingLab(PairingSettings(), PairingSettings())
        lab.pair(from: .peripheral)
        #expect(lab.transcript.prefix(3) == ["P0b", "C01", "P02"])
        #expect(lab[.central].questions == [.consent] && lab[.peripheral].questions.isEmpty)
        #expect(lab[.peripheral].result?.model == .justWorks)
        // The bond is used the next time, on a new link.
        var again = PairingLab(PairingSettings(), PairingSettings(), seed: 9)
        again[.central].setup.bond = lab[.central].bond
        again[.peripheral].setup.bond = lab[.peripheral].bond
        again.pair(from: .peripheral)
        #expect(again.transcript == ["P0b", "E"])
        #expect(again[.peripheral].result?.model == nil && again[.peripheral].result?.level == .encrypted)
        #expect(again[.central].result?.isBonded == true && again[.central].manager.level == .encrypted)
        // A key that is too weak for the peripheral ends it; one that is too weak for both is not used at all.
        again = PairingLab(PairingSettings(), PairingSettings(), seed: 10)
        again[.central].setup.bond = lab[.central].bond
        again[.peripheral].setup.bond = lab[.peripheral].bond
        again[.peripheral].setup.settings?.minimumLevel = .authenticated
        again.onTheWay = { [[$1[0]] + $1.dropFirst().map { _ in 0 }] }
        again.pair(from: .peripheral)
        #expect(again.transcript == ["P0b", "E"] && again[.peripheral].error == .peer(.pairingRefused(.authenticationRequirements)))
        var stronger = PairingSettings()
        (stronger.ioCapability, stronger.minimumLevel) = (.displayYesNo, .authenticated)
        var third = PairingLab(stronger, stronger, seed: 11)
        third[.central].setup.bond = lab[.central].bond
        third[.peripheral].setup.bond = lab[.peripheral].bond
        third.pair(from: .peripheral)
        #expect(third[.peripheral].result?.model == .numericComparison && third[.peripheral].manager.level == .secureConnections)
    }
}

extension KeyDistribution {
    fileprivate static var all: KeyDistribution { [.encKey, .idKey, .signKey] }
}
