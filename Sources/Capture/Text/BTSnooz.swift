import BBPackets

/// The compressed log in the text of an Android bug report: base64 of a version, the time of the last packet, and a zlib stream of records.
struct BTSnooz {
    static let begin = Array("--- BEGIN:BTSNOO".utf8)
    static let end = Array("--- END:BTSNOO".utf8)
    /// Longest base64 text; Android keeps less than 1 MB.
    static let longestText = 64 << 20
    private static let longestLog = 256 << 20
    private static let preambleLength = 9

    /// The header of a record. Lengths include one octet for the packet type; times are since the record before.
    private enum Layout: CaseIterable {
        case first
        case second
        /// Of Qualcomm: a time of 64 bits, and the type at the head of the data.
        case wide

        var headerLength: Int {
            switch self {
            case .first: 7
            case .second: 9
            case .wide: 12
            }
        }
    }

    private struct Entry {
        var type: UInt8
        var length: Int
        var whole: Int
        var delta: Int64
        /// Position of the packet.
        var start: Int
    }

    private let octets: [UInt8]
    private let layout: Layout
    private var at = 0
    private var time: Int64

    /// Decodes a block; nil if it is no log.
    init?(base64 text: [UInt8]) {
        guard let block = Self.decoded(text), block.count > Self.preambleLength, let last: Int64 = block[1...].number(at: 0, big: false)
        else {
            return nil
        }
        let packed = FileSource(path: "", MemoryStream(Array(block[Self.preambleLength...])))
        let source = FileSource(path: "", Inflater(packed, .zlib, most: Self.longestLog))
        var octets: [UInt8] = []
        while let piece = try? source.peek(1 << 16), !piece.isEmpty {
            octets += piece
            guard (try? source.skip(piece.count)) == true else { break }
        }
        let layouts: [Layout] = block[0] == 1 ? [.first] : [.second, .wide]
        guard let layout = layouts.max(by: { Self.known(octets, $0) < Self.known(octets, $1) }), Self.known(octets, layout) > 0 else {
            return nil
        }
        (self.octets, self.layout) = (octets, layout)
        // Only the time of the last packet is known.
        var (deltas, position): (Int64, Int) = (0, 0)
        while let entry = Self.entry(octets, layout, position) {
            deltas &+= entry.delta
            position = entry.start + entry.length
        }
        time = last &- deltas
    }

    mutating func next() -> CaptureRecord? {
        while let entry = Self.entry(octets, layout, at) {
            at = entry.start + entry.length
            time &+= entry.delta
            guard let (kind, direction) = Self.kinds[entry.type] else { continue }
            let packet = HCIPacket(kind, Array(octets[entry.start..<at]))
            var record = CaptureRecord(time: CaptureTime(microseconds: time), content: .hci(packet, direction))
            if entry.whole > entry.length { record.cutFrom = entry.whole + 1 }
            return record
        }
        return nil
    }

    private static let kinds: [UInt8: (HCIPacket.Kind, CaptureDirection)] = [
        0x10: (.event, .controllerToHost), 0x11: (.acl, .controllerToHost), 0x12: (.sco, .controllerToHost),
        0x17: (.iso, .controllerToHost), 0x20: (.command, .hostToController), 0x21: (.acl, .hostToController),
        0x22: (.sco, .hostToController), 0x2D: (.iso, .hostToController),
    ]

    private static func entry(_ octets: [UInt8], _ layout: Layout, _ at: Int) -> Entry? {
        let header = octets[min(at, octets.count)...].prefix(layout.headerLength)
        guard header.count == layout.headerLength else { return nil }
        let length = Int(header.number(UInt16.self, at: 0, big: false) ?? 0) - 1
        let whole = layout == .first ? length : Int(header.number(UInt16.self, at: 2, big: false) ?? 0) - 1
        var start = at + layout.headerLength
        guard length >= 0, start + length + (layout == .wide ? 1 : 0) <= octets.count else { return nil }
        let (type, delta): (UInt8, Int64)
        switch layout {
        case .first: (type, delta) = (octets[start - 1], Int64(header.number(UInt32.self, at: 2, big: false) ?? 0))
        case .second: (type, delta) = (octets[start - 1], Int64(header.number(UInt32.self, at: 4, big: false) ?? 0))
        case .wide:
            (type, delta) = (octets[start], header.number(Int64.self, at: 4, big: false) ?? 0)
            start += 1
        }
        return Entry(type: type, length: length, whole: whole, delta: delta, start: start)
    }

    /// Number of records before the first one with an unknown type.
    private static func known(_ octets: [UInt8], _ layout: Layout) -> Int {
        var (count, at) = (0, 0)
        while let entry = entry(octets, layout, at), kinds[entry.type] != nil {
            count += 1
            at = entry.start + entry.length
        }
        return count
    }

    /// Octets of base64 without its line ends; nil if there are other characters. RFC 4648, 4.
    static func decoded(_ text: [UInt8]) -> [UInt8]? {
        var (octets, word, bits): ([UInt8], UInt32, Int) = ([], 0, 0)
        for character in text {
            let digit: UInt8
            switch character {
            case 65...90: digit = character - 65
            case 97...122: digit = character - 71
            case 48...57: digit = character + 4
            case 43: digit = 62
            case 47: digit = 63
            case 9, 10, 13, 32, 61: continue
            default: return nil
            }
            (word, bits) = (word << 6 | UInt32(digit), bits + 6)
            if bits >= 8 {
                bits -= 8
                octets.append(UInt8(truncatingIfNeeded: word >> UInt32(bits)))
            }
        }
        return octets
    }
}
