import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// A peer's OOB data flag is trusted only as far as it can be proven. Core Vol 3, Part H, 2.3.5.6.4; Vol 2, Part H, 7.2.2.
struct OutOfBandClaimTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var victim: PairingLab.Side
        /// The victim has created out-of-band data.
        var hasTold: Bool
        /// The victim has out-of-band data from another device.
        var hasOther: Bool
        var level: LinkSecurity
        var isSecureConnections: Bool
        var testDescription: String {
            "\(victim) \(level)\(hasTold ? ", told" : "")\(hasOther ? ", has others'" : "")\(isSecureConnections ? "" : ", legacy")"
        }
    }

    static let rows: [Row] = [PairingLab.Side.central, .peripheral].flatMap { victim in
        [false, true].flatMap { hasTold in
            [false, true].flatMap { hasOther in
                [LinkSecurity.encrypted, .authenticated, .secureConnections].flatMap { level in
                    [false, true].map {
                        Row(victim: victim, hasTold: hasTold, hasOther: hasOther, level: level, isSecureConnections: $0)
                    }
                }
            }
        }
    }

    /// An attacker sets the flag and computes with zeros.
    @Test(arguments: rows) func aFlagAloneAuthenticatesNobody(_ row: Row) {
        var (honest, attacker) = (PairingSettings(), PairingSettings())
        honest.minimumLevel = row.level
        attacker.supportsSecureConnections = row.isSecureConnections
        var secrets = SecretSource.system
        if row.hasOther { honest.outOfBandData = LocalOutOfBandData(using: &secrets).data }
        var lab = row.victim == .central ? PairingLab(honest, attacker) : PairingLab(attacker, honest)
        if row.hasTold { lab[row.victim].setup.outOfBand = LocalOutOfBandData(using: &secrets) }
        lab[row.victim.other].setup.quirks.claimsOutOfBandData = true
        lab[row.victim.other].setup.quirks.believesOutOfBandFlag = true
        lab.pair()
        let end = lab[row.victim]
        #expect(end.manager.level < .authenticated && (end.bond?.isAuthenticated ?? false) == false)
        let isLegacy = !row.isSecureConnections
        // In legacy pairing, one flag means that the IO capabilities decide; two flags require a TK.
        #expect((end.result != nil) == (isLegacy && !row.hasOther && row.level == .encrypted))
        if !isLegacy, !row.hasTold { #expect(end.error == .peer(.pairingRefused(.oobNotAvailable))) }
    }

    /// A peer with the data is authenticated; the data is used for one successful or two failed pairings.
    @Test(arguments: [0, 1, 2, 3]) func keyPairsAreRenewed(failures: Int) {
        var secrets = SecretSource.system
        var made: LocalOutOfBandData? = LocalOutOfBandData(using: &secrets)
        for _ in 0..<failures { made = made?.afterFailure }
        #expect((made != nil) == (3 * failures <= 8))
        var settings = PairingSettings()
        settings.outOfBandData = made?.data
        var lab = PairingLab(settings, PairingSettings())
        lab[.peripheral].setup.outOfBand = made
        lab.pair()
        let level = made == nil ? LinkSecurity.encrypted : .secureConnections
        #expect(lab[.central].result?.level == level && lab[.peripheral].result?.level == level)
        #expect(lab[.peripheral].manager.usesOutOfBandData == (made != nil) && !lab[.central].manager.usesOutOfBandData)
    }

    /// On BR/EDR the controllers compute. The host rejects if it can, and otherwise does not trust the key.
    @Test(arguments: [false, true], [false, true]) func aFlagAloneAuthenticatesNobodyOverClassic(isInitiator: Bool, hasTold: Bool) {
        let settings = PairingSettings()
        var machine = BREDRSecurity(settings, known: nil)
        machine.learn(settings, known: nil, hasToldData: hasTold)
        if isInitiator {
            _ = machine.pair(settings)
            _ = machine.keyRequested()
            _ = machine.featuresRequested()
        }
        machine.featuresReceived(SimplePairingFeatures(.noInputNoOutput, hasOutOfBandData: true, requirements: 5))
        if !isInitiator { #expect((machine.featuresRequested() == [.refuseFeatures(.pairingNotAllowed)]) == !hasTold) }
        machine.pairingEnded(.success)
        _ = machine.keyMade(LinkKey([UInt8](1...16), .authenticatedCombinationP256))
        if isInitiator { _ = machine.authenticated(.success) }
        _ = machine.encryptionChanged(.success, isAESCCM: true)
        _ = machine.keySizeRead(.success, octets: 16)
        #expect((machine.level >= .authenticated) == hasTold)
        #expect(machine.encryption?.linkKey.strength.isAuthenticated == hasTold)
    }

    /// Just Works under another address does not replace a bond; a peer that lost its keys pairs again under its own address.
    @Test(arguments: [
        (false, 16, false, false), (false, 16, true, true), (true, 16, false, true), (true, 7, true, false),
    ]) func aClaimedIdentityReplacesNothing(isAuthenticated: Bool, size: Int, isOwnAddress: Bool, replaces: Bool) {
        let identity = DeviceAddress(value: 0x1B_DC00_0001)
        func bond(_ size: Int, _ isAuthenticated: Bool) -> Bond {
            Bond(
                identity, peerLongTermKey: LongTermKey([UInt8](1...16), size: size), isAuthenticated: isAuthenticated,
                isSecureConnections: true)
        }
        let known = bond(16, false)
        #expect(bond(size, isAuthenticated).mayReplace(known, pairedWith: isOwnAddress ? known : nil) == replaces)
    }
}
