import Packets

/// The security manager of one connection: it gives the controller keys, so it knows which encryption to believe. Core Vol 3, Part H.
///
/// Nothing can be paired: keys come from the key store only.
struct SecurityManager {
    private(set) var level = LinkSecurity.none
    /// Octets of the key that the link is encrypted with, 7...16; 0 while it is not.
    private(set) var keySize = 0
    /// What the key that the controller was given is worth; without one an encryption change is not believed.
    private var given: (level: LinkSecurity, size: Int)?

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
        guard let bond, let key = bond.localLongTermKey,
            key.isNamed(encryptedDiversifier: encryptedDiversifier, randomNumber: randomNumber)
        else { return nil }
        given = (bond.level(with: key), key.size)
        return key.value
    }

    /// The key that a central is about to encrypt with.
    mutating func encryptionKey(of bond: Bond?) -> LongTermKey? {
        guard let bond, let key = bond.peerLongTermKey else { return nil }
        given = (bond.level(with: key), key.size)
        return key
    }

    /// HCI_Encryption_Change; false if the controller cannot have done that. Core Vol 4, Part E, 7.7.8.
    mutating func encryptionChanged(isOn: Bool) -> Bool {
        guard isOn else {
            (level, keySize) = (.none, 0)
            return true
        }
        guard let given else { return false }
        (level, keySize) = given
        return true
    }
}
