import BBPackets

/// Generates firmware files in Intel's format. Instead of a signature, they contain the CRC of the commands, which the virtual boot loader
/// checks.
public struct IntelImageMaker: Sendable {
    public var bootAddress: UInt32 = 0x0004_0800
    public var build: (number: UInt8, week: UInt8, year: UInt8) = (17, 46, 26)
    /// Number of memory write commands. Their lengths differ, so that command groups end as in real files.
    public var writes = 120
    /// Newer generations have a second header with a shorter key.
    public var hasSecondHeader: Bool

    public init(hasSecondHeader: Bool = false) { self.hasSecondHeader = hasSecondHeader }

    static let headerLength = 128
    static let keyLength = 256
    static let shortKeyLength = 96

    public func image() -> [UInt8] {
        let commands = commands()
        let headers = hasSecondHeader ? 964 : 644
        let dwords = UInt32((headers + commands.count) / 4)
        let first = Self.header(version: 0x0001_0000, dwords: dwords, key: Self.keyLength)
        let long = first + Self.key(Self.keyLength) + .little(UInt32(0x0001_0001)) + Self.signature(commands, Self.keyLength)
        guard hasSecondHeader else { return long + commands }
        let second = Self.header(version: 0x0002_0000, dwords: dwords, key: Self.shortKeyLength)
        return long + second + Self.key(Self.shortKeyLength) + Self.signature(commands, Self.shortKeyLength) + commands
    }

    /// The commands: start address, memory writes, and fillers that make the length of each group a multiple of four.
    private func commands() -> [UInt8] {
        let start = HCICommands.IntelWriteBootParameters(
            bootAddress: bootAddress, build: build.number, buildWeek: build.week, buildYear: build.year)
        var octets = Self.aligned(HCIPacket(command: start).bytes)
        for index in 0..<writes {
            let length = 8 + index * 37 % 240
            let write = (0..<length).map { UInt8(truncatingIfNeeded: index &* 31 &+ $0 &* 7) }
            octets += Self.aligned(HCIPacket(opcode: Self.writeMemory, parameters: write).bytes)
        }
        return octets
    }

    static let writeMemory: UInt16 = 0xFC8E
    static let filler: UInt16 = 0xFC00

    private static func aligned(_ octets: [UInt8]) -> [UInt8] {
        let missing = (1 - octets.count % 4 + 4) % 4
        return octets.count % 4 == 0 ? octets : octets + HCIPacket(opcode: filler, parameters: [UInt8](repeating: 0, count: missing)).bytes
    }

    private static func header(version: UInt32, dwords: UInt32, key: Int) -> [UInt8] {
        let words: [UInt32] = [6, UInt32(161), version, 0, 0x8086, 0x2026_1114, dwords, UInt32(key / 4), UInt32(key / 4), 1]
        let octets = words.flatMap { [UInt8].little($0) }
        return octets + [UInt8](repeating: 0, count: headerLength - octets.count)
    }

    private static func key(_ length: Int) -> [UInt8] { (0..<length).map { UInt8(truncatingIfNeeded: 0xB1 ^ $0 &* 5) } }

    static func signature(_ commands: some Sequence<UInt8>, _ length: Int) -> [UInt8] {
        let crc = [UInt8].little(CRC32.of(commands))
        return (0..<length).map { crc[$0 % 4] ^ UInt8(truncatingIfNeeded: $0 / 4) }
    }
}
