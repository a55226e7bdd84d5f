import BBPackets

/// Reads pcapng: any number of sections in either byte order; skips unknown blocks and options.
struct PcapNGDecoder: RecordDecoder {
    private struct Interface {
        var linkType: LinkType
        var snapLength: UInt32
        /// Time units per second.
        var unitsPerSecond: UInt128 = 1_000_000
        var offsetSeconds: Int64 = 0
    }

    private var described: [Interface] = []
    /// Index of the section's first interface among all interfaces.
    private var base = 0
    private var big = false
    private let input: RecordInput

    init(_ input: RecordInput) { self.input = input }

    mutating func next() throws(CaptureError) -> CaptureRecord? {
        while let head = try input.start(8) {
            let asSection: UInt32 = head.number(at: 0, big: true) ?? 0
            if asSection == PcapNG.Block.sectionHeader {
                try readSection(lengthOctets: head.dropFirst(4))
                continue
            }
            let type: UInt32 = head.number(at: 0, big: big) ?? 0
            let length: UInt32 = head.number(at: 4, big: big) ?? 0
            guard length >= 12, length % 4 == 0 else { throw input.malformed("a block of \(length) bytes") }
            switch type {
            case PcapNG.Block.interface: try addInterface(body(length))
            case PcapNG.Block.enhancedPacket: return try enhancedPacket(body(length))
            case PcapNG.Block.oldPacket: return try oldPacket(body(length))
            case PcapNG.Block.simplePacket: return try simplePacket(body(length))
            default: try input.skip(Int(length) - 8)
            }
        }
        return nil
    }

    /// The rest of a block, without the repeated length at its end.
    private func body(_ length: UInt32) throws(CaptureError) -> ArraySlice<UInt8> {
        guard length <= PcapNG.longestBlock else { throw input.malformed("a block of \(length) bytes") }
        let body = try input.piece(Int(length) - 8)
        guard body.number(UInt32.self, at: body.count - 4, big: big) == length else {
            throw input.malformed("the two lengths of a block differ")
        }
        return body.dropLast(4)
    }

    private mutating func readSection(lengthOctets: ArraySlice<UInt8>) throws(CaptureError) {
        let order = try input.piece(4)
        switch order.number(UInt32.self, at: 0, big: false) {
        case PcapNG.byteOrderMagic: big = false
        case PcapNG.byteOrderMagic.byteSwapped: big = true
        default: throw input.malformed("a section without byte order")
        }
        let length: UInt32 = lengthOctets.number(at: 0, big: big) ?? 0
        guard length >= 28, length % 4 == 0, length <= PcapNG.longestBlock else {
            throw input.malformed("a section header of \(length) bytes")
        }
        try input.skip(Int(length) - 12)
        base = input.interfaces.count
        described = []
    }

    private mutating func addInterface(_ body: ArraySlice<UInt8>) throws(CaptureError) {
        guard let linkType: UInt16 = body.number(at: 0, big: big), let snapLength: UInt32 = body.number(at: 4, big: big) else {
            throw input.malformed("a short interface description")
        }
        var interface = Interface(linkType: LinkType(rawValue: UInt32(linkType)), snapLength: snapLength)
        var name = ""
        let options = body.dropFirst(8)
        forEachOption(options.span.bytes) { code, value in
            switch code {
            case PcapNG.Option.name: name = text(of: value.octets[...])
            case PcapNG.Option.resolution: interface.unitsPerSecond = Self.unitsPerSecond(value.number(at: 0, big: big) ?? 6)
            case PcapNG.Option.timeOffset: interface.offsetSeconds = value.number(at: 0, big: big) ?? 0
            default: break
            }
        }
        described.append(interface)
        input.interfaces.append(CaptureInterface(name: name, linkType: interface.linkType))
    }

    /// Resolution of times: powers of two if the most significant bit of the option is set, otherwise powers of ten. Resolutions that
    /// exceed 128 bits are clamped.
    private static func unitsPerSecond(_ resolution: UInt8) -> UInt128 {
        let exponent = Int(resolution & 0x7F)
        if resolution & 0x80 != 0 { return 1 << UInt128(min(exponent, 90)) }
        return (0..<min(exponent, 27)).reduce(1) { product, _ in product * 10 }
    }

    private func enhancedPacket(_ body: ArraySlice<UInt8>) throws(CaptureError) -> CaptureRecord {
        guard let index: UInt32 = body.number(at: 0, big: big) else { throw input.malformed("a short packet block") }
        return try packet(interface: Int(index), body.dropFirst(4))
    }

    private func oldPacket(_ body: ArraySlice<UInt8>) throws(CaptureError) -> CaptureRecord {
        guard let index: UInt16 = body.number(at: 0, big: big) else { throw input.malformed("a short packet block") }
        return try packet(interface: Int(index), body.dropFirst(4))
    }

    /// Time, lengths, packet and options: the common part of enhanced and obsolete packet blocks.
    private func packet(interface index: Int, _ rest: ArraySlice<UInt8>) throws(CaptureError) -> CaptureRecord {
        let block = rest.span.bytes
        guard let high: UInt32 = block.number(at: 0, big: big), let low: UInt32 = block.number(at: 4, big: big),
            let length: UInt32 = block.number(at: 8, big: big), let original: UInt32 = block.number(at: 12, big: big),
            Int(length) <= block.byteCount - 16
        else { throw input.malformed("a packet longer than its block") }
        guard index < described.count else { throw input.malformed("a packet of interface \(index), which was not described") }
        let octets = rest.dropFirst(16).prefix(Int(length))
        var comments: [String] = []
        var direction: CaptureDirection?
        var onAir: [UInt8]?
        forEachOption(block.extracting(droppingFirst: 16 + (Int(length) + 3) / 4 * 4)) { code, value in
            switch code {
            case PcapNG.Option.comment: comments.append(text(of: value.octets[...]))
            case PcapNG.Option.flags:
                let flags: UInt32 = value.number(at: 0, big: big) ?? 0
                let way = UInt8(flags & 3)
                direction = way == PcapNG.inbound ? .controllerToHost : way == PcapNG.outbound ? .hostToController : nil
            case PcapNG.Option.onAir: onAir = value.octets
            default: break
            }
        }
        let interface = described[index]
        var decoded = content(of: octets, linkType: interface.linkType, direction: direction)
        if case .baseband(var frame) = decoded {
            frame.onAir = onAir
            decoded = .baseband(frame)
        }
        var record = CaptureRecord(
            time: Self.time(UInt64(high) << 32 | UInt64(low), of: interface), interface: base + index, content: decoded,
            cutFrom: original > length ? Int(original) : nil)
        if !comments.isEmpty {
            record.isFlagged = comments.contains(PcapNG.flagMark)
            comments.removeAll { $0 == PcapNG.flagMark }
            record.comment = comments.isEmpty ? nil : comments.joined(separator: "\n")
        }
        return record
    }

    private func simplePacket(_ body: ArraySlice<UInt8>) throws(CaptureError) -> CaptureRecord {
        guard let original: UInt32 = body.number(at: 0, big: big), let interface = described.first else {
            throw input.malformed("a simple packet without an interface")
        }
        let bound = interface.snapLength == 0 ? original : min(original, interface.snapLength)
        guard Int(bound) <= body.count - 4 else { throw input.malformed("a packet longer than its block") }
        let octets = body.dropFirst(4).prefix(Int(bound))
        return CaptureRecord(
            time: CaptureTime(nanoseconds: 0), interface: base, content: content(of: octets, linkType: interface.linkType),
            cutFrom: original > bound ? Int(original) : nil)
    }

    private static func time(_ units: UInt64, of interface: Interface) -> CaptureTime {
        let nanoseconds = UInt128(units) * 1_000_000_000 / interface.unitsPerSecond
        let (offset, overflow) = interface.offsetSeconds.multipliedReportingOverflow(by: 1_000_000_000)
        let start = Int64(clamping: nanoseconds)
        let (sum, exceeds) = start.addingReportingOverflow(overflow ? 0 : offset)
        return CaptureTime(nanoseconds: exceeds ? start : sum)
    }

    private func forEachOption(_ octets: RawSpan, _ body: (UInt16, RawSpan) -> Void) {
        var rest = octets
        while let code: UInt16 = rest.number(at: 0, big: big), let length: UInt16 = rest.number(at: 2, big: big), code != PcapNG.Option.end
        {
            rest = rest.extracting(droppingFirst: 4)
            body(code, rest.extracting(first: Int(length)))
            rest = rest.extracting(droppingFirst: (Int(length) + 3) / 4 * 4)
        }
    }
}
