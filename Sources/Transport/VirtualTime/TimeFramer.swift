import BBPackets

/// Cuts a byte stream into HCI packets and messages about time.
struct TimeFramer {
    enum Item: Equatable {
        case packet(HCIPacket)
        case message(TimeMessage)
    }

    enum Failure: Error, Equatable, CustomStringConvertible {
        case packet(H4Framer.Failure)
        case unknownCode(UInt8)
        case malformed(UInt8, length: Int)

        var description: String {
            switch self {
            case .packet(let failure): failure.description
            case .unknownCode(let code): "message 0x\(hexadecimal(code)) is unknown"
            case .malformed(let code, let length): "message 0x\(hexadecimal(code)) cannot have this payload of \(length) octets"
            }
        }
    }

    private var packets = H4Framer()
    /// The beginning of a message that is not complete yet, with its indicator.
    private var pending: [UInt8] = []

    /// Returns the next complete item and removes its octets from `piece`; nil if `piece` is used up.
    mutating func next(of piece: inout UnsafeRawBufferPointer) throws(Failure) -> Item? {
        while let first = pending.first ?? piece.first {
            if first == TimeMessage.indicator, packets.pendingCount == 0 { return try message(&piece).map { .message($0) } }
            do throws(H4Framer.Failure) {
                if let packet = try packets.next(of: &piece) { return .packet(packet) }
            } catch {
                throw .packet(error)
            }
        }
        return nil
    }

    private mutating func message(_ piece: inout UnsafeRawBufferPointer) throws(Failure) -> TimeMessage? {
        take(TimeMessage.headerLength, from: &piece)
        guard pending.count >= TimeMessage.headerLength else { return nil }
        guard let code = TimeMessage.Code(rawValue: pending[1]) else { throw .unknownCode(pending[1]) }
        let length = Int(pending[2]) | Int(pending[3]) << 8
        guard code.lengths.contains(length) else { throw .malformed(code.rawValue, length: length) }
        take(TimeMessage.headerLength + length, from: &piece)
        guard pending.count == TimeMessage.headerLength + length else { return nil }
        let payload = Array(pending.dropFirst(TimeMessage.headerLength))
        pending.removeAll(keepingCapacity: true)
        guard let message = TimeMessage(code, payload) else { throw .malformed(code.rawValue, length: length) }
        return message
    }

    /// Fills the pending message up to a length, as far as the piece goes.
    private mutating func take(_ count: Int, from piece: inout UnsafeRawBufferPointer) {
        let taken = min(max(0, count - pending.count), piece.count)
        pending.append(contentsOf: piece[..<taken])
        piece = UnsafeRawBufferPointer(rebasing: piece[taken...])
    }
}
