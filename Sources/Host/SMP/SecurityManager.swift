import Packets

/// How well a link is protected; pairing raises it.
public enum LinkSecurity: Sendable, Hashable, Comparable {
    case none
    case encrypted
    case authenticated
}

/// The security manager of one connection: it gives the controller keys, so it knows which encryption to believe. Core Vol 3, Part H.
///
/// Nothing can be paired: keys come from the key store only.
struct SecurityManager {
    private(set) var level = LinkSecurity.none
    /// What the controller was given a key of; without one an encryption change is not believed.
    private var given: Bond?

    /// The answer to a PDU: a peer that asks for pairing is told at once that there is none. Core Vol 3, Part H, 3.5.5.
    func answer(to pdu: RawSpan) -> [UInt8]? {
        guard pdu.byteCount > 0 else { return nil }
        let code = pdu.u8(at: 0)
        guard code != SMP.PairingFailed.opcode, (SMP.PairingRequest.opcode...SMP.KeypressNotification.opcode).contains(code) else {
            return nil
        }
        return SMP.PairingFailed(reason: .pairingNotSupported).bytes
    }

    /// The key for LE_Long_Term_Key_Request; nil if there is none by that name. Core Vol 4, Part E, 7.7.65.5.
    mutating func key(encryptedDiversifier: UInt16, randomNumber: UInt64, of bond: Bond?) -> [UInt8]? {
        guard let bond, bond.encryptedDiversifier == encryptedDiversifier, bond.randomNumber == randomNumber else { return nil }
        given = bond
        return bond.longTermKey
    }

    /// The central is about to encrypt with a bond's key.
    mutating func encrypts(with bond: Bond) { given = bond }

    /// HCI_Encryption_Change; false if the controller cannot have done that. Core Vol 4, Part E, 7.7.8.
    mutating func encryptionChanged(isOn: Bool) -> Bool {
        guard isOn else {
            level = .none
            return true
        }
        guard let given else { return false }
        level = given.isAuthenticated ? .authenticated : .encrypted
        return true
    }
}
