import BBBluetoothCrypto
import BBCases
import BBPackets
import BBTraffic

/// The pairing on one link: public keys, values that a peer sends back, and the keys that the ends have promised. Core Vol 3, Part H, 2 and 3.
struct PairingWatch {
    private var request: Feature?
    private var response: Feature?
    private var values: [PacketSender: [UInt8]] = [:]
    private var publicKeys: [PacketSender: [UInt8]] = [:]
    /// The ends whose public key is not on the curve.
    private var invalid: [PacketSender: Moment] = [:]
    private var isReported = false
    /// Confirm values of each end.
    private var rounds: [PacketSender: Int] = [:]
    /// The keys that are still to come, since the link is encrypted.
    private var promised: [PacketSender: KeyDistribution] = [:]
    private var encrypted: Moment?

    private struct Feature {
        var end: PacketSender
        var sent: Moment
        var requirements: AuthReq
        /// Keys of the initiator and of the responder.
        var keys: (KeyDistribution, KeyDistribution)
    }

    /// The end whose feature exchange lacked Secure Connections may be refused for these reasons.
    private static let unspecific: [PairingFailedReason] = [.unspecifiedReason, .authenticationRequirements]
    private static let soon: Int64 = 2_000_000
    /// Rounds of passkey entry: one for each bit. Core Vol 3, Part H, 2.3.5.6.3.
    private static let rounds = 20
    /// A pairing has 30 s for each PDU. Core Vol 3, Part H, 3.4.
    private static let limit: Int64 = 30_000_000

    mutating func note(_ pdu: DecodedLayer, from sender: PacketSender, at now: Moment) -> Observation? {
        switch UInt8(truncatingIfNeeded: pdu.code) {
        case SMP.PairingRequest.opcode:
            guard let pdu = pdu.content(as: SMP.PairingRequest.self) else { return nil }
            self = PairingWatch()
            request = Feature(
                end: sender, sent: now, requirements: pdu.authReq,
                keys: (pdu.initiatorKeyDistribution, pdu.responderKeyDistribution))
        case SMP.PairingResponse.opcode:
            guard let pdu = pdu.content(as: SMP.PairingResponse.self) else { return nil }
            response = Feature(
                end: sender, sent: now, requirements: pdu.authReq,
                keys: (pdu.initiatorKeyDistribution, pdu.responderKeyDistribution))
        case SMP.PairingConfirm.opcode:
            values[sender] = Array(pdu.bytes[pdu.range].dropFirst())
            rounds[sender, default: 0] += 1
            // The end that begins such a round; the other one answers it.
            if rounds[sender] == Self.rounds + 1, rounds[sender.other] ?? 0 <= Self.rounds {
                return Observation(.roundsExceeded, [("From", .text("\(sender)")), ("Round", .number(Self.rounds + 1))])
            }
            return reflected(pdu, from: sender, values)
        case SMP.PairingPublicKey.opcode: return noteKey(pdu, from: sender, now)
        case SMP.PairingFailed.opcode:
            guard let failed = pdu.content(as: SMP.PairingFailed.self) else { return nil }
            return refused(failed.reason, by: sender, now)
        case SMP.EncryptionInformation.opcode: promised[sender]?.remove(.encKey)
        case SMP.IdentityAddressInformation.opcode:
            promised[sender]?.remove(.idKey)
            return strangeIdentity(pdu)
        case SMP.SigningInformation.opcode: promised[sender]?.remove(.signKey)
        default: break
        }
        return nil
    }

    /// An identity address is public or static random; a tool that hides addresses writes zeros. Core Vol 3, Part H, 3.6.5.
    private func strangeIdentity(_ pdu: DecodedLayer) -> Observation? {
        guard let identity = pdu.content(as: SMP.IdentityAddressInformation.self), identity.addrType == 1, identity.bdADDR.rawValue != 0,
            identity.bdADDR.rawValue >> 46 != 0b11
        else { return nil }
        return Observation(
            .pduMalformed, [("PDU", .text(pdu.name)), ("Problem", .text("the identity address is neither public nor static random"))])
    }

    // MARK: Values

    /// A peer that sends back what it has received proves nothing. Core Vol 3, Part H, 2.3.5.6 and 3.5.3.
    private mutating func reflected(_ pdu: DecodedLayer, from sender: PacketSender, _ sent: [PacketSender: [UInt8]]) -> Observation? {
        guard let octets = sent[sender], sent[sender.other] == octets, Set(octets).count > 2, !isReported else { return nil }
        isReported = true
        return Observation(.valueReflected, [("PDU", .text(pdu.name)), ("From", .text("\(sender)"))])
    }

    private mutating func noteKey(_ pdu: DecodedLayer, from sender: PacketSender, _ now: Moment) -> Observation? {
        let key = Array(pdu.bytes[pdu.range].dropFirst())
        publicKeys[sender] = key
        if let found = reflected(pdu, from: sender, publicKeys) { return found }
        guard key.count == 64, !isReported, let x = UInt256(littleEndianOctets: Array(key[..<32])),
            let y = UInt256(littleEndianOctets: Array(key[32...]))
        else { return nil }
        if !P256PublicKey(x: x, y: y).isOnCurve { invalid[sender] = now }
        return accused()
    }

    /// The end with an invalid key, if the key of the other end is valid: a tool that hides keys hides both.
    private mutating func accused() -> Observation? {
        guard publicKeys.count == 2, invalid.count == 1, let (end, sent) = invalid.first else { return nil }
        isReported = true
        return Observation(.keyInvalid, [("From", .text("\(end)"))], packet: sent.packet)
    }

    private mutating func refused(_ reason: PairingFailedReason, by sender: PacketSender, _ now: Moment) -> Observation? {
        defer { promised = [:] }
        if publicKeys.count == 1, let (end, sent) = invalid.first, end != sender, !isReported {
            isReported = true
            return Observation(.keyInvalid, [("From", .text("\(end)"))], packet: sent.packet)
        }
        guard Self.unspecific.contains(reason), values.isEmpty, publicKeys.isEmpty, let request, let response,
            let own = [request, response].first(where: { $0.end == sender }),
            let other = [request, response].first(where: { $0.end != sender }),
            own.requirements.contains(.sc), !other.requirements.contains(.sc),
            reason == .unspecifiedReason || !own.requirements.contains(.mitm), now.time - other.sent.time < Self.soon
        else { return nil }
        return Observation(.legacyRefused, [("From", .text("\(sender)"))], packet: other.sent.packet)
    }

    // MARK: Distribution

    /// From here on the ends distribute the keys that the response names. Core Vol 3, Part H, 3.6.1.
    mutating func noteEncryption(at now: Moment) {
        guard let request, let response, encrypted == nil, !values.isEmpty || !publicKeys.isEmpty else { return }
        guard Self.bonds(request), Self.bonds(response) else { return }
        encrypted = now
        // A key of Secure Connections is not distributed, and a link key is derived.
        let isSecure = request.requirements.contains(.sc) && response.requirements.contains(.sc)
        let named: KeyDistribution = isSecure ? [.idKey, .signKey] : [.encKey, .idKey, .signKey]
        promised = [
            request.end: request.keys.0.intersection(response.keys.0).intersection(named),
            response.end: request.keys.1.intersection(response.keys.1).intersection(named),
        ]
    }

    private static func bonds(_ feature: Feature) -> Bool { feature.requirements.rawValue & 3 == 1 }

    /// The keys that never came, when the time is over or the link ends.
    mutating func missing(at now: Moment, isEnd: Bool) -> Observation? {
        guard let encrypted else { return nil }
        let waited = now.time - encrypted.time
        guard waited > Self.limit || isEnd, let (end, keys) = promised.first(where: { !$0.value.isEmpty }) else { return nil }
        promised = [:]
        let names = [(KeyDistribution.encKey, "EncKey"), (.idKey, "IdKey"), (.signKey, "SignKey")].filter { keys.contains($0.0) }.map(\.1)
        return Observation(
            .keysMissing, [("From", .text("\(end)")), ("Keys", .text(names.joined(separator: ", "))), ("Waited", .milliseconds(waited))],
            packet: encrypted.packet)
    }
}
