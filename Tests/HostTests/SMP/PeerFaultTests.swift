import BBBluetoothCrypto
import BBPackets
import Testing

@testable import BBHost

/// Pairings with a peer whose features or keys are not as usual, both with devices that bear it and with devices that do not.
@Suite struct PeerFaultTests {
    typealias Side = PairingLab.Side
    private final class Box { var pdus: [[UInt8]] = [] }

    private static func lab(isSecureConnections: Bool) -> PairingLab {
        var settings = PairingSettings()
        settings.supportsSecureConnections = isSecureConnections
        return PairingLab(settings, settings)
    }

    /// Reserved bits are ignored, and enter the check values as they were received. Core Vol 3, Part H, 3.5.1.
    @Test(arguments: [Side.central, .peripheral], [false, true]) func reservedBitsAreIgnored(sender: Side, isSecureConnections: Bool) {
        var lab = Self.lab(isSecureConnections: isSecureConnections)
        lab[sender].setup.quirks.setsReservedBits = true
        let box = Box()
        lab.onTheWay = { _, pdu in
            if pdu[0] <= 2 { box.pdus.append([pdu[3] & 0xC0]) }
            return [pdu]
        }
        lab.pair()
        #expect(box.pdus == (sender == .central ? [[0xC0], [0]] : [[0], [0xC0]]))
        #expect(lab[.central].result?.level == .encrypted && lab[.peripheral].result?.level == .encrypted)
    }

    /// An invalid public key ends the pairing. Core Vol 3, Part H, 2.3.5.6.1 and 3.5.5.
    @Test(arguments: PublicKeyFault.allCases, [Side.central, .peripheral])
    func anInvalidKeyEndsPairing(_ fault: PublicKeyFault, sender: Side) {
        // An initiator does not know the peer's key yet.
        guard ![.peersX, .peersKey].contains(fault) || sender == .peripheral else { return }
        var lab = Self.lab(isSecureConnections: true)
        lab[sender].setup.quirks.publicKeyFault = fault
        lab.pair()
        #expect(lab[sender.other].error == .peer(.pairingRefused(.dhKeyCheckFailed)))
        #expect(lab[sender].error == .peer(.pairingFailed(.dhKeyCheckFailed)))
    }

    /// A device that does not check the curve pairs with a peer that guesses the DHKey.
    @Test(arguments: [PublicKeyFault.zeroY, .zeroPoint], [Side.central, .peripheral])
    func aGuessedKeyPairsWithoutTheCheck(_ fault: PublicKeyFault, sender: Side) {
        var lab = Self.lab(isSecureConnections: true)
        lab[sender].setup.quirks.publicKeyFault = fault
        lab[sender].setup.quirks.computesWithZeroKey = true
        lab[sender.other].setup.quirks.skipsCurveCheck = true
        lab.pair()
        #expect(lab[sender.other].result?.level == .encrypted)
    }

    /// Out-of-band data are used in LE legacy pairing only if both devices have them. Core Vol 3, Part H, 2.3.5.1.
    @Test(arguments: [Side.central, .peripheral]) func dataOfOneSideAreNotUsed(_ side: Side) {
        var (central, peripheral) = (PairingSettings(), PairingSettings())
        central.supportsSecureConnections = false
        let data = OutOfBandData(temporaryKey: [UInt8](1...16))
        // Whether the flag is set depends on the kind of pairing that the device offers.
        peripheral.supportsSecureConnections = false
        if side == .central { central.outOfBandData = data } else { peripheral.outOfBandData = data }
        var lab = PairingLab(central, peripheral)
        lab.pair()
        #expect(lab[.central].result?.model == .justWorks && lab[.peripheral].result?.model == .justWorks)
        lab = PairingLab(central, peripheral)
        lab[.peripheral].setup.quirks.takesOneFlag = true
        lab.pair()
        #expect(lab[.central].result == nil)
    }

    @Test func noncesRepeat() {
        var lab = Self.lab(isSecureConnections: true)
        lab[.peripheral].setup.quirks.repeatsNonces = true
        let box = Box()
        lab.onTheWay = { side, pdu in
            if side == .peripheral, pdu[0] == SMP.PairingRandom.opcode { box.pdus.append(pdu) }
            return [pdu]
        }
        lab.pair()
        #expect(box.pdus == [[SMP.PairingRandom.opcode, 0x5A] + [UInt8](repeating: 0, count: 15)])
    }
}
