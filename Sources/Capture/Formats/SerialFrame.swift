import BBPackets

/// Frames of the three-wire UART (H5) and of BCSP, which precedes it: four octets of header, payload, and a check if the header says so.
/// They may still have their SLIP delimiters. Core Vol 4, Part D, 3 to 5.
enum SerialFrame {
    private static let headerLength = 4
    private static let delimiter: UInt8 = 0xC0
    private static let escape: UInt8 = 0xDB
    private static let escaped: [UInt8: UInt8] = [0xDC: 0xC0, 0xDD: 0xDB, 0xDE: 0x11, 0xDF: 0x13]
    private static let hasCheck: UInt8 = 0x40

    static func content(_ octets: ArraySlice<UInt8>, _ direction: CaptureDirection, isBCSP: Bool) -> CaptureRecord.Content {
        let frame = plain(octets)
        guard frame.count >= headerLength, frame.prefix(headerLength).reduce(0, &+) == 0xFF else { return .other(.h4, Array(octets)) }
        let length = Int(frame[1] >> 4) | Int(frame[2]) << 4
        let check = frame[0] & hasCheck != 0 ? 2 : 0
        let payload = Array(frame[headerLength...].prefix(max(0, min(length, frame.count - headerLength - check))))
        let type = frame[1] & 15
        if let kind = isBCSP ? kindOfBCSP(type, direction) : HCIPacket.Kind(rawValue: type) {
            return .hci(HCIPacket(kind, payload), HCIPacket(kind, []).impliedDirection ?? direction)
        }
        return .note(type == 0 ? "acknowledgment" : "\(isBCSP ? "BCSP" : "three-wire UART") packet of type \(type): \(Hex.octets(payload))")
    }

    /// Channels of BCSP: 5 for commands and events, 6 and 7 for data.
    private static func kindOfBCSP(_ channel: UInt8, _ direction: CaptureDirection) -> HCIPacket.Kind? {
        switch channel {
        case 5: direction == .hostToController ? .command : .event
        case 6: .acl
        case 7: .sco
        default: nil
        }
    }

    private static func plain(_ octets: ArraySlice<UInt8>) -> [UInt8] {
        guard octets.first == delimiter else { return Array(octets) }
        var (plain, isEscaped): ([UInt8], Bool) = ([], false)
        for octet in octets where octet != delimiter {
            if isEscaped {
                plain.append(escaped[octet] ?? octet)
                isEscaped = false
            } else if octet == escape {
                isEscaped = true
            } else {
                plain.append(octet)
            }
        }
        return plain
    }
}
