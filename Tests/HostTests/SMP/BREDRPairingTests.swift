import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Pairing over BR/EDR. Core Vol 3, Part H, 2.4.2.5, 3.5.1 and 3.6.1.
@Suite struct BREDRPairingTests {
    /// Both ends of a link; the first is the central.
    private struct Lab {
        struct End {
            var machine = BREDRPairing()
            var setup: PairingSetup
            var link: BREDREncryption?
            var bond: Bond?
            var result: PairingResult?
            var error: HostError?
        }

        var ends: [End]
        var transcript: [String] = []
        /// Modification of a PDU in transit.
        var onTheWay: (Int, [UInt8]) -> [UInt8] = { $1 }
        private var mail: [(to: Int, pdu: [UInt8])] = []

        init(_ row: Row) {
            let addresses = [DeviceAddress(value: 0xA1A2_A3A4_A5A6), DeviceAddress(value: 0xB1B2_B3B4_B5B6)]
            ends = [row.central, row.peripheral].enumerated().map { index, settings in
                var link = row.link
                link?.keySize = row.sizes[index]
                let setup = PairingSetup(
                    settings: index == 0 || row.pairs ? settings : nil, isCentral: index == 0, own: addresses[index],
                    peer: addresses[1 - index],
                    identity: index == 1 ? row.identity ?? addresses[1] : addresses[0],
                    identityResolvingKey: [UInt8](repeating: UInt8(index + 1), count: 16), bond: index == 1 ? row.known : nil,
                    outOfBand: nil, mustWait: false, secrets: SecretSource(seed: UInt64(index), label: "end", on: RunLoop()),
                    quirks: PairingQuirks())
                return End(setup: setup, link: link)
            }
        }

        mutating func pair() {
            guard let settings = ends[0].setup.settings, let link = ends[0].link else { return }
            perform(ends[0].machine.pair(ends[0].setup, settings, over: link, at: 0), 0)
            run()
        }

        mutating func inject(_ pdu: [UInt8], to index: Int) {
            mail.append((index, pdu))
            run()
        }

        private mutating func run() {
            while !mail.isEmpty {
                let (index, pdu) = mail.removeFirst()
                perform(ends[index].machine.received(pdu, ends[index].setup, over: ends[index].link, at: 0), index)
            }
        }

        private mutating func perform(_ actions: [SecurityAction], _ index: Int) {
            for action in actions {
                switch action {
                case .send(let pdu):
                    transcript.append((index == 0 ? "C" : "P") + hex([pdu[0]]))
                    mail.append((1 - index, onTheWay(index, pdu)))
                case .completed(let result, let bond, _): (ends[index].result, ends[index].bond) = (result, bond)
                case .failed(let error): ends[index].error = error
                case .ask, .keypress, .encrypt: Issue.record("\(action)")
                }
            }
            #expect((ends[index].machine.deadline != nil) == ends[index].machine.isBusy)
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// C or P and the opcode.
        var transcript: String
        var central = PairingSettings()
        var peripheral = PairingSettings()
        /// True if the peripheral supports pairing.
        var pairs = true
        var link: BREDREncryption? = BREDREncryption(
            linkKey: LinkKey([UInt8](1...16), .authenticatedCombinationP256), isAESCCM: true, keySize: 16)
        /// Encryption key size in octets as known to each device.
        var sizes = [16, 16]
        /// Identity address distributed by the peripheral.
        var identity: DeviceAddress?
        /// The peripheral's existing bond with the central.
        var known: Bond?
        var h7 = false
        var size = 16
        /// Reason of the failure.
        var reason: PairingFailedReason?

        init(_ name: String, _ transcript: String, _ reason: PairingFailedReason? = nil, _ change: (inout Row) -> Void = { _ in }) {
            (testDescription, self.transcript, self.reason) = (name, transcript, reason)
            change(&self)
        }
    }

    private static let unauthenticated = BREDREncryption(
        linkKey: LinkKey([UInt8](1...16), .unauthenticatedCombinationP256), isAESCCM: true, keySize: 16)
    private static let stronger = Bond(
        DeviceAddress(value: 0xA1A2_A3A4_A5A6), localLongTermKey: LongTermKey([UInt8](1...16)), isAuthenticated: true,
        isSecureConnections: true)

    static let rows = [
        Row("the usual keys", "C01 P02 P08 P09 C08 C09"),
        Row("all keys", "C01 P02 P08 P09 P0a C08 C09 C0a") { row in
            (row.central.localKeys, row.central.peerKeys) = ([.encKey, .idKey, .signKey], [.encKey, .idKey, .signKey, .linkKey])
            (row.peripheral.localKeys, row.peripheral.peerKeys) = (row.central.localKeys, row.central.peerKeys)
        },
        Row("the LTK alone", "C01 P02") { ($0.central.localKeys, $0.central.peerKeys) = (.encKey, .encKey) },
        Row("both set CT2", "C01 P02 P08 P09 C08 C09") {
            ($0.central.supportsH7, $0.peripheral.supportsH7, $0.h7) = (true, true, true)
        },
        Row("the central alone sets CT2", "C01 P02 P08 P09 C08 C09") { $0.central.supportsH7 = true },
        Row("unauthenticated", "C01 P02 P08 P09 C08 C09") { $0.link = unauthenticated },
        Row("a key of 7 octets", "C01 P02 P08 P09 C08 C09") { ($0.sizes, $0.size) = ([16, 7], 7) },
        Row("the renewed key renews the LTK", "C01 P02 P08 P09 C08 C09") { $0.known = stronger },
        Row("a static identity on LE", "C01 P02 P08 P09 C08 C09") { $0.identity = DeviceAddress(value: 0xC000_0000_0001, kind: .random) },
        Row("a host that does not pair", "C01 P05", .pairingNotSupported) { $0.pairs = false },
        Row("a key of P-192", "", .generationNotAllowed) { $0.link?.linkKey.type = .authenticatedCombinationP192 },
        Row("E0", "", .generationNotAllowed) { $0.link?.isAESCCM = false },
        Row("a key of 6 octets", "", .generationNotAllowed) { $0.sizes = [6, 6] },
        Row("a key of 6 octets as the peripheral sees it", "C01 P05", .generationNotAllowed) { $0.sizes = [16, 6] },
        Row("less than the least size", "C01 P05", .encryptionKeySize) { ($0.sizes, $0.peripheral.minimumKeySize) = ([10, 16], 16) },
        Row("an unauthenticated key over a better one", "C01 P05", .generationNotAllowed) {
            ($0.link, $0.known) = (unauthenticated, stronger)
        },
        Row("a shorter key over a better one", "C01 P05", .generationNotAllowed) { ($0.sizes, $0.known) = ([15, 16], stronger) },
    ]

    @Test(arguments: rows) func aLinkKeyLeavesAnLTK(_ row: Row) throws {
        var lab = Lab(row)
        lab.pair()
        #expect(lab.transcript.joined(separator: " ") == row.transcript)
        #expect(lab.ends.allSatisfy { !$0.machine.isBusy })
        if let reason = row.reason {
            let expected = lab.transcript.isEmpty ? HostError.peer(.pairingRefused(reason)) : .peer(.pairingFailed(reason))
            return #expect(lab.ends[0].error == expected && lab.ends.allSatisfy { $0.bond == nil && $0.result == nil })
        }
        let linkKey = try #require(row.link?.linkKey)
        let key = LongTermKey(derivedFrom: linkKey, size: row.size, h7: row.h7)
        #expect(key.value.dropFirst(row.size).allSatisfy { $0 == 0 })
        for (index, end) in lab.ends.enumerated() {
            let bond = try #require(end.bond)
            #expect(bond.localLongTermKey == key && bond.peerLongTermKey == key && bond.isSecureConnections)
            #expect(bond.isAuthenticated == (linkKey.type == .authenticatedCombinationP256))
            let identity = index == 0 ? row.identity ?? end.setup.peer : end.setup.peer
            #expect(bond.identity == identity && bond.linkKey == (identity == end.setup.peer ? linkKey : nil))
            #expect((bond.identityResolvingKey != nil) == (lab.transcript.count > 2))
            #expect(end.error == nil && end.result?.keySize == row.size && end.result?.isBonded == true)
        }
    }

    struct WrongRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Sender and opcode of a PDU, and its replacement.
        var sender: Int
        var opcode: UInt8
        var becomes: [UInt8]
        var reason: PairingFailedReason
    }

    static let wrong = [
        WrongRow(
            testDescription: "a key of 6 octets asked for", sender: 0, opcode: 0x01, becomes: [1, 0, 0, 0, 6, 3, 3],
            reason: .encryptionKeySize),
        WrongRow(
            testDescription: "a key of 17 octets asked for", sender: 0, opcode: 0x01, becomes: [1, 0, 0, 0, 17, 3, 3],
            reason: .invalidParameters),
        WrongRow(
            testDescription: "a request cut short", sender: 0, opcode: 0x01, becomes: [1, 0, 0, 0, 16, 3], reason: .invalidParameters),
        WrongRow(
            testDescription: "keys that nobody asked for", sender: 1, opcode: 0x02, becomes: [2, 0, 0, 0, 16, 7, 7],
            reason: .invalidParameters),
        WrongRow(
            testDescription: "an LTK that is told", sender: 1, opcode: 0x08, becomes: [6] + [UInt8](repeating: 1, count: 16),
            reason: .unspecifiedReason),
        WrongRow(
            testDescription: "a public key", sender: 1, opcode: 0x02, becomes: [0x0C] + [UInt8](repeating: 1, count: 64),
            reason: .unspecifiedReason),
    ]

    @Test(arguments: wrong) func whatIsWrongEndsIt(_ row: WrongRow) {
        var lab = Lab(Row("", ""))
        lab.onTheWay = { $0 == row.sender && $1.first == row.opcode ? row.becomes : $1 }
        lab.pair()
        let (told, telling) = (lab.ends[row.sender], lab.ends[1 - row.sender])
        #expect(told.error == .peer(.pairingFailed(row.reason)) || row.opcode == 0x08, "\(lab.transcript)")
        #expect(telling.error == .peer(.pairingRefused(row.reason)) || row.sender == 0)
        #expect(telling.bond == nil && telling.result == nil && lab.ends.allSatisfy { !$0.machine.isBusy })
    }

    /// Fields reserved on BR/EDR are ignored.
    @Test func reservedFieldsAreIgnored() {
        var lab = Lab(Row("", ""))
        lab.onTheWay = { _, pdu in [1, 2].contains(pdu[0]) ? [pdu[0], 0xFF, 0xFF, 0xDF, pdu[4]] + pdu[5...].map { $0 | 0xF0 } : pdu }
        lab.pair()
        #expect(lab.ends.allSatisfy { $0.bond?.localLongTermKey != nil }, "\(lab.transcript)")
    }

    @Test func thePeripheralWaitsAndSilenceEndsIt() {
        var lab = Lab(Row("", ""))
        let link = BREDREncryption(linkKey: LinkKey([UInt8](1...16), .authenticatedCombinationP256), isAESCCM: true, keySize: 16)
        #expect(lab.ends[1].machine.pair(lab.ends[1].setup, PairingSettings(), over: link, at: 0).isEmpty)
        lab.inject([1, 0, 0, 0, 16, 3, 3], to: 0)
        lab.inject([5, 8], to: 0)
        lab.inject([2, 0, 0, 0, 16, 3, 3], to: 1)
        #expect(lab.transcript == ["C05"] && lab.ends.allSatisfy { $0.error == nil })
        _ = lab.ends[0].machine.pair(lab.ends[0].setup, PairingSettings(), over: link, at: 1_000)
        #expect(lab.ends[0].machine.deadline == 1_000 + SecurityManager.timeOut)
        #expect(lab.ends[0].machine.expire() == [.failed(.peer(.timedOut(.pairing)))])
        #expect(lab.ends[0].machine.pair(lab.ends[0].setup, PairingSettings(), over: link, at: 2_000).isEmpty)
        lab.inject([2, 0, 0, 0, 16, 3, 3], to: 0)
        #expect(lab.transcript == ["C05"] && lab.ends[0].machine.deadline == nil)
    }
}
