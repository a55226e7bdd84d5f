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
    private var buffer: [UInt8] = []
    private var position = 0
    private var consumed = 0
    private var failure: Failure?

    public init(longestPacket: Int = 4 + 0xFFFF) { self.longestPacket = longestPacket }

    /// Octets of a packet that is not complete yet.
    public var pendingCount: Int { buffer.count - position }

    /// Adds a piece of the stream.
    public mutating func append(_ octets: UnsafeRawBufferPointer) {
        if position == buffer.count {
            buffer.removeAll(keepingCapacity: true)
            position = 0
        } else if position > 1 << 16 {
            buffer.removeFirst(position)
            position = 0
        }
        buffer.append(contentsOf: octets)
    }

    public mutating func append(_ octets: [UInt8]) { octets.withUnsafeBytes { append($0) } }

    /// The next complete packet; nil when more of the stream is needed.
    public mutating func next() throws(Failure) -> HCIPacket? {
        if let failure { throw failure }
        guard position < buffer.count else { return nil }
        guard let kind = HCIPacket.Kind(rawValue: buffer[position]) else {
            throw fail(.unknownIndicator(buffer[position], offset: consumed))
        }
        guard let length = kind.packetLength(in: buffer, at: position + 1) else { return nil }
        guard length <= longestPacket else { throw fail(.tooLong(kind, length: length, offset: consumed)) }
        let end = position + 1 + length
        guard end <= buffer.count else { return nil }
        let packet = HCIPacket(kind, Array(buffer[(position + 1)..<end]))
        position = end
        consumed += 1 + length
        return packet
    }

    private mutating func fail(_ reason: Failure) -> Failure {
        failure = reason
        return reason
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
