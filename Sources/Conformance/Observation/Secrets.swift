import BBPackets

/// The keys in the HCI packets of a run. A report contains them only on request: they are replaced with zeros in captures and with a word
/// in texts.
public final class Secrets {
    /// The halves of 16 octets, in the byte order of reports and reversed.
    private var digits: Set<[UInt8]> = []
    private static let word = [UInt8]("(hidden)".utf8)
    private static let octets = 16

    public init() {}

    // MARK: Packets

    /// Returns the packet with zeros instead of keys. Packets too short for a key, and fragments, remain unchanged.
    func hide(_ packet: HCIPacket) -> HCIPacket {
        let keys = Self.keys(in: packet)
        guard !keys.isEmpty else { return packet }
        var bytes = packet.bytes
        for key in keys where key.contains(where: { $0 != 0 }) {
            remember(key)
            guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: key) }) else { continue }
            bytes.replaceSubrange(start..<start + key.count, with: repeatElement(0, count: key.count))
        }
        return HCIPacket(packet.kind, bytes)
    }

    private func remember(_ key: [UInt8]) {
        for start in stride(from: 0, to: key.count - Self.octets + 1, by: Self.octets) {
            let half = key[start..<start + Self.octets]
            digits.insert([UInt8](Hex.octets(half).utf8))
            digits.insert([UInt8](Hex.octets(half.reversed()).utf8))
        }
    }

    private static func keys(in packet: HCIPacket) -> [[UInt8]] {
        switch packet.kind {
        case .command: keys(inCommand: packet)
        case .event: keys(inEvent: packet)
        case .acl: keys(inData: packet.bytes.span.bytes)
        case .sco, .iso: []
        }
    }

    private static func keys(inCommand packet: HCIPacket) -> [[UInt8]] {
        switch packet.commandOpcode {
        case HCICommands.LEEnableEncryption.opcode:
            (try? packet.command(as: HCICommands.LEEnableEncryption.self)).map { [$0.longTermKey] } ?? []
        case HCICommands.LELongTermKeyRequestReply.opcode:
            (try? packet.command(as: HCICommands.LELongTermKeyRequestReply.self)).map { [$0.longTermKey] } ?? []
        case HCICommands.LEAddDeviceToResolvingList.opcode:
            (try? packet.command(as: HCICommands.LEAddDeviceToResolvingList.self)).map { [$0.peerIRK, $0.localIRK] } ?? []
        case HCICommands.LinkKeyRequestReply.opcode:
            (try? packet.command(as: HCICommands.LinkKeyRequestReply.self)).map { [$0.linkKey] } ?? []
        default: []
        }
    }

    private static func keys(inEvent packet: HCIPacket) -> [[UInt8]] {
        if packet.eventCode == HCIEvents.LinkKeyNotification.code {
            return (try? packet.event(as: HCIEvents.LinkKeyNotification.self)).map { [$0.linkKey] } ?? []
        }
        guard packet.leSubevent == HCIEvents.LEGenerateDHKeyComplete.subevent else { return [] }
        return (try? packet.event(as: HCIEvents.LEGenerateDHKeyComplete.self)).map { [$0.dhKey] } ?? []
    }

    /// Returns the keys that the Security Manager distributes. Core Vol 3, Part H, 3.6.
    private static func keys(inData packet: RawSpan) -> [[UInt8]] {
        guard packet.byteCount > ACLHeader.octets + L2CAPHeader.octets, let acl = ACLHeader(packet), acl.boundary != .continuing,
            let header = L2CAPHeader(packet.extracting(ACLHeader.octets...)), header.channel == ChannelContent.smp.channel,
            let message = try? SMP.Message(bytes: packet.extracting((ACLHeader.octets + L2CAPHeader.octets)...).octets)
        else { return [] }
        return switch message {
        case .encryptionInformation(let pdu): [pdu.longTermKey]
        case .identityInformation(let pdu): [pdu.identityResolvingKey]
        case .signingInformation(let pdu): [pdu.signatureKey]
        default: []
        }
    }

    // MARK: Texts

    /// Returns the text with a word instead of each key.
    public func hide(_ text: String) -> String {
        guard !digits.isEmpty else { return text }
        let octets = [UInt8](text.utf8)
        var hidden: [UInt8] = []
        hidden.reserveCapacity(octets.count)
        var position = 0
        while position < octets.count {
            let end = position + 2 * Self.octets
            if end <= octets.count, Self.isDigit(octets[position]), Self.isDigit(octets[end - 1]),
                digits.contains(Array(octets[position..<end]))
            {
                hidden += Self.word
                position = end
            } else {
                hidden.append(octets[position])
                position += 1
            }
        }
        return String(decoding: hidden, as: UTF8.self)
    }

    private static func isDigit(_ octet: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(octet)
    }
}
