import BBPackets
import Testing

@testable import BBVirtualDongle

/// Commands that the boot ROMs accept or reject.
@Suite struct BootROMTests {
    private static let realtek = RealtekImageMaker.rtl8761b

    /// A payload as a host sends it: the patch for the ROM version, and the configuration.
    private static func payload(_ settings: [UInt8] = []) -> [UInt8] {
        realtek.patch(romVersion: 1).dropLast(4) + [UInt8].little(realtek.firmwareVersion) + settings
    }

    private static func fragments(_ payload: [UInt8], index: (Int) -> Int, closesFull: Bool = true) -> [HCIPacket] {
        let count = closesFull ? payload.count / 252 + 1 : (payload.count + 251) / 252
        return (0..<count).map { number in
            let data = Array(payload[min(number * 252, payload.count)..<min(number * 252 + 252, payload.count)])
            return HCIPacket(
                command: HCICommands.RealtekDownload(index: UInt8(index(number)) | (number == count - 1 ? 0x80 : 0), data: data))
        }
    }

    private static func fromOne(_ number: Int) -> Int { number < 128 ? number : (number - 1) % 127 + 1 }
    private static func fromZero(_ number: Int) -> Int { number & 0x7F }

    /// Statuses of the answers, and whether the firmware runs at the end.
    private static func play(_ commands: [HCIPacket], to rom: some BootROM) -> (statuses: [UInt8], runs: Bool) {
        var rom = rom
        var (statuses, runs) = ([UInt8](), false)
        for command in commands {
            for step in rom.take(command) ?? [] {
                switch step {
                case .send(let packet): if packet.eventCode == 0x0E { statuses.append(packet.bytes[5]) }
                case .run: runs = true
                case .stop: runs = false
                }
            }
        }
        return (statuses, runs)
    }

    @Test func aPatchRunsHoweverItsFragmentsAreCounted() {
        let whole = Self.payload()
        let even = whole.count / 252 * 252 + 252
        let settings = RealtekImageMaker.configuration([UInt8](repeating: 9, count: even - whole.count - 6))
        let some = Self.payload(RealtekImageMaker.configuration([1, 2, 3, 4]))
        let filled = [whole, some].map { $0 + [UInt8](repeating: 0, count: 252 - $0.count % 252) }
        for payload in [whole, some, Self.payload(settings)] + filled {
            for commands in [
                Self.fragments(payload, index: Self.fromOne), Self.fragments(payload, index: Self.fromZero),
                Self.fragments(payload, index: Self.fromZero, closesFull: false),
            ] {
                let result = Self.play(commands, to: RealtekROM(.rtl8761b))
                #expect(result.runs && result.statuses.allSatisfy { $0 == 0 } && result.statuses.count == commands.count)
            }
        }
    }

    @Test func aHostThatMixesUpItsFragmentsIsRefused() {
        let good = Self.fragments(Self.payload(), index: Self.fromOne)
        var rows: [(name: String, commands: [HCIPacket])] = []
        var commands = good
        commands.remove(at: 5)
        rows.append(("one left out", commands))
        commands = good
        commands.swapAt(7, 8)
        rows.append(("two changed round", commands))
        commands = good
        commands.insert(good[3], at: 3)
        rows.append(("one twice", commands))
        rows.append(
            (
                "another way of counting from the second round on",
                Self.fragments(Self.payload(), index: { $0 < 140 ? Self.fromOne($0) : Self.fromZero($0) })
            ))
        rows.append(("the last one missing, then a new beginning", Array(good.dropLast()) + [good[0]]))
        commands = good
        commands[10].bytes.removeLast()
        commands[10].bytes[2] -= 1
        rows.append(("one too short", commands))
        for row in rows {
            let result = Self.play(row.commands, to: RealtekROM(.rtl8761b))
            #expect(!result.runs && result.statuses.contains { $0 != 0 }, "\(row.name)")
        }
    }

    @Test func aPatchThatIsNotWholeOrNotForTheChipDoesNotRun() {
        let whole = Self.payload()
        var rows: [(name: String, payload: [UInt8])] = [
            ("nothing", []), ("cut short", Array(whole.dropLast(300))),
            ("for another chip", RealtekImageMaker.rtl8761a.patch(romVersion: 1)),
            ("for another ROM", Self.realtek.patch(romVersion: 0)), ("settings that are none", whole + [1, 2, 3]),
            ("settings cut short", whole + RealtekImageMaker.configuration([1, 2, 3, 4]).dropLast()),
        ]
        for place in [0, 4, 5, 8, 100, whole.count - 20, whole.count - 12] {
            var changed = whole
            changed[place] ^= 0x10
            rows.append(("changed at \(place)", changed))
        }
        for row in rows {
            let result = Self.play(Self.fragments(row.payload, index: Self.fromOne), to: RealtekROM(.rtl8761b))
            #expect(!result.runs && result.statuses.last == ErrorCode.unspecifiedError.rawValue, "\(row.name)")
        }
    }

    // MARK: Intel

    private static func pieces(_ image: [UInt8]) -> [HCIPacket] {
        func cut(_ kind: UInt8, _ range: Range<Int>) -> [HCIPacket] {
            stride(from: range.lowerBound, to: range.upperBound, by: 252).map {
                HCIPacket(
                    command: HCICommands.IntelSecureSend(fragmentType: kind, data: Array(image[$0..<min($0 + 252, range.upperBound)])))
            }
        }
        return cut(0, 0..<128) + cut(3, 128..<384) + cut(2, 388..<644) + cut(1, 644..<image.count)
    }

    private static func start(_ address: UInt32) -> HCIPacket {
        HCIPacket(command: HCICommands.IntelReset(resetType: 0, patchEnable: 1, ddcReload: 0, bootOption: 1, bootAddress: address))
    }

    @Test func anImageRunsAtItsAddressOnly() {
        let pieces = Self.pieces(IntelImageMaker().image())
        for (address, runs) in [(UInt32(0x0004_0800), true), (0, true), (0x0004_0801, false)] {
            let result = Self.play(pieces + [Self.start(address)], to: IntelBootROM(.ax200))
            #expect(result.runs == runs && result.statuses.allSatisfy { $0 == 0 } && result.statuses.count == pieces.count)
        }
    }

    @Test func anImageOutOfOrderOrDamagedDoesNotRun() {
        let image = IntelImageMaker().image()
        let good = Self.pieces(image)
        var rows: [(name: String, commands: [HCIPacket])] = [("nothing", []), ("cut short", Array(good.dropLast(3)))]
        var commands = good
        commands.swapAt(0, 1)
        rows.append(("the key before the header", commands))
        commands = good
        commands.swapAt(2, 3)
        rows.append(("the signature before the whole key", commands))
        commands = good
        commands.remove(at: 4)
        rows.append(("half a signature", commands))
        for place in [0, 9, 24, 28, 400, 700, image.count - 1] {
            var changed = image
            changed[place] ^= 1
            rows.append(("changed at \(place)", Self.pieces(changed)))
        }
        for row in rows {
            let result = Self.play(row.commands + [Self.start(0)], to: IntelBootROM(.ax200))
            #expect(!result.runs, "\(row.name)")
        }
    }

    @Test func aHardResetBeginsAnew() {
        let pieces = Self.pieces(IntelImageMaker().image())
        let reset = HCIPacket(command: HCICommands.IntelReset(resetType: 1, patchEnable: 1, ddcReload: 1, bootOption: 0, bootAddress: 0))
        let result = Self.play(Array(pieces[..<20]) + [reset] + pieces + [Self.start(0)], to: IntelBootROM(.ax200))
        #expect(result.runs && result.statuses.allSatisfy { $0 == 0 })
    }

    /// The ROMs answer any input or do not respond, but never trap.
    @Test(arguments: BootModel.allCases) func anyCommandIsTaken(model: BootModel) {
        var rom = model.makeROM()
        let opcodes: [UInt16] = [0x0C03, 0x1001, 0xFC01, 0xFC05, 0xFC09, 0xFC0D, 0xFC0E, 0xFC20, 0xFC61, 0xFC66, 0xFC6D, 0xFC8B, 0x2018]
        for opcode in opcodes {
            for length in [0, 1, 2, 3, 5, 8, 9, 127, 128, 129, 253, 255] {
                for filler in [UInt8(0), 1, 3, 0xFF] {
                    _ = rom.take(HCIPacket(opcode: opcode, parameters: [UInt8](repeating: filler, count: length)))
                }
            }
        }
        for bytes in [[], [1], [0x20, 0xFC], [0x20, 0xFC, 9], [0x09, 0xFC, 2, 0]] as [[UInt8]] { _ = rom.take(HCIPacket(.command, bytes)) }
    }
}
