import BBBluetoothCrypto
import BBHost
import BBPackets

/// The SMP PDUs of one pairing with the device under test. They explain an error of the host and decide if it is a fault of the device.
package final class PairingRecord {
    package private(set) var request: SMP.PairingRequest?
    package private(set) var response: SMP.PairingResponse?
    package private(set) var ownKey: SMP.PairingPublicKey?
    package private(set) var publicKey: SMP.PairingPublicKey?
    /// The first random value of the device.
    package private(set) var random: [UInt8]?
    package private(set) var hasEnded = false
    /// The names of the device's PDUs, in order.
    private var received: [String] = []
    private var identity: SMP.IdentityAddressInformation?
    private var names: Set<String> { Set(received) }

    /// A passkey of 20 bits takes 20 rounds of two PDUs.
    private static let mostNames = 256

    package init() {}

    package func add(_ direction: PacketDirection, _ octets: [UInt8]) {
        guard let message = try? SMP.Message(bytes: octets) else { return }
        switch (direction, message) {
        case (.sent, .pairingRequest(let pdu)): request = pdu
        case (.sent, .pairingPublicKey(let pdu)): ownKey = pdu
        case (.received, .pairingResponse(let pdu)): response = pdu
        case (.received, .pairingPublicKey(let pdu)): publicKey = pdu
        case (.received, .pairingRandom(let pdu)): random = random ?? pdu.randomValue
        case (.received, .identityAddressInformation(let pdu)): identity = pdu
        case (.received, .pairingFailed): hasEnded = true
        default: break
        }
        if direction == .received, received.count < Self.mostNames { received.append(PDUCatalog.name(of: octets, on: CID.smp) ?? "PDU") }
    }

    /// True if the device has a display or a keyboard, and thus a user whose answer a pairing may await.
    private var hasUser: Bool { response.map { $0.ioCapability != .noInputNoOutput } ?? false }

    /// The PDUs of the keys that the device must send on the encrypted link, in their order. Core Vol 3, Part H, 3.6.1.
    private var owedKeys: [String] {
        guard let request, let response else { return [] }
        let isSecure = request.authReq.intersection(response.authReq).contains(.sc)
        let keys = response.responderKeyDistribution
        let owed =
            (keys.contains(.encKey) && !isSecure ? [SMP.EncryptionInformation.name, SMP.CentralIdentification.name] : [])
            + (keys.contains(.idKey) ? [SMP.IdentityInformation.name, SMP.IdentityAddressInformation.name] : [])
            + (keys.contains(.signKey) ? [SMP.SigningInformation.name] : [])
        return owed
    }

    private var missingKeys: [String] { owedKeys.filter { !names.contains($0) } }

    /// The error of a pairing as a `PairingFault`; an error that does not concern pairing as it is.
    package func failure(_ fault: HostError.PeerFault) -> any Error {
        switch fault {
        case .pairingFailed(let reason): ended(reason)
        case .pairingRefused(let reason): refused(reason)
        case .timedOut(.pairing): silent
        case .disconnected(let reason) where Self.isByTheDevice(reason):
            PairingFault(.device, "the device ended the connection, \(reason), in place of pairing")
        case .disconnected(let reason) where isEncrypting: lost(reason)
        case .rejected(let command, let code):
            PairingFault(.device, "\(command) with the key of this pairing ended with \(code)")
        default: HostError.peer(fault)
        }
    }

    /// True unless this side or the radio has ended the connection. Core Vol 1, Part F, 2.8 and 2.62.
    private static func isByTheDevice(_ reason: ErrorCode) -> Bool {
        ![.connectionTerminatedByLocalHost, .success, .connectionFailedToBeEstablished, .connectionTimeout].contains(reason)
    }

    /// True if the values of both sides were exchanged and encryption with the new key has begun.
    private var isEncrypting: Bool {
        let isSecure = publicKey != nil
        return names.contains(isSecure ? SMP.PairingDHKeyCheck.name : SMP.PairingRandom.name)
    }

    /// The loss of the connection while it is encrypted: a device with another key falls silent, since its controller finds a wrong MIC.
    /// Core Vol 6, Part B, 5.1.3.1.
    private func lost(_ reason: ErrorCode) -> any Error {
        let size = min(request?.maximumEncryptionKeySize ?? 16, response?.maximumEncryptionKeySize ?? 16)
        var failure = PairingFault(
            .surroundings,
            "the connection was lost, \(reason), when it was encrypted with the key of this pairing: the device may have another key, or "
                + "not one of \(size) octets")
        failure.reason = reason
        return failure
    }

    /// Reasons that decline a pairing. Core Vol 3, Part H, 3.5.5.
    private static let refusals: Set<PairingFailedReason> = [
        .pairingNotSupported, .authenticationRequirements, .repeatedAttempts, .oobNotAvailable, .busy,
    ]
    /// Reasons that may be the answer of the device's user.
    private static let answers: Set<PairingFailedReason> = [.passkeyEntryFailed, .numericComparisonFailed, .unspecifiedReason]

    private func ended(_ reason: PairingFailedReason) -> any Error {
        let declinesSize = reason == .encryptionKeySize && (request?.maximumEncryptionKeySize ?? 16) < 16
        if Self.refusals.contains(reason) || declinesSize { return PairingFault(.declined, "the device declines to pair: \(reason)") }
        if response == nil, reason == .unspecifiedReason {
            return PairingFault(.surroundings, "the device declines to pair and gives no reason: \(reason)")
        }
        if hasUser, Self.answers.contains(reason) {
            return PairingFault(.surroundings, "the device ended the pairing, \(reason)\(roundsBefore(reason))")
        }
        return PairingFault(.device, "the device ended the pairing with \(reason), although nothing was wrong with it")
    }

    /// The passkey was entered before its rounds: an end between them is more likely the device's own. Core Vol 3, Part H, 2.3.5.6.3.
    private func roundsBefore(_ reason: PairingFailedReason) -> String {
        let rounds = received.count { $0 == SMP.PairingRandom.name }
        guard reason == .unspecifiedReason, publicKey != nil, rounds > 1 else { return ": its user may have declined, or was not there" }
        return ", after \(rounds) of the 20 rounds of the passkey: unless its user has cancelled the pairing, this is its own fault"
    }

    private func refused(_ reason: PairingFailedReason) -> any Error {
        let text =
            switch reason {
            case .confirmValueFailed: "its Pairing_Confirm does not fit its Pairing_Random"
            case .dhKeyCheckFailed: "its Pairing_DHKey_Check does not fit"
            case .encryptionKeySize: "its Maximum_Encryption_Key_Size is \(response?.maximumEncryptionKeySize ?? 0), expected 7 to 16"
            case .keyRejected: "it gives a long-term key of zeros"
            case .oobNotAvailable: "it claims to have out-of-band data, which does not exist"
            case .invalidParameters, .unspecifiedReason, .authenticationRequirements:
                wrongValue ?? "a command is invalid or out of its order"
            default: "\(reason)"
            }
        if [.passkeyEntryFailed, .numericComparisonFailed, .repeatedAttempts].contains(reason) {
            return PairingFault(.surroundings, "the tester ended the pairing: \(text)")
        }
        return PairingFault(.device, "the tester ended the pairing of the device: \(text)")
    }

    /// The invalid value of the device for which the host ended the pairing.
    private var wrongValue: String? {
        if let request, let response {
            guard (7...16).contains(response.maximumEncryptionKeySize) else {
                return "its Maximum_Encryption_Key_Size is \(response.maximumEncryptionKeySize), expected 7 to 16"
            }
            let kinds = [
                ("initiator", request.initiatorKeyDistribution, response.initiatorKeyDistribution),
                ("responder", request.responderKeyDistribution, response.responderKeyDistribution),
            ]
            for (role, offered, agreed) in kinds where !agreed.isSubset(of: offered) {
                return "its Pairing_Response agrees to keys of the \(role) that Pairing_Request does not name"
            }
        }
        return wrongDistribution ?? publicKey.flatMap(wrongKey) ?? received.last.map { "its \($0) is invalid, or out of its order" }
    }

    private func wrongKey(_ publicKey: SMP.PairingPublicKey) -> String? {
        guard let x = UInt256(littleEndianOctets: publicKey.publicKeyX), let y = UInt256(littleEndianOctets: publicKey.publicKeyY) else {
            return nil
        }
        let key = P256PublicKey(x: x, y: y)
        if key.isDebugKey { return "its public key is the debug key, whose private key is published" }
        if publicKey.publicKeyX == ownKey?.publicKeyX { return "its public key is that of the tester" }
        return key.isOnCurve ? nil : "its public key is not on the curve P-256"
    }

    /// The fault of the last PDU, if it distributes a key: the wrong one, at the wrong time, or with an impossible value. Core Vol 3, Part
    /// H, 2.4.3 and 3.6.
    private var wrongDistribution: String? {
        guard let last = received.last, Self.keyNames.contains(last) else { return nil }
        let owed = owedKeys
        let sent = received.dropLast().count { Self.keyNames.contains($0) }
        guard owed.contains(last) else { return "it sends \(last), which its Pairing_Response does not promise" }
        guard sent < owed.count, owed[sent] == last else {
            return "it sends \(last)" + (sent < owed.count ? " where \(owed[sent]) is due" : " a second time")
        }
        if last == SMP.IdentityAddressInformation.name, let identity, !identity.isPossible {
            return "its identity address \(identity.bdADDR), type \(identity.addrType), is neither public nor static random"
        }
        return "it sends \(last) before the link is encrypted"
    }

    private static let keyNames: Set<String> = [
        SMP.EncryptionInformation.name, SMP.CentralIdentification.name, SMP.IdentityInformation.name, SMP.IdentityAddressInformation.name,
        SMP.SigningInformation.name,
    ]

    private var silent: any Error {
        guard let response else { return PairingFault(.device, "the device did not answer Pairing_Request within 30 s") }
        let missing = missingKeys
        if names.contains(SMP.PairingDHKeyCheck.name) || names.contains(SMP.PairingRandom.name), !missing.isEmpty {
            return PairingFault(.device, "the device did not send \(missing.joined(separator: ", ")), which its Pairing_Response promises")
        }
        if hasUser {
            return PairingFault(
                .surroundings,
                "the device (\(response.ioCapability)) fell silent for 30 s: its user may have to agree, or to enter or compare a number")
        }
        return PairingFault(.device, "the device fell silent for 30 s in the pairing that it had begun")
    }
}

extension SMP.IdentityAddressInformation {
    /// True for a public or static random address. Core Vol 3, Part H, 3.6.5.
    fileprivate var isPossible: Bool { addrType == 0 || addrType == 1 && bdADDR.rawValue >> 46 == 0b11 }
}

/// The failure of a pairing with a device, and its cause.
package struct PairingFault: Error, CustomStringConvertible {
    package enum Cause: Sendable {
        /// The device behaved wrongly.
        case device
        /// The device does not pair, or not so.
        case declined
        /// A user, the radio or the tester.
        case surroundings
    }

    package var cause: Cause
    package var description: String
    /// The reason of the connection's end, if that ended the pairing.
    package var reason: ErrorCode?

    package init(_ cause: Cause, _ description: String) { (self.cause, self.description) = (cause, description) }
}

extension PDUCatalog {
    /// Returns the name of a PDU on a fixed channel; nil if none is declared.
    package static func name(of payload: [UInt8], on channel: UInt16) -> String? {
        guard let layer = Layer(channel: channel), let code = payload.first else { return nil }
        return declaration(layer: layer, code: Int(code))?.name
    }
}
