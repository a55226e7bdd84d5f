import BBCases
import BBPackets
import BBTraffic

/// The long term keys that a capture shows, and the keys that hosts use.
struct KeyBook {
    /// The names of a legacy key. Devices choose them on their own, so that two may have the same. Core Vol 3, Part H, 2.4.2.
    private struct Name: Hashable {
        var owner: Int
        var diversifier: UInt16
        var random: UInt64
    }

    private var keys: [Name: [UInt8]] = [:]
    /// The last Encryption_Information on each link.
    private var unnamed: [Int: [UInt8]] = [:]
    private var asked: [UInt16: Name] = [:]

    private static let most = 256

    /// - Parameter owner: number of the device that distributes or uses the key, or of an unknown device's link.
    mutating func note(_ pdu: DecodedLayer, link: Int, owner: Int) {
        if let information = pdu.content(as: SMP.EncryptionInformation.self) {
            if unnamed.count >= Self.most { unnamed.removeAll() }
            unnamed[link] = information.longTermKey
        } else if let name = pdu.content(as: SMP.CentralIdentification.self), let key = unnamed.removeValue(forKey: link) {
            // A tool that hides keys writes zeros.
            guard key.contains(where: { $0 != 0 }), name.ediv != 0 || name.rand != 0 else { return }
            if keys.count >= Self.most { keys.removeAll() }
            keys[Name(owner: owner, diversifier: name.ediv, random: name.rand)] = key
        }
    }

    mutating func received(_ event: HCIPacket, owner: Int?) {
        guard event.id == HCIEvents.LELongTermKeyRequest.id, let pdu = try? event.event(as: HCIEvents.LELongTermKeyRequest.self) else {
            return
        }
        guard let owner else { return }
        if asked.count >= Self.most { asked.removeAll() }
        asked[pdu.connectionHandle.rawValue] = Name(owner: owner, diversifier: pdu.encryptedDiversifier, random: pdu.randomNumber)
    }

    mutating func sent(_ command: HCIPacket, owner: Int?) -> Observation? {
        switch command.id {
        case HCICommands.LELongTermKeyRequestReply.id:
            guard let pdu = try? command.command(as: HCICommands.LELongTermKeyRequestReply.self),
                let name = asked.removeValue(forKey: pdu.connectionHandle.rawValue)
            else { return nil }
            return compare(pdu.longTermKey, name)
        case HCICommands.LEEnableEncryption.id:
            guard let owner, let pdu = try? command.command(as: HCICommands.LEEnableEncryption.self) else { return nil }
            return compare(pdu.longTermKey, Name(owner: owner, diversifier: pdu.encryptedDiversifier, random: pdu.randomNumber))
        default: return nil
        }
    }

    private func compare(_ key: [UInt8], _ name: Name) -> Observation? {
        guard let right = keys[name], right != key, key.contains(where: { $0 != 0 }) else { return nil }
        let other = keys.first { $0.value == key }?.key
        return Observation(
            .wrongKey,
            [
                ("Asked", .text(Hex.number(name.diversifier))),
                ("Given", .text(other.map { "the key of EDIV " + Hex.number($0.diversifier) } ?? "a key that the capture does not name")),
            ])
    }
}
