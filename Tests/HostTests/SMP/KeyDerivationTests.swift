import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Cross-transport key derivation. Core Vol 3, Part C, 14.1; Part H, 2.4.2.4 and 2.4.2.5.
@Suite struct KeyDerivationTests {
    private static func strength(_ isAuthenticated: Bool, _ isSecureConnections: Bool, _ size: Int = 16) -> KeyStrength {
        KeyStrength(isAuthenticated: isAuthenticated, isSecureConnections: isSecureConnections, size: size)
    }

    private static func key(_ type: LinkKeyType, size: Int = 16) -> LinkKey { LinkKey([UInt8](1...16), type, size: size) }

    // MARK: The policy

    /// LE keys by columns: Secure Connections unauthenticated, authenticated, both with 7 octets, authenticated with 6, legacy
    /// authenticated.
    static let longTermKeys = [
        strength(false, true), strength(true, true), strength(false, true, 7), strength(true, true, 7), strength(true, true, 6),
        strength(true, false),
    ]

    /// Existing link key, and the result: derived (+), existing key is stronger (-), impossible (s short, x not Secure Connections).
    static let overLinkKeys: [(known: LinkKey?, row: String)] = [
        (nil, "++++sx"), (key(.combination), "++--sx"), (key(.debugCombination), "++--sx"),
        (key(.unauthenticatedCombinationP192), "++--sx"), (key(.authenticatedCombinationP192), "-+--sx"),
        (key(.changedCombination), "++--sx"), (key(.unauthenticatedCombinationP256), "++--sx"),
        (key(.authenticatedCombinationP256), "-+--sx"), (key(.unauthenticatedCombinationP256, size: 7), "++++sx"),
        (key(.authenticatedCombinationP256, size: 7), "-+-+sx"),
    ]

    /// Link keys by columns, with AES-CCM and 16 octets: types 0...8.
    static let linkKeys = (UInt8(0)...8).map { key(LinkKeyType(rawValue: $0)) }

    static let overLongTermKeys: [(known: KeyStrength?, row: String)] = [
        (nil, "xxxxxxx++"), (strength(false, false, 0), "xxxxxxx++"), (strength(false, false), "xxxxxxx++"),
        (strength(true, false), "xxxxxxx-+"), (strength(false, true), "xxxxxxx++"), (strength(true, true), "xxxxxxx-+"),
        (strength(false, true, 7), "xxxxxxx++"),
    ]

    private static let letters: [Character: KeyDerivationPolicy.Impediment?] = [
        "+": nil, "-": .weaker, "s": .tooShort, "x": .notSecureConnections,
    ]

    @Test(arguments: overLinkKeys) func aLinkKeyComesOfAnLTK(_ row: (known: LinkKey?, row: String)) {
        let addresses = [DeviceAddress(value: 1), DeviceAddress(value: 2)]
        for (source, letter) in zip(Self.longTermKeys, row.row) {
            func impediment(isAgreed: Bool = true, _ identities: [DeviceAddress] = addresses) -> KeyDerivationPolicy.Impediment? {
                KeyDerivationPolicy.impediment(toLinkKeyFrom: source, isAgreed: isAgreed, identities: identities, over: row.known)
            }
            #expect(impediment() == Self.letters[letter] ?? .notAgreed, "\(source)")
            #expect(impediment(isAgreed: false) == .notAgreed)
            let isPossible = letter == "+" || letter == "-"
            for index in addresses.indices {
                var identities = addresses
                identities[index] = DeviceAddress(value: 0xC000_0000_0001, kind: .random)
                #expect(impediment(identities) == (isPossible ? .noPublicIdentity : Self.letters[letter] ?? .notAgreed))
            }
        }
    }

    @Test(arguments: overLongTermKeys) func anLTKComesOfALinkKey(_ row: (known: KeyStrength?, row: String)) {
        for (source, letter) in zip(Self.linkKeys, row.row) {
            func impediment(isAgreed: Bool = true, isAESCCM: Bool = true, size: Int = 16) -> KeyDerivationPolicy.Impediment? {
                let link = BREDREncryption(linkKey: source, isAESCCM: isAESCCM, keySize: size)
                return KeyDerivationPolicy.impediment(toLongTermKeyFrom: link, isAgreed: isAgreed, size: size, over: row.known)
            }
            #expect(impediment() == Self.letters[letter] ?? .notAgreed, "\(source.type)")
            #expect(impediment(isAgreed: false) == .notAgreed)
            let isPossible = letter == "+" || letter == "-"
            #expect(impediment(isAESCCM: false) == (isPossible ? .notAESCCM : .notSecureConnections))
            #expect(impediment(size: 6) == (isPossible ? .tooShort : .notSecureConnections))
            let isShorter = (row.known?.size ?? 0) > 7
            #expect(impediment(size: 7) == (isPossible && isShorter ? .weaker : Self.letters[letter] ?? .notAgreed))
        }
    }

    // MARK: From LE to BR/EDR

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var central = PairingSettings()
        var peripheral = PairingSettings()
        /// Derivation with h7 or h6; nil if the pairing yields no link key.
        var h7: Bool? = false
        var type = LinkKeyType.unauthenticatedCombinationP256
        var size = 16
        /// True if the central uses its public address.
        var isPublic = true

        init(_ name: String, h7: Bool? = false, size: Int = 16, isPublic: Bool = true, _ change: (inout Row) -> Void = { _ in }) {
            (testDescription, self.h7, self.size, self.isPublic) = (name, h7, size, isPublic)
            for settings in [\Row.central, \.peripheral] {
                self[keyPath: settings].localKeys.insert(.linkKey)
                self[keyPath: settings].peerKeys.insert(.linkKey)
                self[keyPath: settings].supportsH7 = h7 ?? false
            }
            change(&self)
        }
    }

    static let rows = [
        Row("both want it"),
        Row("both set CT2", h7: true),
        Row("the central alone sets CT2") { $0.central.supportsH7 = true },
        Row("the peripheral alone sets CT2") { $0.peripheral.supportsH7 = true },
        Row("authenticated") {
            ($0.central.ioCapability, $0.peripheral.ioCapability) = (.displayYesNo, .keyboardDisplay)
            $0.central.asksForMITM = true
            $0.type = .authenticatedCombinationP256
        },
        Row("of 10 octets", h7: true, size: 10) { $0.peripheral.maximumKeySize = 10 },
        Row("the central does not want it", h7: nil) { $0.central.localKeys.remove(.linkKey) },
        Row("the peripheral does not want it", h7: nil) { $0.peripheral.peerKeys.remove(.linkKey) },
        Row("legacy pairing", h7: nil) { $0.peripheral.supportsSecureConnections = false },
        Row("no bond", h7: nil) { $0.peripheral.isBonding = false },
        Row("no address on BR/EDR", h7: nil, isPublic: false),
    ]

    private static let central = DeviceAddress(value: 0xA1A2_A3A4_A5A6)

    private func pair(_ row: Row) -> PairingLab {
        var lab = PairingLab(row.central, row.peripheral)
        if row.isPublic { lab[.central].setup.identity = Self.central }
        lab.pair()
        return lab
    }

    @Test(arguments: rows) func aPairingOfLELeavesALinkKey(_ row: Row) throws {
        let lab = pair(row)
        #expect(lab[.central].error == nil && lab[.central].result != nil && lab[.peripheral].result != nil)
        let keys = [lab[.central].bond?.linkKey, lab[.peripheral].bond?.linkKey]
        guard let h7 = row.h7 else { return #expect(keys == [nil, nil]) }
        let key = try #require(keys[0])
        #expect(keys[1] == key && key.type == row.type && key.size == row.size)
        let longTermKey = try #require(lab[.central].bond?.peerLongTermKey)
        let derived = KeyDerivation.linkKey(fromLTK: UInt128(littleEndianOctets: longTermKey.value), h7: h7).littleEndianOctets
        // The LTK is shortened after the derivation.
        #expect((key.value == derived) == (row.size == 16))
    }

    @Test func aPairingKeepsTheBetterLinkKey() throws {
        for (known, isKept) in [(Self.key(.authenticatedCombinationP256), true), (Self.key(.unauthenticatedCombinationP192), false)] {
            var row = Row("")
            row.h7 = nil
            var lab = PairingLab(row.central, row.peripheral)
            lab[.central].setup.identity = Self.central
            lab[.central].setup.bond = Bond(PairingLab.peripheral)
            lab[.central].setup.bond?.linkKey = known
            lab.pair()
            let bond = try #require(lab[.central].bond)
            #expect((bond.linkKey == nil) == isKept)
            #expect((bond.keepingLinkKey(of: lab[.central].setup.bond).linkKey == known) == isKept)
        }
    }

    // MARK: The store

    @Test func oneDeviceHasOneBond() {
        let keys = KeyStore()
        let address = DeviceAddress(value: 0x1B_DC00_0001)
        keys.add(Bond(address, localLongTermKey: LongTermKey([UInt8](1...16)), isAuthenticated: true, isSecureConnections: true))
        keys.keep(Self.key(.authenticatedCombinationP192), of: address.bdADDR)
        keys.keep(LinkKey([UInt8](2...17), .changedCombination), of: address.bdADDR)
        #expect(keys.all.count == 1 && keys.all.first?.linkKey == LinkKey([UInt8](2...17), .authenticatedCombinationP192))
        #expect(keys.all.first?.localLongTermKey != nil && keys.all.first?.isAuthenticated == true)
        keys.keep(Self.key(.changedCombination), of: BDADDR(0x1B_DC00_0002))
        #expect(keys.all.map(\.linkKey?.type) == [.authenticatedCombinationP192, .changedCombination])
    }
}
