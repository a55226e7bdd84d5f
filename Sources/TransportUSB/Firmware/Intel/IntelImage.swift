import BBPackets

/// An Intel firmware file: a header with key and signature (two headers for newer generations), then HCI commands that write the firmware.
struct IntelImage: Equatable {
    /// Header layout, which determines where the commands start.
    enum Layout: Equatable {
        /// Generations with one header.
        case single
        case firstOfTwo
        case secondOfTwo

        var header: Int { self == .secondOfTwo ? 644 : 0 }
        var commands: Int { self == .single ? 644 : 964 }
    }

    /// The part of an image sent in one secure-send command.
    struct Fragment: Equatable {
        var kind: UInt8
        var range: Range<Int>
    }

    enum Kind {
        static let header: UInt8 = 0
        static let data: UInt8 = 1
        static let signature: UInt8 = 2
        static let key: UInt8 = 3
    }

    static let fragmentLength = 252
    static let headerLength = 128

    let octets: [UInt8]
    let fragments: [Fragment]
    /// Start address of the firmware, from the image.
    let bootAddress: UInt32

    init(_ octets: [UInt8], _ layout: Layout) throws(FirmwareImageError) {
        self.octets = octets
        guard !octets.isEmpty else { throw .empty }
        guard octets.count >= layout.commands + 4 else { throw .tooShort(needs: layout.commands + 4, has: octets.count) }
        try Self.checkHeader(octets, at: 0, version: 0x0001_0000)
        if layout != .single { try Self.checkHeader(octets, at: 644, version: 0x0002_0000) }
        let start = layout.header
        // The older header has four octets between key and signature.
        let (keyLength, signature) = layout == .secondOfTwo ? (96, 224) : (256, 388)
        let parts: [(UInt8, Range<Int>)] = [
            (Kind.header, start..<start + Self.headerLength),
            (Kind.key, start + Self.headerLength..<start + Self.headerLength + keyLength),
            (Kind.signature, start + signature..<start + signature + keyLength),
        ]
        let commands = try Self.commands(octets, from: layout.commands)
        fragments = parts.flatMap { Self.cut($0.1, $0.0) } + commands.ranges.flatMap { Self.cut($0, Kind.data) }
        bootAddress = commands.bootAddress ?? 0
    }

    private static func checkHeader(_ octets: [UInt8], at start: Int, version: UInt32) throws(FirmwareImageError) {
        guard octets[start] == 0x06, little(octets, start + 8) == version else { throw .signature }
    }

    /// Groups of complete commands whose length is a multiple of four, as the boot loader requires.
    private static func commands(
        _ octets: [UInt8], from first: Int
    ) throws(FirmwareImageError) -> (ranges: [Range<Int>], bootAddress: UInt32?) {
        var ranges: [Range<Int>] = []
        var bootAddress: UInt32?
        var (start, place) = (first, first)
        while place < octets.count {
            guard place + 3 <= octets.count, place + 3 + Int(octets[place + 2]) <= octets.count else { throw .corrupt(offset: place) }
            let opcode = UInt16(octets[place]) | UInt16(octets[place + 1]) << 8
            let end = place + 3 + Int(octets[place + 2])
            if opcode == HCICommands.IntelWriteBootParameters.opcode, end - place >= 7 { bootAddress = little(octets, place + 3) }
            place = end
            if (place - start) % 4 == 0 {
                ranges.append(start..<place)
                start = place
            }
        }
        guard start == octets.count else { throw .corrupt(offset: start) }
        return (ranges, bootAddress)
    }

    private static func cut(_ range: Range<Int>, _ kind: UInt8) -> [Fragment] {
        stride(from: range.lowerBound, to: range.upperBound, by: fragmentLength).map {
            Fragment(kind: kind, range: $0..<min($0 + fragmentLength, range.upperBound))
        }
    }

    private static func little(_ octets: [UInt8], _ place: Int) -> UInt32 {
        octets[place..<place + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Entries of a configuration file, each with its length octet.
    static func configuration(_ octets: [UInt8]) throws(FirmwareImageError) -> [[UInt8]] {
        var entries: [[UInt8]] = []
        var place = 0
        while place < octets.count {
            let end = place + 1 + Int(octets[place])
            guard octets[place] >= 2, end <= octets.count else { throw .configuration }
            entries.append(Array(octets[place..<end]))
            place = end
        }
        return entries
    }
}
