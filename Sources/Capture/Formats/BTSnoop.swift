import BBPackets

/// btsnoop: a header, then records of 24 octets and a packet, all big-endian. Times are in microseconds since the year 0.
enum BTSnoop {
    static let magic: [UInt8] = Array("btsnoop\0".utf8)
    /// Microseconds from the year 0 to 1970, as used by all btsnoop tools.
    static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000
    static let recordHeaderLength = 24
    static let longestPacket = 1 << 18

    enum Datalink {
        static let bare: UInt32 = 1001
        static let h4: UInt32 = 1002
        static let bcsp: UInt32 = 1003
        static let threeWire: UInt32 = 1004
        static let monitor: UInt32 = 2001
        static let all = [bare, h4, bcsp, threeWire, monitor]
    }
}

struct BTSnoopEncoder: RecordEncoder {
    var preamble: [UInt8] {
        var octets = BTSnoop.magic
        octets.append(big: UInt32(1))
        octets.append(big: BTSnoop.Datalink.h4)
        return octets
    }

    func announcement(of interface: CaptureInterface) -> [UInt8] { [] }

    func append(_ record: CaptureRecord, to octets: inout [UInt8]) -> Bool {
        guard case .hci(let packet, let direction) = record.content else { return false }
        let isControl = packet.kind == .command || packet.kind == .event
        let length = UInt32(packet.bytes.count + 1)
        octets.append(big: record.cutFrom.map { UInt32(clamping: $0) } ?? length)
        octets.append(big: length)
        octets.append(big: UInt32(packet.way(direction).rawValue) | (isControl ? 2 : 0))
        octets.append(big: UInt32(0))
        octets.append(big: record.time.microseconds &+ BTSnoop.epoch)
        octets.append(packet.kind.rawValue)
        octets.append(contentsOf: packet.bytes)
        return true
    }
}

struct BTSnoopDecoder: RecordDecoder {
    private let datalink: UInt32
    private let input: RecordInput

    init(_ input: RecordInput) throws(CaptureError) {
        self.input = input
        let header = try input.piece(16)
        guard let version: UInt32 = header.number(at: 8, big: true), version == 1 else { throw input.malformed("btsnoop version is not 1") }
        datalink = header.number(at: 12, big: true) ?? 0
        guard BTSnoop.Datalink.all.contains(datalink) else {
            throw .unsuitable(path: input.source.path, reason: "its btsnoop datalink \(datalink) is not 1001 to 1004 or 2001")
        }
        if datalink != BTSnoop.Datalink.monitor { input.interfaces = [CaptureInterface(name: "hci", linkType: .h4)] }
    }

    mutating func next() throws(CaptureError) -> CaptureRecord? {
        guard let header = try input.start(BTSnoop.recordHeaderLength) else { return nil }
        let original: UInt32 = header.number(at: 0, big: true) ?? 0
        let length: UInt32 = header.number(at: 4, big: true) ?? 0
        let flags: UInt32 = header.number(at: 8, big: true) ?? 0
        let stamp: Int64 = header.number(at: 16, big: true) ?? 0
        guard length <= BTSnoop.longestPacket else { throw input.malformed("a packet of \(length) bytes") }
        let packet = try input.piece(Int(length))
        var record = CaptureRecord(time: CaptureTime(microseconds: stamp &- BTSnoop.epoch), content: .other(.h4, []))
        if original > length { record.cutFrom = Int(original) }
        switch datalink {
        case BTSnoop.Datalink.monitor:
            record.interface = adapter(Int(flags >> 16))
            record.content = LinuxMonitor.content(opcode: UInt16(truncatingIfNeeded: flags), packet)
        case BTSnoop.Datalink.bare:
            record.content = Self.bareContent(packet, flags: flags)
        case BTSnoop.Datalink.bcsp, BTSnoop.Datalink.threeWire:
            let direction: CaptureDirection = flags & 1 == 0 ? .hostToController : .controllerToHost
            record.content = SerialFrame.content(packet, direction, isBCSP: datalink == BTSnoop.Datalink.bcsp)
        default:
            let direction: CaptureDirection = flags & 1 == 0 ? .hostToController : .controllerToHost
            record.content = HCIPacket(indicated: packet).map { .hci($0, direction) } ?? .other(.h4, Array(packet))
        }
        return record
    }

    private static func bareContent(_ packet: ArraySlice<UInt8>, flags: UInt32) -> CaptureRecord.Content {
        let isReceived = flags & 1 != 0
        let kind: HCIPacket.Kind = flags & 2 == 0 ? .acl : isReceived ? .event : .command
        return .hci(HCIPacket(kind, Array(packet)), isReceived ? .controllerToHost : .hostToController)
    }

    /// Adds an interface for each new adapter index; the monitor itself (0xFFFF) also has one.
    private func adapter(_ index: Int) -> Int {
        let name = index == 0xFFFF ? "monitor" : "hci\(index)"
        if let known = input.interfaces.firstIndex(where: { $0.name == name }) { return known }
        input.interfaces.append(CaptureInterface(name: name, linkType: .linuxMonitor))
        return input.interfaces.count - 1
    }
}

/// Packet codes of the Linux Bluetooth monitor channel.
enum LinuxMonitor {
    static func content(opcode: UInt16, _ packet: ArraySlice<UInt8>) -> CaptureRecord.Content {
        let bytes = Array(packet)
        switch opcode {
        case 2: return .hci(HCIPacket(.command, bytes), .hostToController)
        case 3: return .hci(HCIPacket(.event, bytes), .controllerToHost)
        case 4: return .hci(HCIPacket(.acl, bytes), .hostToController)
        case 5: return .hci(HCIPacket(.acl, bytes), .controllerToHost)
        case 6: return .hci(HCIPacket(.sco, bytes), .hostToController)
        case 7: return .hci(HCIPacket(.sco, bytes), .controllerToHost)
        case 18: return .hci(HCIPacket(.iso, bytes), .hostToController)
        case 19: return .hci(HCIPacket(.iso, bytes), .controllerToHost)
        case 0: return .note("new index " + text(of: packet.dropFirst(8)))
        case 1: return .note("index removed")
        case 8: return .note("index opened")
        case 9: return .note("index closed")
        case 12: return .note(text(of: packet))
        case 13: return .note(text(of: packet.dropFirst(2 + Int(packet.dropFirst(1).first ?? 0))))
        default: return .other(.linuxMonitor, bytes)
        }
    }
}
