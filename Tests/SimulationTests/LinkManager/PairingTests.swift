import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Authentication, pairing and encryption: messages of both link managers and reports to both hosts. Core Vol 2, Part C, 4.2; Part H.
@Suite struct PairingTests {
    /// Properties and replies of the host in a row.
    struct Host: Sendable {
        var capability = IOCapability.displayYesNo
        var requirements: UInt8 = 1
        var key: [UInt8]?
        var pin: [UInt8]? = Array("0000".utf8)
        var confirms = true
        var passkey: UInt32? = 123_456
        var sendsOutOfBandData = false
        var isOldHost = false
        var isSecure = true
        var refusesIO: ErrorCode?
        var keySizes: ClosedRange<UInt8> = 7...16
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout Host, inout Host) -> Void = { _, _ in }
        var initiatorIsPeripheral = false
        /// Reports of the authenticating device, and of the other.
        var initiator: [String]
        var responder: [String]
        /// Expected PDUs, if relevant.
        var pdus: [String]?
        /// Replacement for a PDU.
        var tamper: (@Sendable (LMP.Message, _ isOfInitiator: Bool) -> (any LMPPDU)?)?
    }

    static let key = [UInt8](0x10...0x1F)
    static let otherKey = [UInt8](0x20...0x2F)
    private static let old: @Sendable (inout Host, inout Host) -> Void = { a, b in (a.isOldHost, b.isOldHost) = (true, true) }
    private static let p192: @Sendable (inout Host, inout Host) -> Void = { a, b in (a.isSecure, b.isSecure) = (false, false) }

    /// Key exchange by initiator I and responder R.
    private static func keys(_ payloads: Int) -> [String] { all(key("I", "R", payloads), key("R", "I", payloads)) }

    private static func key(_ from: String, _ to: String, _ payloads: Int) -> [String] {
        var result = ["\(from) encapsulatedHeader", "\(to) +encapsulatedHeader"]
        for _ in 0..<payloads { result += ["\(from) encapsulatedPayload", "\(to) +encapsulatedPayload"] }
        return result
    }

    static func all(_ parts: [String]...) -> [String] { parts.flatMap(\.self) }

    private static let io = ["I ioCapabilityReq", "R ioCapabilityRes"]
    private static let comparison = [
        "R simplePairingConfirm", "I simplePairingNumber", "R +simplePairingNumber", "R simplePairingNumber", "I +simplePairingNumber",
    ]
    private static let check = ["I dhKeyCheck", "R +dhKeyCheck", "R dhKeyCheck", "I +dhKeyCheck"]
    private static let legacy = ["I auRand", "R sres", "R auRand", "I sres"]
    /// The peripheral responds first.
    private static let secureByCentral = ["I auRand", "R auRand", "R sres", "I sres"]
    private static let secureByPeripheral = ["I auRand", "R auRand", "I sres", "R sres"]
    private static let round = [
        "I simplePairingConfirm", "R simplePairingConfirm", "I simplePairingNumber", "R +simplePairingNumber", "R simplePairingNumber",
        "I +simplePairingNumber",
    ]

    private static let rounds = [[String]](repeating: round, count: 20).flatMap(\.self)
    private static let numbers = Array(comparison.dropFirst())

    private static let known: [Row] = [
        Row(
            testDescription: "legacy authentication with a known key",
            change: { a, b in
                p192(&a, &b)
                (a.key, b.key) = (key, key)
            }, initiator: ["key?", "authenticated 00"], responder: ["key?"], pdus: ["I auRand", "R sres"]),
        Row(
            testDescription: "secure authentication with a known key, begun by the central",
            change: { a, b in (a.key, b.key) = (key, key) },
            initiator: ["key?", "authenticated 00"], responder: ["key?"], pdus: secureByCentral),
        Row(
            testDescription: "secure authentication with a known key, begun by the peripheral",
            change: { a, b in (a.key, b.key) = (key, key) }, initiatorIsPeripheral: true, initiator: ["key?", "authenticated 00"],
            responder: ["key?"], pdus: secureByPeripheral),
        Row(
            testDescription: "the other side has no key", change: { a, _ in a.key = key }, initiator: ["key?", "authenticated 06"],
            responder: ["key?"], pdus: ["I auRand", "R -auRand 06"]),
        Row(
            testDescription: "legacy authentication with another key",
            change: { a, b in
                p192(&a, &b)
                (a.key, b.key) = (key, otherKey)
            }, initiator: ["key?", "authenticated 05", "disconnected 16"], responder: ["key?", "disconnected 05"],
            pdus: ["I auRand", "R sres", "I detach"]),
        Row(
            testDescription: "secure authentication with another key, seen by the central",
            change: { a, b in (a.key, b.key) = (key, otherKey) },
            initiator: ["key?", "authenticated 05", "disconnected 16"], responder: ["key?", "disconnected 05"],
            pdus: ["I auRand", "R auRand", "R sres", "I detach"]),
        Row(
            testDescription: "secure authentication with another key, begun by the peripheral",
            change: { a, b in (a.key, b.key) = (key, otherKey) }, initiatorIsPeripheral: true,
            initiator: ["key?", "authenticated 05", "disconnected 05"], responder: ["key?", "disconnected 16"],
            pdus: ["I auRand", "R auRand", "I sres", "R detach"]),
    ]

    private static let pins: [Row] = [
        Row(
            testDescription: "PIN", change: old, initiator: ["key?", "PIN?", "key 0", "authenticated 00"], responder: ["PIN?", "key 0"],
            pdus: all(["I inRand", "R +inRand", "I combKey", "R combKey"], legacy)),
        Row(
            testDescription: "another PIN",
            change: { a, b in
                old(&a, &b)
                b.pin = [0x31]
            }, initiator: ["key?", "PIN?", "authenticated 05", "disconnected 16"], responder: ["PIN?", "disconnected 05"]),
        Row(
            testDescription: "the other side's user has no PIN",
            change: { a, b in
                old(&a, &b)
                b.pin = nil
            }, initiator: ["key?", "PIN?", "authenticated 18"], responder: ["PIN?"], pdus: ["I inRand", "R -inRand 18"]),
        Row(
            testDescription: "no PIN",
            change: { a, b in
                old(&a, &b)
                a.pin = nil
            }, initiator: ["key?", "PIN?", "authenticated 06"], responder: [], pdus: []),
    ]

    private static let paired = ["key?", "IO?", "IO 1 1", "number?", "paired 00"]
    private static let simple: [Row] = [
        Row(
            testDescription: "numeric comparison on P-256", initiator: all(paired, ["key 8", "authenticated 00"]),
            responder: ["IO 1 1", "IO?", "number?", "paired 00", "key 8"], pdus: all(io, keys(4), comparison, check, secureByCentral)),
        Row(
            testDescription: "numeric comparison on P-256, begun by the peripheral", initiatorIsPeripheral: true,
            initiator: all(paired, ["key 8", "authenticated 00"]), responder: ["IO 1 1", "IO?", "number?", "paired 00", "key 8"],
            pdus: all(io, keys(4), comparison, check, secureByPeripheral)),
        Row(
            testDescription: "numeric comparison on P-192", change: p192, initiator: all(paired, ["key 5", "authenticated 00"]),
            responder: ["IO 1 1", "IO?", "number?", "paired 00", "key 5"], pdus: all(io, keys(3), comparison, check, legacy)),
        Row(
            testDescription: "just works",
            change: { _, b in b.capability = .noInputNoOutput },
            initiator: ["key?", "IO?", "IO 3 1", "number?", "paired 00", "key 7", "authenticated 00"],
            responder: ["IO 1 1", "IO?", "number?", "paired 00", "key 7"]),
        Row(
            testDescription: "nobody asks for protection",
            change: { a, b in (a.requirements, b.requirements) = (4, 2) },
            initiator: ["key?", "IO?", "IO 1 2", "number?", "paired 00", "key 7", "authenticated 00"],
            responder: ["IO 1 4", "IO?", "number?", "paired 00", "key 7"]),
        Row(
            testDescription: "passkey, which the responder enters", change: { _, b in b.capability = .keyboardOnly },
            initiator: ["key?", "IO?", "IO 2 1", "passkey shown", "paired 00", "key 8", "authenticated 00"],
            responder: ["IO 1 1", "IO?", "passkey?", "paired 00", "key 8"],
            pdus: all(io, keys(4), rounds, check, secureByCentral)),
        Row(
            testDescription: "passkey, which the initiator enters, on P-192",
            change: { a, b in
                p192(&a, &b)
                a.capability = .keyboardOnly
            }, initiator: ["key?", "IO?", "IO 1 1", "passkey?", "paired 00", "key 5", "authenticated 00"],
            responder: ["IO 2 1", "IO?", "passkey shown", "paired 00", "key 5"]),
        Row(
            testDescription: "passkey, which both enter", change: { a, b in (a.capability, b.capability) = (.keyboardOnly, .keyboardOnly) },
            initiator: ["key?", "IO?", "IO 2 1", "passkey?", "paired 00", "key 8", "authenticated 00"],
            responder: ["IO 2 1", "IO?", "passkey?", "paired 00", "key 8"]),
        Row(
            testDescription: "data out of band, both ways", change: { a, b in (a.sendsOutOfBandData, b.sendsOutOfBandData) = (true, true) },
            initiator: ["key?", "IO?", "IO 1 1", "OOB?", "paired 00", "key 8", "authenticated 00"],
            responder: ["IO 1 1", "IO?", "OOB?", "paired 00", "key 8"],
            pdus: all(io, keys(4), numbers, check, secureByCentral)),
        Row(
            testDescription: "data out of band, one way, on P-192",
            change: { a, b in
                p192(&a, &b)
                a.sendsOutOfBandData = true
            }, initiator: ["key?", "IO?", "IO 1 1", "paired 00", "key 5", "authenticated 00"],
            responder: ["IO 1 1", "IO?", "OOB?", "paired 00", "key 5"]),
    ]

    private static let failing: [Row] = [
        Row(
            testDescription: "the initiator's user says no", change: { a, _ in a.confirms = false },
            initiator: ["key?", "IO?", "IO 1 1", "number?", "paired 05", "authenticated 05"],
            responder: ["IO 1 1", "IO?", "number?", "paired 05"], pdus: all(io, keys(4), comparison, ["I numericComparisonFailed"])),
        Row(
            testDescription: "the responder's user says no", change: { _, b in b.confirms = false },
            initiator: ["key?", "IO?", "IO 1 1", "number?", "paired 05", "authenticated 05"],
            responder: ["IO 1 1", "IO?", "number?", "paired 05"], pdus: all(io, keys(4), comparison, ["I dhKeyCheck", "R -dhKeyCheck 05"])),
        Row(
            testDescription: "another passkey",
            change: { a, b in (a.capability, b.capability, b.passkey) = (.keyboardOnly, .keyboardOnly, 123_457) },
            initiator: ["key?", "IO?", "IO 2 1", "passkey?", "paired 05", "authenticated 05"],
            responder: ["IO 2 1", "IO?", "passkey?", "paired 05"],
            pdus: all(io, keys(4), Array(round.prefix(3)), ["R -simplePairingNumber 05"])),
        Row(
            testDescription: "the initiator's user enters nothing",
            change: { a, b in (a.capability, b.capability, a.passkey) = (.keyboardOnly, .keyboardOnly, nil) },
            initiator: ["key?", "IO?", "IO 2 1", "passkey?", "paired 05", "authenticated 05"],
            responder: ["IO 2 1", "IO?", "passkey?", "paired 05"], pdus: all(io, keys(4), ["I passkeyFailed"])),
        Row(
            testDescription: "the responder's user enters nothing",
            change: { _, b in (b.capability, b.passkey) = (.keyboardOnly, nil) },
            initiator: ["key?", "IO?", "IO 2 1", "passkey shown", "paired 05", "authenticated 05"],
            responder: ["IO 1 1", "IO?", "passkey?", "paired 05"],
            pdus: all(io, keys(4), ["I simplePairingConfirm", "R -simplePairingConfirm 05"])),
        Row(
            testDescription: "the responder's host refuses", change: { _, b in b.refusesIO = .pairingNotAllowed },
            initiator: ["key?", "IO?", "paired 18", "authenticated 18"], responder: ["IO 1 1", "IO?", "paired 05"],
            pdus: ["I ioCapabilityReq", "R -ioCapabilityReq 18"]),
    ]

    /// Changes by a man in the middle or a hostile device.
    private static let attacks: [Row] = [
        Row(
            testDescription: "another nonce than was committed to",
            initiator: ["key?", "IO?", "IO 1 1", "paired 05", "authenticated 05"], responder: ["IO 1 1", "IO?", "paired 05"],
            pdus: all(io, keys(4), Array(comparison.dropLast()), ["I -simplePairingNumber 05"]),
            tamper: { pdu, isOfInitiator in
                guard !isOfInitiator, case .simplePairingNumber = pdu else { return nil }
                return LMP.SimplePairingNumber(nonceValue: key)
            }),
        Row(
            testDescription: "another check", initiator: ["key?", "IO?", "IO 1 1", "number?", "paired 05", "authenticated 05"],
            responder: ["IO 1 1", "IO?", "number?", "paired 05"], pdus: all(io, keys(4), comparison, ["I dhKeyCheck", "R -dhKeyCheck 05"]),
            tamper: { pdu, isOfInitiator in
                guard isOfInitiator, case .dhKeyCheck = pdu else { return nil }
                return LMP.DHKeyCheck(confirmationValue: key)
            }),
        Row(
            testDescription: "an invalid point on P-256 (CVE-2018-5383)",
            initiator: ["key?", "IO?", "IO 1 1", "paired 05", "authenticated 05"], responder: ["IO 1 1", "IO?", "paired 05"],
            pdus: all(io, Array(keys(4).prefix(9)), ["R -encapsulatedPayload 1E"]),
            tamper: { pdu, isOfInitiator in
                guard isOfInitiator, case .encapsulatedPayload = pdu else { return nil }
                return LMP.EncapsulatedPayload(encapsulatedData: [UInt8](repeating: 0, count: 16))
            }),
        Row(
            testDescription: "an invalid point on P-192", change: p192,
            initiator: ["key?", "IO?", "IO 1 1", "paired 05", "authenticated 05"], responder: ["IO 1 1", "IO?", "paired 05"],
            tamper: { pdu, isOfInitiator in
                guard !isOfInitiator, case .encapsulatedPayload = pdu else { return nil }
                return LMP.EncapsulatedPayload(encapsulatedData: [UInt8](repeating: 1, count: 16))
            }),
        Row(
            testDescription: "a key on the other curve", initiator: ["key?", "IO?", "IO 1 1", "paired 05", "authenticated 05"],
            responder: ["IO 1 1", "IO?", "paired 05"], pdus: all(io, ["I encapsulatedHeader", "R -encapsulatedHeader 20"]),
            tamper: { pdu, _ in
                guard case .encapsulatedHeader = pdu else { return nil }
                return LMP.EncapsulatedHeader(encapsulatedMajorType: 1, encapsulatedMinorType: 1, encapsulatedPayloadLength: 48)
            }),
    ]

    private static func host(_ host: Host, _ seed: UInt64) -> LinkManagerSettings {
        var features: LMPHostFeatures = host.isOldHost ? [] : .simplePairing
        if host.isSecure, !host.isOldHost { features.insert(.secureConnections) }
        var settings = LMPBench.settings("host", host: features)
        settings.keySizes = host.keySizes
        if host.sendsOutOfBandData {
            var secrets = SecretSource(seed: seed, label: "host", on: RunLoop())
            settings.outOfBand = LocalOutOfBandData(using: &secrets)
        }
        return settings
    }

    /// Reply of a host; a displayed passkey is entered by the other user.
    private static func answer(_ host: Host, _ other: Host, _ peer: LinkManagerSettings) -> (ACLReport) -> ACLReply? {
        { report in
            switch report {
            case .connectionRequested: .acceptsConnection(asCentral: false)
            case .linkKeyRequested: host.key.map { .linkKey($0) } ?? .noLinkKey
            case .pinRequested: host.pin.map { .pin($0) } ?? .noPIN
            case .ioCapabilityRequested:
                host.refusesIO.map { .noIOCapability($0) }
                    ?? .ioCapability(
                        IOOffer(
                            capability: host.capability, hasOutOfBandData: other.sendsOutOfBandData, requirements: host.requirements))
            case .userConfirmationRequested: .confirmsNumber(host.confirms)
            case .outOfBandDataRequested:
                .outOfBandData(
                    peer.outOfBand.map {
                        RemoteOutOfBandData(
                            p192: [$0.commitment192.littleEndianOctets, $0.random192.littleEndianOctets],
                            p256: [$0.commitment256.littleEndianOctets, $0.random256.littleEndianOctets])
                    })
            default: nil
            }
        }
    }

    @Test(arguments: known + pins + simple + failing + attacks) func pairing(_ row: Row) throws {
        var (one, two) = (Host(), Host())
        row.change(&one, &two)
        let isSwapped = row.initiatorIsPeripheral
        let settings = (Self.host(one, 1), Self.host(two, 2))
        let bench = isSwapped ? LMPBench(a: settings.1, b: settings.0) : LMPBench(a: settings.0, b: settings.1)
        let (initiator, responder) = isSwapped ? (bench.b, bench.a) : (bench.a, bench.b)
        try bench.connect()
        play(one, two, settings.1, at: initiator, other: responder)
        play(two, one, settings.0, at: responder, other: initiator)
        if let tamper = row.tamper {
            bench.onTheWay = { pdu, sender in
                guard let message = LMPMessage(pdu) else { return pdu }
                return tamper(message.pdu, (sender == "B") == isSwapped)?.bytes(message.transaction) ?? pdu
            }
        }
        #expect(initiator.connection.authenticate() == .success)
        try bench.run(10_000_000)
        #expect(initiator.log == row.initiator)
        #expect(responder.log == row.responder)
        if let pdus = row.pdus {
            let letters = bench.sent.map { ($0.hasPrefix("A") == isSwapped ? "R" : "I") + $0.dropFirst(2) }
            #expect(letters == pdus)
        }
        // All PDUs belong to one transaction of the initiator.
        #expect(bench.sent.allSatisfy { $0.hasSuffix("detach") || $0.dropFirst().first == (isSwapped ? "1" : "0") })
        if row.initiator.last == "authenticated 00" {
            #expect(initiator.connection.state.security == responder.connection.state.security)
            #expect(initiator.connection.state.security.linkKey != nil)
        }
    }

    /// A host with a user who enters the passkey displayed on the other device.
    private func play(_ host: Host, _ other: Host, _ peer: LinkManagerSettings, at end: LMPEnd, other otherEnd: LMPEnd) {
        let answer = Self.answer(host, other, peer)
        end.answers = { [unowned end, unowned otherEnd] report in
            if case .passkeyShown(let number) = report, other.passkey != nil { otherEnd.enter(number) }
            guard case .passkeyRequested = report else { return answer(report) }
            guard let own = host.passkey else { return .noPasskey }
            return other.capability == .keyboardOnly ? .passkey(own) : end.entered.map { .passkey($0) }
        }
    }

    /// A complete link as recorded between two real controllers: the paged device becomes central, the other one pairs and encrypts, then
    /// the central authenticates.
    @Test func recorded() throws {
        let bench = LMPBench()
        var key: [UInt8]?
        for end in [bench.a, bench.b] {
            end.answers = { report in
                switch report {
                case .connectionRequested: return .acceptsConnection(asCentral: true)
                case .linkKeyRequested: return key.map { .linkKey($0) } ?? .noLinkKey
                case .ioCapabilityRequested:
                    return .ioCapability(IOOffer(capability: .displayYesNo, hasOutOfBandData: false, requirements: 3))
                case .userConfirmationRequested: return .confirmsNumber(true)
                case .linkKey(let new, _):
                    key = new
                    return nil
                default: return nil
                }
            }
        }
        let (p, c) = (bench.a.connection, bench.b.connection)
        p?.establish()
        try bench.run()
        #expect(p?.authenticate() == .success)
        try bench.run()
        #expect(p?.setEncryption(isOn: true) == .success)
        try bench.run()
        #expect(c?.authenticate() == .success)
        try bench.run()
        #expect(p?.disconnect(.remoteUserTerminatedConnection) == .success)
        try bench.run()
        let setUp = [
            "A0 featuresReq", "B0 featuresRes", "A0 featuresReqExt", "B0 featuresResExt", "A0 featuresReqExt", "B0 featuresResExt",
            "A0 hostConnectionReq", "B1 slotOffset", "B1 switchReq", "A1 +switchReq", "B0 +hostConnectionReq", "B0 setupComplete",
            "A1 setupComplete",
        ]
        #expect(Array(bench.sent.prefix(setUp.count)) == setUp)
        let named = { (letters: [String]) in letters.map { ($0.hasPrefix("I") ? "A1" : "B1") + $0.dropFirst() } }
        let security =
            Self.all(
                named(Self.all(Self.io, Self.keys(4), Self.comparison, Self.check, Self.secureByPeripheral)),
                [
                    "A1 encryptionModeReq", "B1 +encryptionModeReq", "B1 encryptionKeySizeReq", "A1 +encryptionKeySizeReq",
                    "B1 startEncryptionReq", "A1 +startEncryptionReq", "B0 auRand", "A0 auRand", "A0 sres", "B0 sres", "A1 detach",
                ])
        #expect(Array(bench.sent.suffix(security.count)) == security)
        #expect(bench.b.log.last == "disconnected 13")
    }
}
