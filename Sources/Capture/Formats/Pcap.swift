import BBPackets

/// Classic libpcap, in both byte orders and both resolutions.
struct PcapDecoder: RecordDecoder {
    private static let longestPacket = 1 << 18
    private let input: RecordInput
    private let big: Bool
    private let isNanoseconds: Bool
    private let linkType: LinkType

    /// Byte order and resolution from the first four octets of the file; nil if it is not pcap.
    static func recognise(_ prefix: ArraySlice<UInt8>) -> (big: Bool, nanoseconds: Bool)? {
        switch prefix.number(UInt32.self, at: 0, big: true) {
        case 0xA1B2_C3D4: (true, false)
        case 0xA1B2_3C4D: (true, true)
        case 0xD4C3_B2A1: (false, false)
        case 0x4D3C_B2A1: (false, true)
        default: nil
        }
    }

    init(_ input: RecordInput, big: Bool, nanoseconds: Bool) throws(CaptureError) {
        self.input = input
        self.big = big
        isNanoseconds = nanoseconds
        let header = try input.piece(24)
        linkType = LinkType(rawValue: (header.number(UInt32.self, at: 20, big: big) ?? 0) & 0x0FFF_FFFF)
        input.interfaces = [CaptureInterface(name: "", linkType: linkType)]
    }

    mutating func next() throws(CaptureError) -> CaptureRecord? {
        guard let header = try input.start(16) else { return nil }
        let seconds: UInt32 = header.number(at: 0, big: big) ?? 0
        let fraction: UInt32 = header.number(at: 4, big: big) ?? 0
        let length: UInt32 = header.number(at: 8, big: big) ?? 0
        let original: UInt32 = header.number(at: 12, big: big) ?? 0
        guard length <= Self.longestPacket else { throw input.malformed("a packet of \(length) bytes") }
        let packet = try input.piece(Int(length))
        let nanoseconds = Int64(seconds) * 1_000_000_000 + Int64(fraction) * (isNanoseconds ? 1 : 1_000)
        return CaptureRecord(
            time: CaptureTime(nanoseconds: nanoseconds), content: content(of: packet, linkType: linkType),
            cutFrom: original > length ? Int(original) : nil)
    }
}
