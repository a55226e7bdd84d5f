import BBPackets
import BBTraffic

/// Block types and option codes of pcapng.
enum PcapNG {
    enum Block {
        static let sectionHeader: UInt32 = 0x0A0D_0D0A
        static let interface: UInt32 = 1
        static let oldPacket: UInt32 = 2
        static let simplePacket: UInt32 = 3
        static let enhancedPacket: UInt32 = 6
    }

    enum Option {
        static let end: UInt16 = 0
        static let comment: UInt16 = 1
        static let name: UInt16 = 2
        static let flags: UInt16 = 2
        static let userApplication: UInt16 = 4
        static let resolution: UInt16 = 9
        static let timeOffset: UInt16 = 14
        /// Option of a BR/EDR packet with `BasebandFrame.onAir`. The most significant bit marks codes for local use.
        static let onAir: UInt16 = 0x8001
    }

    /// Directions in the flags of a packet.
    static let inbound: UInt8 = 1
    static let outbound: UInt8 = 2

    /// Start of the comment of a flagged packet; the format has no option for flags of a person.
    static let flagMark = "[flag]"

    static let byteOrderMagic: UInt32 = 0x1A2B_3C4D
    static let longestBlock = 1 << 24
}

/// Writes one little-endian section: HCI packets with link type 201, air packets with 256 (LE) and 255 (BR/EDR), times in the given
/// resolution. In a BR/EDR piconet, packets of the central are outbound and packets of peripherals inbound.
struct PcapNGEncoder: RecordEncoder {
    enum Resolution: UInt8 {
        case microseconds = 6
        case nanoseconds = 9
    }

    var resolution = Resolution.microseconds

    var preamble: [UInt8] {
        var body: [UInt8] = []
        body.append(little: PcapNG.byteOrderMagic)
        body.append(little: UInt16(1))
        body.append(little: UInt16(0))
        body.append(little: Int64(-1))
        appendOption(PcapNG.Option.userApplication, Array("bluebench".utf8), to: &body)
        appendOption(PcapNG.Option.end, [], to: &body)
        return block(PcapNG.Block.sectionHeader, body)
    }

    func announcement(of interface: CaptureInterface) -> [UInt8] {
        var body: [UInt8] = []
        body.append(little: UInt16(truncatingIfNeeded: interface.linkType.rawValue))
        body.append(little: UInt16(0))
        body.append(little: UInt32(0))
        appendOption(PcapNG.Option.name, Array(interface.name.utf8), to: &body)
        appendOption(PcapNG.Option.resolution, [resolution.rawValue], to: &body)
        appendOption(PcapNG.Option.end, [], to: &body)
        return block(PcapNG.Block.interface, body)
    }

    func append(_ record: CaptureRecord, to octets: inout [UInt8]) -> Bool {
        let prefix: [UInt8]
        let packet: [UInt8]
        switch record.content {
        case .hci(let hci, let direction):
            prefix = [0, 0, 0, hci.way(direction).rawValue, hci.kind.rawValue]
            packet = hci.bytes
        case .air(let frame):
            prefix = frame.header
            packet = frame.bytes
        case .baseband(let frame):
            prefix = frame.header
            packet = frame.payload
        case .other(_, let bytes):
            prefix = []
            packet = bytes
        case .note: return false
        }
        let start = octets.count
        let length = prefix.count + packet.count
        let units = resolution == .nanoseconds ? record.time.nanoseconds : record.time.microseconds
        octets.append(little: PcapNG.Block.enhancedPacket)
        octets.append(little: UInt32(0))
        octets.append(little: UInt32(record.interface))
        octets.append(little: UInt32(truncatingIfNeeded: units >> 32))
        octets.append(little: UInt32(truncatingIfNeeded: units))
        octets.append(little: UInt32(length))
        octets.append(little: UInt32(clamping: record.cutFrom ?? length))
        octets.append(contentsOf: prefix)
        octets.append(contentsOf: packet)
        for _ in 0..<(-length & 3) { octets.append(0) }
        appendOptions(of: record, to: &octets)
        let total = UInt32(octets.count - start + 4)
        octets.append(little: total)
        for index in 0..<4 { octets[start + 4 + index] = UInt8(truncatingIfNeeded: total >> (8 * UInt32(index))) }
        return true
    }

    private func appendOptions(of record: CaptureRecord, to octets: inout [UInt8]) {
        let start = octets.count
        if record.isFlagged { appendOption(PcapNG.Option.comment, Array(PcapNG.flagMark.utf8), to: &octets) }
        if let comment = record.comment { appendOption(PcapNG.Option.comment, Array(comment.utf8), to: &octets) }
        if case .baseband(let frame) = record.content {
            if let isFromCentral = frame.isFromCentral {
                appendOption(PcapNG.Option.flags, [isFromCentral ? PcapNG.outbound : PcapNG.inbound, 0, 0, 0], to: &octets)
            }
            if let onAir = frame.onAir { appendOption(PcapNG.Option.onAir, onAir, to: &octets) }
        }
        if octets.count > start { appendOption(PcapNG.Option.end, [], to: &octets) }
    }

    private func block(_ type: UInt32, _ body: [UInt8]) -> [UInt8] {
        var octets: [UInt8] = []
        octets.append(little: type)
        octets.append(little: UInt32(body.count + 12))
        octets.append(contentsOf: body)
        octets.append(little: UInt32(body.count + 12))
        return octets
    }

    private func appendOption(_ code: UInt16, _ value: [UInt8], to octets: inout [UInt8]) {
        let kept = value.prefix(Int(UInt16.max))
        octets.append(little: code)
        octets.append(little: UInt16(kept.count))
        octets.append(contentsOf: kept)
        for _ in 0..<(-kept.count & 3) { octets.append(0) }
    }
}
