import BBBenchTesting
import BBPackets
import BBTiming
import BBTransport
import BBVirtualDongle
import Testing

@testable import BBTransportUSB

/// Loaders with virtual dongles that emulate the ROM, in virtual time.
@Suite struct FirmwareLoadingTests {
    private struct Row: Sendable, CustomTestStringConvertible {
        var model: BootModel
        var file: String
        var companion: String?
        var version: String
        var company: UInt16
        var testDescription: String { model.rawValue }
    }

    private static let rows = [
        Row(
            model: .rtl8761b, file: "rtl_bt/rtl8761bu_fw.bin", companion: "rtl_bt/rtl8761bu_config.bin", version: "0xDFC6D922",
            company: 0x005D),
        Row(model: .rtl8852b, file: "rtl_bt/rtl8852bu_fw.bin", version: "0xDFC6D922", company: 0x005D),
        Row(
            model: .intel, file: "intel/ibt-20-1-3.sfi", companion: "intel/ibt-20-1-3.ddc", version: "build 17 of week 46, 2026", company: 2
        ),
        Row(
            model: .intel8260, file: "intel/ibt-11-5.sfi", companion: "intel/ibt-11-5.ddc", version: "build 17 of week 46, 2026", company: 2
        ),
        Row(
            model: .intelAX210, file: "intel/ibt-0041-0041.sfi", companion: "intel/ibt-0041-0041.ddc",
            version: "build 17 of week 46, 2026", company: 2),
    ]

    @Test(arguments: rows) private func aDongleGetsItsFirmwareAndIsAController(row: Row) throws {
        let result = try FirmwareBench(row.model).start()
        guard case .loaded(_, let file, let companion, let version)? = result.outcome else {
            Issue.record("\(String(describing: result))")
            return
        }
        #expect(file.hasSuffix(row.file) && version == row.version)
        #expect(companion?.hasSuffix(row.companion ?? "?") ?? (row.companion == nil))
        let identity = try #require(result.identity)
        #expect(identity.company == row.company && identity.hasLE && identity.address == DeviceAddress(value: 0x02BB_0000_0001))
        #expect(identity.chip.contains(row.company == 2 ? "Intel" : "Realtek"))
    }

    @Test(arguments: rows) private func askingLoadsNothing(row: Row) throws {
        var bench = FirmwareBench(row.model)
        bench.files = []
        let result = try bench.start(onlyAsks: true)
        guard case .needed(let need)? = result.outcome else {
            Issue.record("\(String(describing: result.outcome))")
            return
        }
        #expect(need.file == row.file)
        #expect("\(FirmwareOutcome.needed(need))" == "needs firmware: \(row.file)")
    }

    @Test(arguments: rows) private func settingsMayBeMissing(row: Row) throws {
        var bench = FirmwareBench(row.model)
        bench.files.removeAll { $0.name == row.companion }
        guard case .loaded(_, _, nil, row.version)? = try bench.start().outcome else {
            Issue.record("not loaded")
            return
        }
    }

    @Test(arguments: rows) private func aMissingFileIsNamedWithItsPackage(row: Row) throws {
        var bench = FirmwareBench(row.model)
        bench.files = []
        let result = try bench.start()
        guard case .missing(let need, let folders)? = result.failure else {
            Issue.record("\(String(describing: result.failure))")
            return
        }
        #expect(need.file == row.file && folders.count == 1)
        let text = try #require(result.end).description
        #expect(text.contains(row.file) && text.contains("apt install firmware-"), "\(text)")
        #expect(!text.contains("\n"))
    }

    @Test func aControllerThatNeedsNothingIsLeftAlone() throws {
        let loop = RunLoop()
        let (host, controller) = InProcessTransport.pair(on: loop)
        let plain = Answering(controller, [0x1001: [0, 0x0D, 0, 0, 0x0D, 0xF1, 0x05, 0, 0]])
        try controller.open(plain)
        let transport = FirmwareTransport(host, folders: FirmwareFolders("/nowhere"), on: loop)
        let outcome = try loop.run { try await transport.prepare() }
        #expect(outcome == .notNeeded && plain.opcodes == [0x1001])
    }

    @Test func whatTheHostSaysFirstWaitsForTheFirmware() throws {
        let loop = RunLoop()
        let (host, controller) = InProcessTransport.pair(on: loop)
        let plain = Answering(controller, [0x1001: [0, 0x0D, 0, 0, 0x0D, 0xF1, 0x05, 0, 0]])
        try controller.open(plain)
        let transport = FirmwareTransport(host, folders: .system, on: loop)
        let sink = Gathering()
        try loop.run {
            try transport.open(sink)
            transport.send(HCIPacket(command: HCICommands.Reset()))
            try await loop.sleep(for: 10)
        }
        #expect(plain.opcodes == [0x1001, 0x0C03])
    }

    @Test func firmwareThatRunsAlreadyStays() throws {
        let loop = RunLoop()
        let (host, controller) = InProcessTransport.pair(on: loop)
        let plain = Answering(controller, [0x1001: [0, 0x0A, 0xC6, 0xDF, 0x0A, 0x5D, 0x00, 0x22, 0xD9]])
        try controller.open(plain)
        let transport = FirmwareTransport(host, folders: FirmwareFolders("/nowhere"), on: loop)
        let outcome = try loop.run { try await transport.prepare() }
        #expect(outcome == .running(chip: "Realtek chip", version: "0xDFC6D922"))
    }

    @Test(arguments: [UInt8(0x07), 0x08]) func anOldIntelControllerWorksFromItsROM(variant: UInt8) throws {
        let loop = RunLoop()
        let (host, controller) = InProcessTransport.pair(on: loop)
        let plain = Answering(
            controller, [0x1001: [0, 6, 0, 0, 6, 2, 0, 0, 0], 0xFC05: [0, 0x37, variant, 0, 0x22, 0x50, 19, 14, 13, 0]])
        try controller.open(plain)
        let transport = FirmwareTransport(host, folders: FirmwareFolders("/nowhere"), on: loop)
        let outcome = try loop.run { try await transport.prepare() }
        guard case .unpatched(let chip, let note) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(chip == (variant == 7 ? "Intel 7260" : "Intel 7265") && note.contains("not loaded"))
    }

    @Test func nothingIsLoadedWhenNobodyWantsIt() throws {
        let loop = RunLoop()
        let (host, controller) = InProcessTransport.pair(on: loop)
        let plain = Answering(controller, [:])
        try controller.open(plain)
        let transport = FirmwareTransport(host, folders: FirmwareFolders("none"), on: loop)
        let outcome = try loop.run { try await transport.prepare() }
        #expect(outcome == .notNeeded && plain.opcodes.isEmpty)
    }
}

/// Answers commands from a table, and ignores others.
private final class Answering: HCITransportSink {
    private(set) var opcodes: [UInt16] = []
    private let pipe: any HCITransport
    private let answers: [UInt16: [UInt8]]

    init(_ pipe: any HCITransport, _ answers: [UInt16: [UInt8]]) {
        self.pipe = pipe
        self.answers = answers
    }

    func received(_ packet: HCIPacket, at time: Microseconds) {
        guard let opcode = packet.commandOpcode else { return }
        opcodes.append(opcode)
        if let returns = answers[opcode] { pipe.send(HCIPacket(completeOpcode: opcode, returns: returns)) }
    }

    func closed(_ reason: TransportError) {}
}

private final class Gathering: HCITransportSink {
    private(set) var packets: [HCIPacket] = []
    func received(_ packet: HCIPacket, at time: Microseconds) { packets.append(packet) }
    func closed(_ reason: TransportError) {}

    @Test func aResetThatTheNewFirmwareDoesNotHearIsSentAgain() throws {
        var bench = FirmwareBench(.rtl8761b)
        bench.faults = [TransportFault(.drop, way: .sent, prefix: [0x03, 0x0C], times: 1)]
        let result = try bench.start()
        #expect(result.end == nil && result.failure == nil)
        let isLoaded = if case .loaded? = result.outcome { true } else { false }
        #expect(isLoaded, "\(String(describing: result.outcome))")
    }
}
