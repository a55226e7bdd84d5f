import Packets

/// Cuts a byte stream into HCI packets: an indicator octet before each. Core Vol 4, Part A, 2.
///
/// Takes the stream in pieces of any size. An indicator that does not exist, or a packet longer than allowed, ends it: the transport has no
/// way to find the next packet again.
public struct H4Framer: Sendable {
    /// Why the stream cannot be read on.
    public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        case unknownIndicator(UInt8, offset: Int)
        case tooLong(HCIPacket.Kind, length: Int, offset: Int)

        public var description: String {
            switch self {
            case .unknownIndicator(let octet, let offset): "indicator 0x\(hexadecimal(octet)) at byte \(offset) is no HCI packet"
            case .tooLong(let kind, let length, let offset): "\(kind) packet of \(length) bytes at byte \(offset) is longer than allowed"
            }
        }
    }

    /// The longest packet allowed, header included.
    public let longestPacket: Int
    /// The beginning of a packet that is not complete yet, with its indicator.
    private var pending: [UInt8] = []
    private var consumed = 0
    private var failure: Failure?
    private var packets = PacketPool(16)

    public init(longestPacket: Int = 4 + 0xFFFF) { self.longestPacket = longestPacket }

    /// Octets of a packet that is not complete yet.
    public var pendingCount: Int { pending.count }

    /// The next packet that a piece of the stream completes, which is then without the octets that were needed; nil when all of it is used up.
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

    /// Cuts a packet from the beginning of a piece, or keeps the piece.
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

    /// Takes from a piece what the pending packet lacks.
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

    /// The kind of the packet that begins with these octets, and its length with its indicator; nil while its header is not complete.
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
    /// The packet as the UART transport carries it.
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
