import BBPackets

/// Packets in several lines of octets: with offsets, as text2pcap takes them; after < or >, as hcidump prints them; below a line of a log,
/// as Zephyr prints them.
struct HexDump {
    private enum Form {
        case offsets
        case raw
        case log
    }

    private var form: Form?
    private var octets: [UInt8] = []
    private var direction: CaptureDirection?
    private var time: Int64?
    /// The text before the octets.
    private var head: [UInt8] = []
    private var headTime: Int64?
    private static let longest = 1 << 18

    /// True within octets.
    var isOpen: Bool { form != nil }

    /// Adds a line; returns the packet that ended before it.
    mutating func add(_ line: ArraySlice<UInt8>) -> LogPacket? {
        let text = line.drop { $0 == 32 || $0 == 9 }
        // A line without octets tells the length of the packet before it.
        if let (offset, rest) = Self.offset(text), form == .offsets || !rest.isEmpty { return add(offset, rest) }
        if let first = line.first, first == UInt8(ascii: "<") || first == UInt8(ascii: ">"), line.dropFirst().first == 32,
            case let pairs = LogText.pairs(line.dropFirst(2)), !pairs.isEmpty
        {
            let ended = finish()
            (form, octets) = (.raw, pairs)
            direction = first == UInt8(ascii: "<") ? .hostToController : .controllerToHost
            return ended
        }
        let pairs = LogText.pairs(text)
        if form == .raw, line.first == 32, !pairs.isEmpty {
            append(pairs)
            return nil
        }
        if !pairs.isEmpty, pairs.count <= 16, form == .log || !head.isEmpty {
            if form != .log { open(.log) }
            append(pairs)
            return nil
        }
        let ended = finish()
        (head, headTime) = (Array(text.prefix(300)), LogTime.parse(text))
        return ended
    }

    /// A line with an offset, where the first octets of a packet have the offset 0.
    private mutating func add(_ offset: Int, _ rest: ArraySlice<UInt8>) -> LogPacket? {
        var ended: LogPacket?
        if form != .offsets || offset == 0 {
            ended = finish()
            guard offset == 0 else { return ended }
            open(.offsets)
        }
        // The offset of the next line tells how many octets the one before had: its text may look like octets.
        if offset < octets.count { octets.removeLast(octets.count - offset) }
        if offset == octets.count { append(LogText.pairs(rest)) }
        return ended
    }

    private mutating func open(_ form: Form) {
        self.form = form
        octets = []
        time = headTime
        if form == .offsets {
            let mark = head.prefix { $0 > 32 }
            direction = mark.elementsEqual("O".utf8) ? .hostToController : mark.elementsEqual("I".utf8) ? .controllerToHost : nil
        } else {
            direction = LogLine.direction(head[...])
        }
    }

    private mutating func append(_ pairs: [UInt8]) { octets += pairs.prefix(max(0, Self.longest - octets.count)) }

    /// Ends the octets; nil if they are no whole packet.
    mutating func finish() -> LogPacket? {
        guard let form else { return nil }
        defer {
            self.form = nil
            if form != .log { (head, headTime) = ([], nil) }
        }
        if let packet = HCIPacket(wholeIndicated: octets[...]) { return LogPacket(packet, direction, time: time) }
        if form == .log { return typed() }
        if octets.starts(with: [0, 0, 0]), let packet = HCIPacket(wholeIndicated: octets.dropFirst(4)) {
            return LogPacket(packet, octets[3] & 1 == 0 ? .hostToController : .controllerToHost, time: time)
        }
        return HCIPacket(indicated: octets[...]).map { LogPacket($0, direction, time: time) }
    }

    /// A packet without the H4 indicator, whose type the line above tells as a buffer type of Zephyr or in words.
    private func typed() -> LogPacket? {
        let words = String(decoding: head, as: UTF8.self).lowercased()
        let kind: HCIPacket.Kind? =
            words.contains("cmd")
            ? .command : words.contains("evt") || words.contains("event") ? .event : words.contains("acl") ? .acl : nil
        guard let kind, HCIPacket.wholeLength(kind, octets[...]) == octets.count else { return nil }
        return LogPacket(HCIPacket(kind, octets), direction, time: time)
    }

    /// Offset of at least three digits at the start of a line, with or without a colon.
    private static func offset(_ text: ArraySlice<UInt8>) -> (Int, ArraySlice<UInt8>)? {
        let digits = text.prefix(9).prefix { LogText.digit($0) != nil }
        guard (3...8).contains(digits.count) else { return nil }
        var rest = text[digits.endIndex...]
        if rest.first == UInt8(ascii: ":") { rest = rest.dropFirst() }
        guard rest.isEmpty || rest.first == 32 || rest.first == 9 else { return nil }
        let offset = digits.reduce(0) { $0 << 4 | Int(LogText.digit($1) ?? 0) }
        return (offset, rest.drop { $0 == 32 || $0 == 9 })
    }
}
