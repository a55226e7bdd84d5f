import BBPackets
import Testing

@testable import BBHost

/// Security mode 4 on one BR/EDR link, host state machine. Core Vol 3, Part C, 5.2.2.
@Suite struct BREDRSecurityTests {
    private static func key(_ type: LinkKeyType, size: Int = 16) -> LinkKey { LinkKey([UInt8](1...16), type, size: size) }

    // MARK: Levels

    struct LevelRow: Sendable, CustomTestStringConvertible {
        var testDescription: String { "\(type), \(keySize) octets" }
        var type: LinkKeyType
        var keySize = 16
        /// With AES-CCM and with E0.
        var levels: (SecurityMode4Level, SecurityMode4Level)
    }

    static let levels = [
        LevelRow(type: .combination, levels: (.unauthenticated, .unauthenticated)),
        LevelRow(type: .localUnit, levels: (.low, .low)),
        LevelRow(type: .remoteUnit, levels: (.low, .low)),
        LevelRow(type: .debugCombination, levels: (.low, .low)),
        LevelRow(type: .unauthenticatedCombinationP192, levels: (.unauthenticated, .unauthenticated)),
        LevelRow(type: .authenticatedCombinationP192, levels: (.authenticated, .authenticated)),
        LevelRow(type: .changedCombination, levels: (.unauthenticated, .unauthenticated)),
        LevelRow(type: .unauthenticatedCombinationP256, levels: (.unauthenticated, .unauthenticated)),
        LevelRow(type: .authenticatedCombinationP256, levels: (.secureConnections, .authenticated)),
        LevelRow(type: .authenticatedCombinationP256, keySize: 15, levels: (.authenticated, .authenticated)),
    ]

    @Test(arguments: levels) func aKeyReachesItsLevel(_ row: LevelRow) {
        for (isAESCCM, level) in [(true, row.levels.0), (false, row.levels.1)] {
            #expect(BREDREncryption(linkKey: Self.key(row.type), isAESCCM: isAESCCM, keySize: row.keySize).level == level)
        }
        #expect(Self.key(row.type, size: row.keySize).bestLevel == row.levels.0)
    }

    // MARK: Association

    /// The initiator's capability by columns, the responder's by rows: A automatic, I or R the user of one device consents, N numeric
    /// comparison, i, r or b the passkey is displayed by the initiator, the responder or neither. Core Vol 3, Part C, 5.2.2.6.
    static let table = ["AIrA", "RNrR", "iibA", "AIAA"]

    @Test(arguments: 0..<16) func theCapabilitiesMakeTheAssociation(_ pair: Int) {
        let names: [Character: SimplePairingAssociation] = [
            "A": .automatic, "I": .consent(.initiator), "R": .consent(.responder), "N": .numericComparison,
            "i": .passkeyEntry(shownBy: .initiator), "r": .passkeyEntry(shownBy: .responder), "b": .passkeyEntry(shownBy: nil),
        ]
        let (row, column) = (pair / 4, pair % 4)
        for requirements in [(0, 0), (1, 0), (0, 1), (5, 3)] as [(UInt8, UInt8)] {
            func found(_ hasData: (Bool, Bool)) -> SimplePairingAssociation? {
                .of(
                    initiator: SimplePairingFeatures(
                        IOCapability(rawValue: UInt8(column)), hasOutOfBandData: hasData.0, requirements: requirements.0),
                    responder: SimplePairingFeatures(
                        IOCapability(rawValue: UInt8(row)), hasOutOfBandData: hasData.1, requirements: requirements.1))
            }
            let expected = requirements == (0, 0) ? .automatic : names[Array(Self.table[row])[column]]
            #expect(found((false, false)) == expected)
            #expect(found((true, false)) == .outOfBand && found((false, true)) == .outOfBand)
        }
        let odd = SimplePairingFeatures(IOCapability(rawValue: 5), requirements: 1)
        #expect(SimplePairingAssociation.of(initiator: odd, responder: odd) == nil)
        #expect(SimplePairingFeatures(.keyboardDisplay, requirements: 1).ioCapability == .displayYesNo)
    }

    // MARK: Sequences

    /// Inputs and the resulting actions.
    enum Event: Sendable {
        case require(SecurityMode4Level)
        case pairAnew, deferred
        case keyRequested, pinRequested, featuresRequested, passkeyRequested, pairingEnded
        case featuresReceived(IOCapability, UInt8)
        case confirmationRequested
        case answered(PairingAnswer)
        case keyMade(LinkKeyType)
        case authenticated(ErrorCode)
        case encrypted(isAESCCM: Bool)
        case unencrypted, encryptionFailed
        case keySize(Int)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var settings: PairingSettings?
        var known: LinkKey?
        var steps: [(Event, [BREDRSecurity.Action])]
        var level: SecurityMode4Level

        init(
            _ name: String, _ io: IOCapability? = .displayYesNo, known: LinkKeyType? = nil, ends level: SecurityMode4Level,
            _ steps: [(Event, [BREDRSecurity.Action])]
        ) {
            (testDescription, self.steps, self.level) = (name, steps, level)
            settings = io.map {
                var settings = PairingSettings()
                settings.ioCapability = $0
                return settings
            }
            self.known = known.map { key($0) }
        }
    }

    private static let encryption: [(Event, [BREDRSecurity.Action])] = [
        (.authenticated(.success), [.encrypt]), (.encrypted(isAESCCM: true), [.readKeySize]),
    ]
    private static func features(_ io: IOCapability, _ requirements: UInt8) -> BREDRSecurity.Action {
        .replyFeatures(SimplePairingFeatures(io, requirements: requirements))
    }

    static let known = [
        Row(
            "a key that is good enough", known: .authenticatedCombinationP256, ends: .secureConnections,
            [(.require(.authenticated), [.authenticate]), (.keyRequested, [.replyKey(key(.authenticatedCombinationP256))])] + encryption
                + [(.keySize(16), [.reached(.secureConnections)]), (.require(.unauthenticated), [.reached(.secureConnections)])]),
        Row(
            "a key of PIN is kept from who needs more", known: .combination, ends: .open,
            [(.require(.authenticated), [.authenticate]), (.keyRequested, [.replyKey(nil)]), (.pinRequested, [.replyPIN(nil)])]
                + [(.authenticated(.pinOrKeyMissing), [.failed(.pinOrKeyMissing)])]),
        Row(
            "E0 is not enough for level 4", known: .authenticatedCombinationP256, ends: .authenticated,
            [
                (.require(.secureConnections), [.authenticate]), (.keyRequested, [.replyKey(key(.authenticatedCombinationP256))]),
                (.authenticated(.success), [.encrypt]), (.encrypted(isAESCCM: false), [.readKeySize]),
                (.keySize(16), [.failed(.insufficientSecurity)]),
            ]),
        Row(
            "KNOB: a key of six octets", known: .authenticatedCombinationP256, ends: .open,
            [(.require(.unauthenticated), [.authenticate]), (.keyRequested, [.replyKey(key(.authenticatedCombinationP256))])] + encryption
                + [(.keySize(6), [.failed(.insufficientSecurity), .disconnect(.authenticationFailure)])]),
        Row(
            "KNOB from the other side", known: .authenticatedCombinationP256, ends: .open,
            [
                (.keyRequested, [.replyKey(key(.authenticatedCombinationP256))]), (.encrypted(isAESCCM: false), [.readKeySize]),
                (.keySize(1), [.failed(.insufficientSecurity), .disconnect(.authenticationFailure)]),
            ]),
        Row(
            "the peer begins with the key of both", known: .unauthenticatedCombinationP192, ends: .unauthenticated,
            [
                (.keyRequested, [.replyKey(key(.unauthenticatedCombinationP192))]), (.encrypted(isAESCCM: false), [.readKeySize]),
                (.keySize(16), [.authenticate]), (.authenticated(.success), [.reached(.unauthenticated)]),
                (.require(.authenticated), [.authenticate]), (.keyRequested, [.replyKey(nil)]),
            ]),
        Row(
            "BIAS: the peer has authenticated this device and cannot prove its own key", known: .authenticatedCombinationP192, ends: .open,
            [
                (.keyRequested, [.replyKey(key(.authenticatedCombinationP192))]), (.encrypted(isAESCCM: false), [.readKeySize]),
                (.keySize(16), [.authenticate]), (.require(.unauthenticated), []),
                (
                    .authenticated(.authenticationFailure),
                    [.failed(.authenticationFailure), .disconnect(.authenticationFailure)]
                ),
            ]),
        Row(
            "BIAS with a downgrade: E0 after secure connections", known: .authenticatedCombinationP256, ends: .authenticated,
            [
                (.encrypted(isAESCCM: false), [.readKeySize]), (.keySize(16), [.authenticate]),
                (.authenticated(.success), [.reached(.authenticated)]),
            ]),
        Row(
            "the peer's procedure comes before the proof", known: .authenticatedCombinationP192, ends: .authenticated,
            [
                (.encrypted(isAESCCM: false), [.readKeySize]), (.keySize(16), [.authenticate]), (.deferred, []),
                (.require(.unauthenticated), [.authenticate]), (.authenticated(.success), [.refresh]),
                (.encrypted(isAESCCM: false), [.readKeySize]), (.keySize(16), [.reached(.authenticated)]),
            ]),
        Row(
            "a peer that lost its key", known: .authenticatedCombinationP256, ends: .open,
            [
                (.require(.unauthenticated), [.authenticate]), (.keyRequested, [.replyKey(key(.authenticatedCombinationP256))]),
                (.authenticated(.pinOrKeyMissing), [.failed(.pinOrKeyMissing)]),
                (.keyRequested, [.replyKey(key(.authenticatedCombinationP256))]),
            ]),
        Row(
            "encryption that fails, and one that nobody has a key for", ends: .open,
            [
                (.encryptionFailed, []),
                (.encrypted(isAESCCM: true), [.failed(.authenticationFailure), .disconnect(.authenticationFailure)]),
                (.keySize(16), []),
            ]),
        Row(
            "encryption ends", known: .authenticatedCombinationP192, ends: .open,
            [
                (.encrypted(isAESCCM: false), [.readKeySize]), (.keySize(16), [.authenticate]),
                (.authenticated(.success), [.reached(.authenticated)]), (.unencrypted, []),
            ]),
    ]

    static let pairings = [
        Row(
            "numeric comparison", ends: .secureConnections,
            [
                (.require(.secureConnections), [.authenticate]), (.keyRequested, [.replyKey(nil)]),
                (.featuresRequested, [features(.displayYesNo, 5)]), (.featuresReceived(.displayYesNo, 4), []),
                (.confirmationRequested, [.ask(.compare(123_456))]), (.answered(.agrees(true)), [.confirm(true)]), (.pairingEnded, []),
                (.keyMade(.authenticatedCombinationP256), [.keep(key(.authenticatedCombinationP256))]),
            ] + encryption + [(.keySize(16), [.reached(.secureConnections)])]),
        Row(
            "the user sees another number", ends: .open,
            [
                (.require(.authenticated), [.authenticate]), (.featuresRequested, [features(.displayYesNo, 5)]),
                (.featuresReceived(.displayYesNo, 4), []), (.confirmationRequested, [.ask(.compare(123_456))]),
                (.answered(.agrees(false)), [.confirm(false)]), (.answered(.agrees(true)), []), (.pairingEnded, []),
                (.authenticated(.authenticationFailure), [.failed(.authenticationFailure)]),
            ]),
        Row(
            "a passkey is entered", .keyboardOnly, ends: .authenticated,
            [
                (.require(.authenticated), [.authenticate]), (.keyRequested, [.replyKey(nil)]),
                (.featuresRequested, [features(.keyboardOnly, 5)]), (.featuresReceived(.displayOnly, 4), []),
                (.passkeyRequested, [.ask(.enterPasskey)]), (.answered(.passkey(42)), [.replyPasskey(42)]), (.pairingEnded, []),
                (.keyMade(.authenticatedCombinationP192), [.keep(key(.authenticatedCombinationP192))]),
                (.authenticated(.success), [.encrypt]), (.encrypted(isAESCCM: false), [.readKeySize]),
                (.keySize(16), [.reached(.authenticated)]),
            ]),
        Row(
            "what cannot protect is refused where that is needed", .noInputNoOutput, ends: .open,
            [
                (.require(.authenticated), [.authenticate]), (.featuresRequested, [features(.noInputNoOutput, 5)]),
                (.featuresReceived(.displayYesNo, 4), []), (.confirmationRequested, [.confirm(false)]),
            ]),
        Row(
            "this side has asked for it: nobody else is asked", .noInputNoOutput, ends: .unauthenticated,
            [
                (.require(.low), [.authenticate]), (.featuresRequested, [features(.noInputNoOutput, 4)]),
                (.featuresReceived(.displayYesNo, 4), []), (.confirmationRequested, [.confirm(true)]),
                (.keyMade(.unauthenticatedCombinationP256), [.keep(key(.unauthenticatedCombinationP256))]),
            ] + encryption + [(.keySize(16), [.reached(.unauthenticated)])]),
        Row(
            "CVE-2023-45866: a pairing that the other side begins wants consent", .noInputNoOutput, ends: .open,
            [
                (.featuresReceived(.noInputNoOutput, 0), []), (.featuresRequested, [features(.noInputNoOutput, 4)]),
                (.confirmationRequested, [.ask(.consent)]), (.answered(.agrees(false)), [.confirm(false)]),
            ]),
        Row(
            "a host that does not pair", nil, ends: .open,
            [(.featuresReceived(.displayYesNo, 4), []), (.featuresRequested, [.refuseFeatures(.pairingNotAllowed)])]),
        Row(
            "BLURtooth: a weaker key does not take a stronger one's place", .noInputNoOutput, known: .authenticatedCombinationP256,
            ends: .unauthenticated,
            [
                (.featuresReceived(.noInputNoOutput, 4), []), (.featuresRequested, [features(.noInputNoOutput, 4)]),
                (.confirmationRequested, [.ask(.consent)]), (.answered(.agrees(true)), [.confirm(true)]),
                (.keyMade(.unauthenticatedCombinationP256), []), (.encrypted(isAESCCM: true), [.readKeySize]),
                (.keySize(16), [.reached(.unauthenticated)]),
            ]),
        Row(
            "a changed key is worth what the one before was", known: .authenticatedCombinationP256, ends: .open,
            [(.keyMade(.changedCombination), [.keep(key(.authenticatedCombinationP256))])]),
        Row(
            "pairing anew does without the key, and the link gets the new one", known: .unauthenticatedCombinationP256,
            ends: .secureConnections,
            [
                (.keyRequested, [.replyKey(key(.unauthenticatedCombinationP256))]), (.encrypted(isAESCCM: true), [.readKeySize]),
                (.keySize(16), [.reached(.unauthenticated)]), (.pairAnew, [.authenticate]), (.pairAnew, []),
                (.keyRequested, [.replyKey(nil)]),
                (.featuresRequested, [features(.displayYesNo, 4)]), (.featuresReceived(.displayYesNo, 5), []),
                (.confirmationRequested, [.ask(.compare(123_456))]), (.answered(.agrees(true)), [.confirm(true)]), (.pairingEnded, []),
                (.keyMade(.authenticatedCombinationP256), [.keep(key(.authenticatedCombinationP256))]),
                (.authenticated(.success), [.refresh]),
                (.encrypted(isAESCCM: true), [.readKeySize]), (.keySize(16), [.reached(.secureConnections)]),
            ]),
        Row(
            "a link is worth the key that it has, not the better one that is kept", known: .authenticatedCombinationP256,
            ends: .unauthenticated,
            [
                (.pairAnew, [.authenticate]), (.keyRequested, [.replyKey(nil)]), (.featuresRequested, [features(.displayYesNo, 4)]),
                (.featuresReceived(.noInputNoOutput, 4), []), (.confirmationRequested, [.confirm(true)]), (.pairingEnded, []),
                (.keyMade(.unauthenticatedCombinationP192), []),
                (.authenticated(.authenticationFailure), [.failed(.authenticationFailure)]),
                (.encrypted(isAESCCM: false), [.readKeySize]), (.keySize(16), [.reached(.unauthenticated)]),
            ]),
        Row(
            "what the other side has begun comes first", known: .unauthenticatedCombinationP256, ends: .unauthenticated,
            [
                (.require(.unauthenticated), [.authenticate]), (.deferred, []),
                (.keyRequested, [.replyKey(key(.unauthenticatedCombinationP256))]), (.encrypted(isAESCCM: true), [.readKeySize]),
                (.keySize(16), [.reached(.unauthenticated)]),
            ]),
        Row(
            "encryption ends before it is measured", known: .authenticatedCombinationP192, ends: .open,
            [
                (.encrypted(isAESCCM: false), [.readKeySize]), (.unencrypted, [.failed(.insufficientSecurity)]), (.keySize(16), []),
            ]),
        Row("a debug key is not kept", ends: .open, [(.keyMade(.debugCombination), [])]),
        Row(
            "no bond is wanted", ends: .open,
            [(.featuresReceived(.displayYesNo, 0), []), (.pairingEnded, []), (.keyMade(.unauthenticatedCombinationP256), [])]),
    ]

    @Test(arguments: known + pairings) func aLinkReachesItsLevel(_ row: Row) {
        var machine = BREDRSecurity(row.settings, known: row.known)
        for (index, step) in row.steps.enumerated() {
            #expect(Self.happens(step.0, &machine, row.settings) == step.1, "step \(index): \(step.0)")
        }
        #expect(machine.level == row.level)
    }

    private static func happens(_ event: Event, _ machine: inout BREDRSecurity, _ settings: PairingSettings?) -> [BREDRSecurity.Action] {
        switch event {
        case .require(let level): return machine.require(level)
        case .pairAnew: return machine.pair(settings ?? PairingSettings())
        case .deferred: machine.deferred()
        case .keyRequested: return machine.keyRequested()
        case .pinRequested: return machine.pinRequested()
        case .featuresRequested: return machine.featuresRequested()
        case .passkeyRequested: return machine.passkeyRequested()
        case .confirmationRequested: return machine.confirmationRequested(123_456)
        case .answered(let answer): return machine.answered(answer)
        case .keyMade(let type): return machine.keyMade(key(type))
        case .authenticated(let status): return machine.authenticated(status)
        case .encrypted(let isAESCCM): return machine.encryptionChanged(.success, isAESCCM: isAESCCM)
        case .unencrypted: return machine.encryptionChanged(.success, isAESCCM: nil)
        case .encryptionFailed: return machine.encryptionChanged(.authenticationFailure, isAESCCM: nil)
        case .keySize(let octets): return machine.keySizeRead(.success, octets: octets)
        case .pairingEnded: machine.pairingEnded(.success)
        case .featuresReceived(let io, let requirements): machine.featuresReceived(SimplePairingFeatures(io, requirements: requirements))
        }
        return []
    }

    // MARK: HCI

    private static let peer = BDADDR(0x1B_DC00_0001)
    private static let handle = ConnectionHandle(0x0042)

    /// Events and resulting commands: numeric comparison started by this device, then a stronger key on the same link.
    @Test func theMachineSpeaksHCI() throws {
        var settings = PairingSettings()
        settings.ioCapability = .displayYesNo
        var machine = BREDRSecurity(settings, known: nil)
        var kept: [LinkKey] = []
        func commands(_ actions: [BREDRSecurity.Action]) -> [HCIPacket] {
            for case .keep(let key) in actions { kept.append(key) }
            return actions.compactMap { $0.command(for: Self.peer, on: Self.handle) }
        }
        func expect(_ event: some HCIEvent, _ packets: HCIPacket..., line: UInt = #line) throws {
            let actions = try #require(try machine.received(HCIPacket(event: event)))
            #expect(commands(actions) == packets, "line \(line)")
        }
        #expect(
            commands(machine.require(.authenticated)) == [
                HCIPacket(command: HCICommands.AuthenticationRequested(connectionHandle: Self.handle))
            ])
        try expect(
            HCIEvents.LinkKeyRequest(bdADDR: Self.peer), HCIPacket(command: HCICommands.LinkKeyRequestNegativeReply(bdADDR: Self.peer)))
        try expect(
            HCIEvents.IOCapabilityRequest(bdADDR: Self.peer),
            HCIPacket(
                command: HCICommands.IOCapabilityRequestReply(
                    bdADDR: Self.peer, ioCapability: .displayYesNo, authenticationRequirements: 5)))
        try expect(HCIEvents.IOCapabilityResponse(bdADDR: Self.peer, ioCapability: .displayYesNo, authenticationRequirements: 4))
        try expect(
            HCIEvents.RemoteOOBDataRequest(bdADDR: Self.peer),
            HCIPacket(command: HCICommands.RemoteOOBDataRequestNegativeReply(bdADDR: Self.peer)))
        try expect(HCIEvents.UserConfirmationRequest(bdADDR: Self.peer, numericValue: 1))
        #expect(
            commands(machine.answered(.agrees(true))) == [HCIPacket(command: HCICommands.UserConfirmationRequestReply(bdADDR: Self.peer))])
        try expect(HCIEvents.SimplePairingComplete(status: .success, bdADDR: Self.peer))
        try expect(HCIEvents.LinkKeyNotification(bdADDR: Self.peer, linkKey: [UInt8](1...16), keyType: .authenticatedCombinationP192))
        #expect(kept == [Self.key(.authenticatedCombinationP192)])
        try expect(
            HCIEvents.AuthenticationComplete(status: .success, connectionHandle: Self.handle),
            HCIPacket(command: HCICommands.SetConnectionEncryption(connectionHandle: Self.handle, encryptionEnable: 1)))
        try expect(
            HCIEvents.EncryptionChange(status: .success, connectionHandle: Self.handle, encryptionEnabled: 1),
            HCIPacket(command: HCICommands.ReadEncryptionKeySize(connectionHandle: Self.handle)))
        #expect(machine.keySizeRead(.success, octets: 16) == [.reached(.authenticated)])
        try expect(
            HCIEvents.PINCodeRequest(bdADDR: Self.peer), HCIPacket(command: HCICommands.PINCodeRequestNegativeReply(bdADDR: Self.peer)))
        try expect(
            HCIEvents.EncryptionChangeV2(status: .success, connectionHandle: Self.handle, encryptionEnabled: 2, encryptionKeySize: 6),
            HCIPacket(command: HCICommands.Disconnect(connectionHandle: Self.handle, reason: .authenticationFailure)))
        #expect(try machine.received(HCIPacket(event: HCIEvents.ConnectionComplete())) == nil)
    }
}
