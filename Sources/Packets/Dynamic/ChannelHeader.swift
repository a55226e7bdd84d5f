/// The header of a PDU of SDP, of the RFCOMM multiplexer, of AVDTP and of AVRCP.
struct ChannelHeader {
    private let shape: Layer.Header
    /// The PDU ID, the type, or AVDTP's message type above the signal identifier.
    let code: Int
    /// The transaction ID or label.
    let identifier: UInt16?
    /// The length in the header, if it contains one.
    let length: Int?
    /// The number of octets in the header.
    private(set) var count: Int

    init(_ layer: Layer, code: Int, identifier: UInt16?, length: Int) {
        (shape, self.code, self.identifier, self.length) = (layer.header, code, identifier, length)
        count = 0
        count = bytes.count
    }

    /// Reads the header that the octets begin with; nil where they are too few, and for a layer without such a header.
    init?(_ layer: Layer, _ bytes: ArraySlice<UInt8>) {
        let start = bytes.startIndex
        func octet(_ index: Int) -> Int { Int(bytes[start + index]) }
        shape = layer.header
        switch shape {
        case .sdp:
            guard bytes.count >= 5 else { return nil }
            (code, identifier) = (octet(0), UInt16(octet(1) << 8 | octet(2)))
            (length, count) = (octet(3) << 8 | octet(4), 5)
        case .rfcomm:
            guard bytes.count >= 2, octet(1) & 1 == 1 || bytes.count >= 3 else { return nil }
            let isShort = octet(1) & 1 == 1
            (code, identifier) = (octet(0), nil)
            (length, count) = isShort ? (octet(1) >> 1, 2) : (octet(1) >> 1 | octet(2) << 7, 3)
        case .avdtp:
            guard bytes.count >= 2 else { return nil }
            (code, identifier) = ((octet(0) & 3) << 8 | octet(1) & 0x3F, UInt16(octet(0) >> 4))
            (length, count) = (nil, 2)
        case .avrcp:
            guard bytes.count >= 7 else { return nil }
            (code, identifier) = (octet(3), nil)
            (length, count) = (octet(5) << 8 | octet(6), 7)
        case .command, .event, .data, .advertising, .opcode, .lmp, .signaling, .none: return nil
        }
    }

    var bytes: [UInt8] {
        let length = length ?? 0
        let identifier = Int(identifier ?? 1)
        let octets: [Int] =
            switch shape {
            case .sdp: [code, identifier >> 8, identifier, length >> 8, length]
            case .rfcomm: length < 128 ? [code, length << 1 | 1] : [code, length << 1, length >> 7]
            case .avdtp: [identifier << 4 | code >> 8 & 3, code & 0x3F]
            case .avrcp: [0x00, 0x19, 0x58, code, 0, length >> 8, length]
            case .command, .event, .data, .advertising, .opcode, .lmp, .signaling, .none: []
            }
        return octets.map { UInt8(truncatingIfNeeded: $0) }
    }
}
