import BBPackets

/// The ROM of a Realtek chip. It answers version requests, receives a patch in fragments, checks it and runs it.
struct RealtekROM: BootROM {
    struct Chip: Sendable, Equatable {
        var hciVersion: UInt8
        var hciSubversion: UInt16
        var lmpSubversion: UInt16
        var project: UInt8
        var romVersion: UInt8

        static let rtl8761b = Chip(hciVersion: 0x0A, hciSubversion: 0x000B, lmpSubversion: 0x8761, project: 14, romVersion: 1)
        static let rtl8852b = Chip(hciVersion: 0x0B, hciSubversion: 0x000B, lmpSubversion: 0x8852, project: 20, romVersion: 1)
        static let rtl8761a = Chip(hciVersion: 0x06, hciSubversion: 0x000A, lmpSubversion: 0x8761, project: 3, romVersion: 1)
    }

    /// Numbering of fragments after the first 128: from one again, or from zero. Hosts use both.
    private enum Counting: CaseIterable {
        case fromOne
        case fromZero

        func index(of fragment: Int) -> UInt8 {
            switch self {
            case .fromOne: UInt8(fragment < 0x80 ? fragment : (fragment - 1) % 0x7F + 1)
            case .fromZero: UInt8(fragment & 0x7F)
            }
        }
    }

    private enum State {
        case waiting
        case receiving(octets: [UInt8], fragments: Int, counting: [Counting])
        case running(version: UInt32)
    }

    static let company: UInt16 = 0x005D
    static let fragmentLength = 252
    static let largest = 0x2_0000

    let chip: Chip
    private var state = State.waiting

    init(_ chip: Chip) { self.chip = chip }

    mutating func take(_ command: HCIPacket) -> [BootStep]? {
        if case .running = state, !Self.isMine(command.commandOpcode) { return nil }
        switch command.commandOpcode {
        case HCICommands.Reset.opcode:
            state = .waiting
            return [.send(HCIPacket(complete: HCICommands.Reset.self, StatusReturn()))]
        case HCICommands.ReadLocalVersionInformation.opcode:
            return [.send(HCIPacket(complete: HCICommands.ReadLocalVersionInformation.self, version))]
        case HCICommands.RealtekReadROMVersion.opcode:
            return [
                .send(HCIPacket(complete: HCICommands.RealtekReadROMVersion.self, .init(status: .success, romVersion: chip.romVersion)))
            ]
        case HCICommands.RealtekReadRegister.opcode: return [read(command)]
        case HCICommands.RealtekDropFirmware.opcode:
            state = .waiting
            return [.stop]
        case HCICommands.RealtekDownload.opcode: return download(command)
        default: return nil
        }
    }

    func amend(_ packet: HCIPacket) -> HCIPacket {
        guard case .running(let version) = state else { return packet }
        return Self.amendVersion(packet) {
            $0.companyIdentifier = Self.company
            $0.hciSubversion = UInt16(version >> 16)
            $0.lmpSubversion = UInt16(truncatingIfNeeded: version)
        }
    }

    private static func isMine(_ opcode: UInt16?) -> Bool {
        [HCICommands.RealtekReadROMVersion.opcode, HCICommands.RealtekReadRegister.opcode, HCICommands.RealtekDropFirmware.opcode]
            .contains(opcode)
    }

    private var version: HCICommands.ReadLocalVersionInformation.Return {
        .init(
            status: .success, hciVersion: chip.hciVersion, hciSubversion: chip.hciSubversion, lmpVersion: chip.hciVersion,
            companyIdentifier: Self.company, lmpSubversion: chip.lmpSubversion)
    }

    private func read(_ command: HCIPacket) -> BootStep {
        guard let question = try? command.command(as: HCICommands.RealtekReadRegister.self) else {
            return Self.refusal(HCICommands.RealtekReadRegister.opcode, .invalidHCICommandParameters)
        }
        // Two registers contain the chip's identification. The third contains the key identifier of signed parts, which this chip does not
        // have.
        let value: UInt16 =
            switch question.address {
            case 0x8028_0438: chip.lmpSubversion
            case 0x8028_043A: chip.hciSubversion
            default: 0
            }
        return .send(HCIPacket(complete: HCICommands.RealtekReadRegister.self, .init(status: .success, value: value)))
    }

    private mutating func download(_ command: HCIPacket) -> [BootStep] {
        guard let fragment = try? command.command(as: HCICommands.RealtekDownload.self), fragment.data.count <= Self.fragmentLength else {
            return refuse(.invalidHCICommandParameters)
        }
        var (octets, count, counting) = ([UInt8](), 0, Counting.allCases)
        if case .receiving(let known, let number, let ways) = state { (octets, count, counting) = (known, number, ways) }
        let isLast = fragment.index & 0x80 != 0
        counting.removeAll { $0.index(of: count) != fragment.index & 0x7F }
        // All fragments but the last have the full length.
        guard !counting.isEmpty, isLast || fragment.data.count == Self.fragmentLength, octets.count < Self.largest else {
            return refuse(.invalidHCICommandParameters)
        }
        octets += fragment.data
        state = .receiving(octets: octets, fragments: count + 1, counting: counting)
        let answer = BootStep.send(
            HCIPacket(complete: HCICommands.RealtekDownload.self, .init(status: .success, index: fragment.index)))
        guard isLast else { return [answer] }
        guard let version = RealtekImageMaker.version(of: octets, chip) else { return refuse(.unspecifiedError) }
        state = .running(version: version)
        return [answer, .run(after: .zero, announcing: nil)]
    }

    private mutating func refuse(_ code: ErrorCode) -> [BootStep] {
        state = .waiting
        return [Self.refusal(HCICommands.RealtekDownload.opcode, code)]
    }
}
