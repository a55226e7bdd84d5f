import BBL2CAP
import BBPackets
import BBTraffic

/// Replaces addresses, names, keys, values and serial numbers in the packets of a capture, so that everything else means the same.
///
/// The capture is read twice: `learn` takes all packets before `replace` takes the first, because a key may come after the addresses that
/// it resolves. Packets are held back until the PDU that begins in them is complete.
public struct AnonymousCapture {
    private struct Key: Hashable {
        var interface: Int
        var link: UInt32
        var isOut: Bool?
    }

    /// Octets of a PDU in a packet, by its number among all packets.
    private struct Piece {
        var number: Int
        var range: Range<Int>
    }

    private var decoder = PacketDecoder()
    private var fields: PrivateFields
    private var attributes: [Key: AttributeTypes] = [:]
    private var held: [CaptureRecord] = []
    /// Which of the held packets are wanted.
    private var selected: [Bool] = []
    /// Number of the first held packet.
    private var first = 0
    private var open: [Key: [Piece]] = [:]
    /// Packets of kinds that are left out: notes, comments, unknown records, BR/EDR on the air.
    public private(set) var leftOut = 0
    /// True if there is no packet whose content is known.
    public private(set) var isEmpty = true

    private static let mostHeld = 4_096
    private static let mostLinks = 1_024
    private static let checkLength = 3

    /// - Parameter secret: determines the replacements; from the system's generator.
    public init(secret: UInt128) { fields = PrivateFields(Pseudonyms(secret: secret)) }

    /// Notes the addresses and keys of a packet.
    public mutating func learn(_ record: CaptureRecord) {
        for layer in decoder.decode(record).layers where layer.declaration != nil { fields.learn(layer) }
    }

    /// Ends the first reading.
    public mutating func endLearning() { decoder = PacketDecoder() }

    /// Takes a packet, and returns those that are complete and selected.
    public mutating func replace(_ record: CaptureRecord, isSelected: Bool = true) -> [CaptureRecord] {
        var record = record
        if record.comment != nil { leftOut += 1 }
        record.comment = nil
        guard let key = key(of: record) else {
            // The numbers of the packets stay.
            leftOut += 1
            record.content = .note("left out")
            held.append(record)
            selected.append(isSelected)
            return release(all: held.count > Self.mostHeld)
        }
        isEmpty = false
        let decoded = decoder.decode(record)
        held.append(record)
        selected.append(isSelected)
        let number = first + held.count - 1
        note(record, key, number, decoded)
        apply(decoded, key, number)
        return release(all: held.count > Self.mostHeld)
    }

    /// The packets that are still held back.
    public mutating func finish() -> [CaptureRecord] { release(all: true) }

    /// The replacements in words, for a message.
    public var summary: String {
        let words: [(Pseudonyms.Kind, String, String)] = [
            (.address, "address", "addresses"), (.name, "name or text", "names and texts"),
            (.key, "key or random number", "keys and random numbers"),
            (.value, "value", "values"), (.number, "passkey", "passkeys"),
        ]
        let counted = words.map { kind, one, many in (fields.pseudonyms.count(kind), one, many) }.filter { $0.0 > 0 }
        var parts = counted.map { "\($0.0) \($0.0 == 1 ? $0.1 : $0.2)" }
        if fields.unknown > 0 { parts.append("data of unknown kinds in \(fields.unknown) \(fields.unknown == 1 ? "place" : "places")") }
        return "replaced " + (parts.isEmpty ? "nothing" : parts.joined(separator: ", "))
    }

    private func key(of record: CaptureRecord) -> Key? {
        switch record.content {
        case .hci(let packet, let direction):
            let link = packet.kind == .acl ? UInt32(packet.aclHeader?.handle.rawValue ?? 0) : 0x1_0000
            return Key(interface: record.interface, link: link, isOut: direction.map { $0 == .hostToController })
        case .air(let frame):
            guard let pdu = frame.pdu else { return Key(interface: record.interface, link: 0, isOut: nil) }
            return Key(interface: record.interface, link: pdu.accessAddress, isOut: pdu.direction == .forth)
        case .baseband, .note, .other: return nil
        }
    }

    // MARK: Fragments

    /// Notes the octets of a fragment.
    private mutating func note(_ record: CaptureRecord, _ key: Key, _ number: Int, _ decoded: DecodedPacket) {
        guard let (range, isStart) = record.content.fragment, !decoded.isEncrypted else { return }
        if isStart {
            abandon(key)
            if open.count >= Self.mostLinks { for key in open.keys { abandon(key) } }
            open[key] = [Piece(number: number, range: range)]
        } else {
            open[key, default: []].append(Piece(number: number, range: range))
        }
    }

    /// Replaces the layers of a packet, and ends the PDU that it completes.
    private mutating func apply(_ decoded: DecodedPacket, _ key: Key, _ number: Int) {
        let bytes = held[number - first].content.octets
        let pieces = open[key] ?? []
        let types = Key(interface: key.interface, link: key.link, isOut: nil)
        if attributes.count >= Self.mostLinks { attributes.removeAll() }
        for layer in decoded.layers {
            if layer.layer == .att {
                attributes[types, default: AttributeTypes()].replace(layer, isOut: key.isOut, &fields)
            } else {
                fields.replace(layer)
            }
            let edits = fields.takeEdits()
            if layer.bytes == bytes {
                for edit in edits { write(edit.octets, to: number, at: edit.range.lowerBound) }
            } else if layer.bytes.count == pieces.reduce(0, { $0 + $1.range.count }) {
                for edit in edits { write(edit, to: pieces) }
            } else {
                // An SDU of several PDUs: its parts were data of an unknown channel.
                blank(pieces)
            }
        }
        if decoded.channel != nil || decoded.layers.contains(where: { $0.layer == .l2capFragment }) { open[key] = nil }
        guard var content = held.last?.content else { return }
        content.replaceOctets { fields.pseudonyms.replaceAddresses(in: &$0) }
        // The check of a changed frame would confirm a guess of what was in it.
        if case .air(var frame) = content, frame.bytes != bytes, frame.bytes.count > Self.checkLength {
            let start = frame.bytes.count - Self.checkLength
            frame.bytes[start...] = fields.pseudonyms.octets(Array(frame.bytes), .data)[..<Self.checkLength]
            content = .air(frame)
        }
        held[held.count - 1].content = content
    }

    /// Replaces what has come of a PDU that does not become complete, after its header and opcode.
    private mutating func abandon(_ key: Key) {
        guard let pieces = open.removeValue(forKey: key) else { return }
        blank(pieces)
    }

    private mutating func blank(_ pieces: [Piece]) {
        var skipped = L2CAPHeader.octets + 1
        for piece in pieces where piece.number >= first && piece.number - first < held.count {
            let range = piece.range.dropFirst(skipped)
            skipped = max(0, skipped - piece.range.count)
            fields.replace(range, held[piece.number - first].content.octets)
            for edit in fields.takeEdits() { write(edit.octets, to: piece.number, at: edit.range.lowerBound) }
        }
    }

    /// Writes an edit of a whole PDU to the packets with its pieces.
    private mutating func write(_ edit: PrivateFields.Edit, to pieces: [Piece]) {
        var start = 0
        for piece in pieces {
            let part = edit.range.clamped(to: start..<start + piece.range.count)
            if !part.isEmpty {
                let octets = edit.octets.dropFirst(part.lowerBound - edit.range.lowerBound).prefix(part.count)
                write(Array(octets), to: piece.number, at: piece.range.lowerBound + part.lowerBound - start)
            }
            start += piece.range.count
        }
    }

    private mutating func write(_ octets: [UInt8], to number: Int, at position: Int) {
        guard number >= first, number - first < held.count else { return }
        held[number - first].content.replaceOctets { bytes in
            guard position >= 0, position + octets.count <= bytes.count else { return }
            bytes.replaceSubrange(position..<position + octets.count, with: octets)
        }
    }

    /// The packets before the first that is part of an open PDU.
    private mutating func release(all: Bool) -> [CaptureRecord] {
        if all { for key in open.keys { abandon(key) } }
        let waiting = open.values.compactMap { $0.first?.number }.min() ?? first + held.count
        let ready = max(0, min(held.count, waiting - first))
        defer {
            held.removeFirst(ready)
            selected.removeFirst(ready)
            first += ready
        }
        return zip(held, selected).prefix(ready).compactMap { $1 ? $0 : nil }
    }
}

extension CaptureRecord.Content {
    /// The octets to which the ranges of decoded layers refer.
    fileprivate var octets: [UInt8] {
        switch self {
        case .hci(let packet, _): packet.bytes
        case .air(let frame): frame.bytes
        case .baseband(let frame): frame.payload
        case .note, .other: []
        }
    }

    fileprivate mutating func replaceOctets(_ body: (inout [UInt8]) -> Void) {
        switch self {
        case .hci(var packet, let direction):
            body(&packet.bytes)
            self = .hci(packet, direction)
        case .air(var frame):
            body(&frame.bytes)
            self = .air(frame)
        case .baseband, .note, .other: break
        }
    }

    /// The position of a fragment of an L2CAP PDU, and whether it is the first.
    fileprivate var fragment: (range: Range<Int>, isStart: Bool)? {
        switch self {
        case .hci(let packet, _):
            guard packet.kind == .acl, let header = packet.aclHeader, packet.bytes.count > ACLHeader.octets else { return nil }
            return (ACLHeader.octets..<packet.bytes.count, header.boundary != .continuing)
        case .air(let frame):
            guard !frame.isBroken, let pdu = frame.pdu, pdu.kind == .data, !pdu.isControl, !pdu.payload.isEmpty else { return nil }
            return (pdu.payload, pdu.isStart)
        case .baseband, .note, .other: return nil
        }
    }
}
