import BBPackets
import BBTraffic

/// Reads the records of one format in sequence.
protocol RecordDecoder {
    /// The next record; nil at the regular end of the file.
    mutating func next() throws(CaptureError) -> CaptureRecord?
}

/// Input of record decoders: complete pieces, or an error with the position of the end.
final class RecordInput {
    let source: FileSource
    /// Number of packets delivered.
    var packets = 0
    /// The interfaces found so far.
    var interfaces: [CaptureInterface] = []

    init(_ source: FileSource) { self.source = source }

    /// The first octets of a record; nil at the regular end of the file.
    func start(_ count: Int) throws(CaptureError) -> ArraySlice<UInt8>? {
        if try source.peek(1).isEmpty {
            if let failure = source.failure { throw renumbered(failure) }
            return nil
        }
        return try piece(count)
    }

    func piece(_ count: Int) throws(CaptureError) -> ArraySlice<UInt8> {
        guard let piece = try source.take(count) else { throw truncated }
        return piece
    }

    func skip(_ count: Int) throws(CaptureError) {
        guard try source.skip(count) else { throw truncated }
    }

    func malformed(_ reason: String) -> CaptureError { .malformed(path: source.path, offset: source.offset, reason: reason) }

    /// The next line of a text; nil at its end.
    func line() throws(CaptureError) -> ArraySlice<UInt8>? {
        if let line = try source.line(limit: Self.longestLine) { return line }
        if let failure = source.failure { throw renumbered(failure) }
        return nil
    }

    private static let longestLine = 1 << 16

    private var truncated: CaptureError {
        source.failure.map(renumbered) ?? .truncated(path: source.path, offset: source.offset, packetsBefore: packets)
    }

    /// The error of a source that does not know the packets before it.
    private func renumbered(_ failure: CaptureError) -> CaptureError {
        guard case .truncated(let path, let offset, _) = failure else { return failure }
        return .truncated(path: path, offset: offset, packetsBefore: packets)
    }
}

/// Content of a packet in a format with link types.
func content(of packet: ArraySlice<UInt8>, linkType: LinkType, direction: CaptureDirection? = nil) -> CaptureRecord.Content {
    switch linkType {
    case .h4:
        if let hci = HCIPacket(indicated: packet) { return .hci(hci, direction ?? hci.impliedDirection) }
    case .h4WithDirection:
        if let way: UInt32 = packet.number(at: 0, big: true), let hci = HCIPacket(indicated: packet.dropFirst(4)) {
            return .hci(hci, way & 1 == 0 ? .hostToController : .controllerToHost)
        }
    case .linuxMonitor:
        if let opcode: UInt16 = packet.number(at: 2, big: true) { return LinuxMonitor.content(opcode: opcode, packet.dropFirst(4)) }
    case .leLinkLayerWithHeader:
        if let frame = AirFrame(headed: packet) { return .air(frame) }
    case .bredrBaseband:
        if var frame = BasebandFrame(headed: packet) {
            frame.isFromCentral = direction.map { $0 == .hostToController }
            return .baseband(frame)
        }
    case .nordicSniffer, .nordicSnifferBefore2019:
        if let frame = NordicSniffer.frame(packet) { return .air(frame) }
    case .leLinkLayer:
        return .air(bareFrame(packet))
    case .perPacketInformation:
        if let length: UInt16 = packet.number(at: 2, big: false), let inner: UInt32 = packet.number(at: 4, big: false),
            length >= 8, inner == LinkType.leLinkLayer.rawValue || inner == 147
        {
            return .air(bareFrame(packet.dropFirst(Int(length))))
        }
    default: break
    }
    return .other(linkType, Array(packet))
}

/// A frame without radio information: only the access address is known.
private func bareFrame(_ packet: ArraySlice<UInt8>) -> AirFrame {
    let accessAddress: UInt32 = packet.number(at: 0, big: false) ?? 0
    return AirFrame(
        rfChannel: AirFrame.noChannel, signalPower: 0, referenceAccessAddress: accessAddress, flags: [.dewhitened],
        channel: .advertising, modulation: .le1M, bytes: Array(packet))
}
