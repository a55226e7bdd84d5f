import BBPackets

/// Splits a byte stream into HCI packets, each preceded by an indicator octet. Core Vol 4, Part A, 2.
///
/// Accepts the stream in pieces of any size. An invalid indicator or a packet longer than allowed ends the stream, since H4 has no way to
/// find the next packet.
public struct H4Framer: Sendable {
    /// Reason why the stream cannot be continued.
    public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        case unknownIndicator(UInt8, offset: Int)
        case tooLong(HCIPacket.Kind, length: Int, offset: Int)

        public var description: String {
            switch self {
            case .unknownIndicator(let octet, let offset):
                "indicator 0x\(hexadecimal(octet)) at byte \(offset) does not begin an HCI packet"
            case .tooLong(let kind, let length, let offset): "\(kind) packet of \(length) bytes at byte \(offset) is longer than allowed"
            }
        }
    }

    /// Maximum packet length, header included.
    public let longestPacket: Int
    /// Start of an incomplete packet, with its indicator.
    private var pending: [UInt8] = []
    private var consumed = 0
    private var failure: Failure?
    private var packets = PacketPool(16)

    public init(longestPacket: Int = 4 + 0xFFFF) { self.longestPacket = longestPacket }

    /// Octets of an incomplete packet.
    public var pendingCount: Int { pending.count }

    /// The next packet completed by a piece of the stream; removes the used octets from the piece. Nil once the piece is used up.
    public mutating func next(of piece: inout UnsafeRawBufferPointer) throws(Failure) -> HCIPacket? {
        if let failure { throw failure }
        guard !piece.isEmpty else { return nil }
        do throws(Failure) {
            return pending.isEmpty ? try cut(&piece) : try complete(with: &piece)
        } catch {
            failure = error
            throw error
        }
    }

    /// Take a packet from the start of the piece, or keep the piece.
    @inline(__always) private mutating func cut(_ piece: inout UnsafeRawBufferPointer) throws(Failure) -> HCIPacket? {
        guard let (kind, count) = try beginning(piece.bytes), count <= piece.count else {
            pending.append(contentsOf: piece)
            piece = UnsafeRawBufferPointer(rebasing: piece[piece.count...])
            return nil
        }
        let octets = UnsafeRawBufferPointer(rebasing: piece[1..<count])
        piece = UnsafeRawBufferPointer(rebasing: piece[count...])
        return packet(kind, octets.bytes)
    }

    /// Completes the pending packet from a piece.
    private mutating func complete(with piece: inout UnsafeRawBufferPointer) throws(Failure) -> HCIPacket? {
        while true {
            let known = try beginning(pending.span.bytes)
            if let (kind, count) = known, count == pending.count {
                let octets = pending
                pending.removeAll(keepingCapacity: true)
                return packet(kind, octets.span.bytes.extracting(droppingFirst: 1))
            }
            guard !piece.isEmpty else { return nil }
            let lacking = known.map { $0.count - pending.count } ?? 1
            let taken = min(lacking, piece.count)
            pending.append(contentsOf: piece[..<taken])
            piece = UnsafeRawBufferPointer(rebasing: piece[taken...])
        }
    }

    /// Kind of the packet that starts with these octets, and its length with indicator; nil while the header is incomplete.
    @inline(__always) private func beginning(_ octets: borrowing RawSpan) throws(Failure) -> (kind: HCIPacket.Kind, count: Int)? {
        guard octets.byteCount > 0 else { return nil }
        guard let kind = HCIPacket.Kind(rawValue: octets.u8(at: 0)) else {
            throw .unknownIndicator(octets.u8(at: 0), offset: consumed)
        }
        guard let length = kind.packetLength(in: octets.extracting(droppingFirst: 1)) else { return nil }
        guard length <= longestPacket else { throw .tooLong(kind, length: length, offset: consumed) }
        return (kind, 1 + length)
    }

    @inline(__always) private mutating func packet(_ kind: HCIPacket.Kind, _ octets: borrowing RawSpan) -> HCIPacket {
        consumed += 1 + octets.byteCount
        let octets = copy octets
        return HCIPacket(kind, packets.make { $0.bytes(octets) })
    }
}

extension HCIPacket {
    /// The packet in UART transport format.
    public var h4: [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(bytes.count + 1)
        octets.append(kind.rawValue)
        octets.append(contentsOf: bytes)
        return octets
    }
}

func hexadecimal(_ octet: UInt8) -> String {
    let text = String(octet, radix: 16, uppercase: true)
    return text.count < 2 ? "0" + text : text
}
