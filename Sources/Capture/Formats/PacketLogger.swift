import BBPackets

/// PacketLogger: length, seconds, microseconds, type, packet. There is no magic number; the length counts the octets after it.
enum PacketLogger {
    static let headerLength = 13
    static let longestRecord = 1 << 17

    enum Code {
        static let command: UInt8 = 0x00
        static let event: UInt8 = 0x01
        static let aclSent: UInt8 = 0x02
        static let aclReceived: UInt8 = 0x03
        static let scoSent: UInt8 = 0x08
        static let scoReceived: UInt8 = 0x09
        static let isoSent: UInt8 = 0x0C
        static let isoReceived: UInt8 = 0x0D
        static let note: UInt8 = 0xFC
        /// Record types with text: notes, errors, configuration.
        static let texts: ClosedRange<UInt8> = 0xF0...0xFF
    }

    static func code(_ kind: HCIPacket.Kind, _ way: CaptureDirection) -> UInt8 {
        switch (kind, way) {
        case (.command, _): Code.command
        case (.event, _): Code.event
        case (.acl, .hostToController): Code.aclSent
        case (.acl, .controllerToHost): Code.aclReceived
        case (.sco, .hostToController): Code.scoSent
        case (.sco, .controllerToHost): Code.scoReceived
        case (.iso, .hostToController): Code.isoSent
        case (.iso, .controllerToHost): Code.isoReceived
        }
    }

    static func content(_ code: UInt8, _ packet: ArraySlice<UInt8>) -> CaptureRecord.Content {
        for kind in HCIPacket.Kind.allCases {
            for way in CaptureDirection.allCases where Self.code(kind, way) == code {
                return .hci(HCIPacket(kind, Array(packet)), HCIPacket(kind, []).impliedDirection ?? way)
            }
        }
        return Code.texts.contains(code) ? .note(text(of: packet)) : .other(LinkType(rawValue: UInt32(code)), Array(packet))
    }

    /// True if `prefix`, the start of the file, can be parsed as records; `isWhole` if it is the complete file.
    static func recognises(_ prefix: ArraySlice<UInt8>, isWhole: Bool, big: Bool) -> Bool {
        recordsAgree(prefix, isWhole: isWhole, headerLength: headerLength) { header in
            guard let length: UInt32 = header.number(at: 0, big: big), let fraction: UInt32 = header.number(at: 8, big: big),
                let code = header.dropFirst(12).first, length >= 9, length <= longestRecord, fraction < 1_000_000,
                code <= Code.isoReceived || Code.texts.contains(code)
            else { return nil }
            return Int(length) + 4
        }
    }
}

/// Parses record headers in the first octets of a file: each must have a valid length, and there must be at least one.
func recordsAgree(_ prefix: ArraySlice<UInt8>, isWhole: Bool, headerLength: Int, _ length: (ArraySlice<UInt8>) -> Int?) -> Bool {
    var rest = prefix
    var seen = 0
    while rest.count >= headerLength {
        guard let step = length(rest) else { return false }
        seen += 1
        rest = rest.dropFirst(step)
    }
    return seen > 0 && (!isWhole || seen > 1 || rest.isEmpty)
}

struct PacketLoggerEncoder: RecordEncoder {
    var preamble: [UInt8] { [] }
    func announcement(of interface: CaptureInterface) -> [UInt8] { [] }

    func append(_ record: CaptureRecord, to octets: inout [UInt8]) -> Bool {
        switch record.content {
        case .hci(let packet, let direction):
            append(PacketLogger.code(packet.kind, packet.way(direction)), packet.bytes, record.time, to: &octets)
        case .note(let note):
            append(PacketLogger.Code.note, Array(note.utf8) + [0], record.time, to: &octets)
        case .air, .baseband, .other:
            return false
        }
        return true
    }

    private func append(_ code: UInt8, _ bytes: [UInt8], _ time: CaptureTime, to octets: inout [UInt8]) {
        octets.append(big: UInt32(clamping: bytes.count + 9))
        octets.append(big: UInt32(truncatingIfNeeded: time.microseconds / 1_000_000))
        octets.append(big: UInt32(truncatingIfNeeded: time.microseconds % 1_000_000))
        octets.append(code)
        octets.append(contentsOf: bytes)
    }
}

struct PacketLoggerDecoder: RecordDecoder {
    private let input: RecordInput
    private let big: Bool

    init(_ input: RecordInput, big: Bool) {
        self.input = input
        self.big = big
        input.interfaces = [CaptureInterface(name: "hci", linkType: .h4)]
    }

    mutating func next() throws(CaptureError) -> CaptureRecord? {
        guard let header = try input.start(PacketLogger.headerLength) else { return nil }
        let length: UInt32 = header.number(at: 0, big: big) ?? 0
        let seconds: UInt32 = header.number(at: 4, big: big) ?? 0
        let fraction: UInt32 = header.number(at: 8, big: big) ?? 0
        let code: UInt8 = header.number(at: 12, big: big) ?? 0
        guard length >= 9, length <= PacketLogger.longestRecord else { throw input.malformed("a record of \(length) bytes") }
        let packet = try input.piece(Int(length) - 9)
        let time = CaptureTime(microseconds: Int64(seconds) * 1_000_000 + Int64(fraction))
        return CaptureRecord(time: time, content: PacketLogger.content(code, packet))
    }
}

/// hcidump format of BlueZ: length, direction, seconds, microseconds (little-endian), then the packet with its H4 indicator.
struct HCIDumpDecoder: RecordDecoder {
    static let headerLength = 12
    private let input: RecordInput

    init(_ input: RecordInput) {
        self.input = input
        input.interfaces = [CaptureInterface(name: "hci", linkType: .h4)]
    }

    static func recognises(_ prefix: ArraySlice<UInt8>, isWhole: Bool) -> Bool {
        recordsAgree(prefix, isWhole: isWhole, headerLength: headerLength) { header in
            guard let length: UInt16 = header.number(at: 0, big: false), let way: UInt16 = header.number(at: 2, big: false),
                let fraction: UInt32 = header.number(at: 8, big: false), length > 0, way <= 1, fraction < 1_000_000
            else { return nil }
            return Int(length) + headerLength
        }
    }

    mutating func next() throws(CaptureError) -> CaptureRecord? {
        guard let header = try input.start(Self.headerLength) else { return nil }
        let length: UInt16 = header.number(at: 0, big: false) ?? 0
        let way: UInt8 = header.number(at: 2, big: false) ?? 0
        let seconds: UInt32 = header.number(at: 4, big: false) ?? 0
        let fraction: UInt32 = header.number(at: 8, big: false) ?? 0
        let packet = try input.piece(Int(length))
        let direction: CaptureDirection = way & 1 == 0 ? .hostToController : .controllerToHost
        let isNote = packet.first.map { PacketLogger.Code.texts.contains($0) } ?? false
        let content: CaptureRecord.Content =
            isNote
            ? .note(text(of: packet.dropFirst())) : HCIPacket(indicated: packet).map { .hci($0, direction) } ?? .other(.h4, Array(packet))
        return CaptureRecord(time: CaptureTime(microseconds: Int64(seconds) * 1_000_000 + Int64(fraction)), content: content)
    }
}
