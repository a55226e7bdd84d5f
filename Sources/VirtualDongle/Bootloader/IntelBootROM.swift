import BBPackets

/// The boot loader of an Intel controller. It reports its version, receives an image in fragments, verifies it and starts it on command.
struct IntelBootROM: BootROM {
    struct Chip: Sendable, Equatable {
        var variant: UInt8
        var hardwareRevision: UInt8 = 0
        var firmwareRevision: UInt8 = 0
        var deviceRevision: UInt16 = 0
        /// Reports its version as a TLV list, and uses the second of two image headers.
        var isNewer = false

        static let ax200 = Chip(variant: 0x14, hardwareRevision: 1, firmwareRevision: 3)
        static let i8260 = Chip(variant: 0x0B, hardwareRevision: 0x10, deviceRevision: 5)
        static let ax210 = Chip(variant: 0x17, isNewer: true)
    }

    private struct Parts: Equatable {
        var header: [UInt8] = []
        var key: [UInt8] = []
        var signature: [UInt8] = []
        var data: [UInt8] = []
    }

    private struct Firmware: Equatable {
        var bootAddress: UInt32
        var build: UInt8
        var week: UInt8
        var year: UInt8
    }

    private enum State {
        case receiving(Parts)
        /// The image is verified and can be started.
        case accepted(Firmware)
        case rejected
        case running(Firmware)
    }

    static let company: UInt16 = 0x0002
    /// Vendor event with the verification result of an image.
    static let secureSendResult: UInt8 = 0x06
    static let bootTime = Microseconds.milliseconds(20)
    static let largest = 1 << 21

    let chip: Chip
    private var state = State.receiving(Parts())

    /// - Parameter isRunning: the firmware is already running.
    init(_ chip: Chip, isRunning: Bool = false) {
        self.chip = chip
        if isRunning { state = .running(Firmware(bootAddress: 0, build: 3, week: 12, year: 19)) }
    }

    private var isRunning: Bool {
        if case .running = state { return true }
        return false
    }

    mutating func take(_ command: HCIPacket) -> [BootStep]? {
        switch command.commandOpcode {
        case HCICommands.IntelReadVersion.opcode: return [.send(version(listed: !command.parameters.isEmpty && chip.isNewer))]
        case HCICommands.IntelReset.opcode: return reset(command)
        case HCICommands.IntelReadBootParameters.opcode where !isRunning: return [.send(bootParameters)]
        case HCICommands.IntelSecureSend.opcode where !isRunning: return receive(command)
        case HCICommands.IntelWriteDDC.opcode where isRunning: return [configure(command)]
        case HCICommands.IntelSetEventMask.opcode where isRunning:
            return [.send(HCIPacket(complete: HCICommands.IntelSetEventMask.self, StatusReturn()))]
        case let opcode? where !isRunning: return [.send(Self.unknown(opcode))]
        default: return nil
        }
    }

    func amend(_ packet: HCIPacket) -> HCIPacket {
        guard case .running(let firmware) = state else { return packet }
        return Self.amendVersion(packet) {
            $0.companyIdentifier = Self.company
            $0.hciSubversion = UInt16(firmware.build) << 8 | UInt16(firmware.week)
            $0.lmpSubversion = UInt16(firmware.build) << 8 | UInt16(firmware.week)
        }
    }

    // MARK: Version

    private func version(listed: Bool) -> HCIPacket {
        var firmware = Firmware(bootAddress: 0, build: 3, week: 12, year: 19)
        if case .running(let running) = state { firmware = running }
        let octets = listed ? list(firmware) : fixed(firmware)
        return HCIPacket(complete: HCICommands.IntelReadVersion.self, .init(status: .success, version: octets))
    }

    private func fixed(_ firmware: Firmware) -> [UInt8] {
        Structures.IntelVersion(
            hardwarePlatform: 0x37, hardwareVariant: chip.variant, hardwareRevision: chip.hardwareRevision,
            firmwareVariant: isRunning ? 0x23 : 0x06, firmwareRevision: chip.firmwareRevision, build: firmware.build,
            buildWeek: firmware.week, buildYear: firmware.year, patch: 0
        ).parameters
    }

    private func list(_ firmware: Firmware) -> [UInt8] {
        let bluetooth = UInt32(0x37) << 8 | UInt32(chip.variant) << 16
        // Type 0x410 of step 0 for both parts: the files are named 0041-0041.
        let values: [(UInt8, [UInt8])] = [
            (0x10, .little(UInt32(0x410))), (0x11, .little(UInt32(0x410))), (0x12, .little(bluetooth)), (0x16, .little(UInt16(1))),
            (0x1C, [isRunning ? 3 : 1]), (0x1D, [firmware.week, firmware.year]), (0x1E, [1]), (0x1F, .little(UInt32(firmware.build))),
            (0x28, [1]), (0x2A, [1]), (0x2B, [1]), (0x2C, [1]), (0x2D, [1, 1, 19]), (0x2E, [0]), (0x2F, [1]), (0x30, Self.address),
        ]
        return values.flatMap { [$0.0, UInt8($0.1.count)] + $0.1 }
    }

    private static let address: [UInt8] = [1, 0, 0, 0, 0xBB, 2]

    private var bootParameters: HCIPacket {
        HCIPacket(
            complete: HCICommands.IntelReadBootParameters.self,
            .init(
                status: .success, otpFormat: 0, otpContent: 0, otpPatch: 0, deviceRevision: chip.deviceRevision, secureBoot: 1,
                keyFromHeader: 1, keyType: 0, otpLock: 1, apiLock: 1, debugLock: 0, otpBDADDR: 0x02BB_0000_0001, minimumBuild: 1,
                minimumBuildWeek: 1, minimumBuildYear: 14, limitedCommandComplete: 0, unlockedState: 0))
    }

    // MARK: The image

    private var keyLength: Int { chip.isNewer ? IntelImageMaker.shortKeyLength : IntelImageMaker.keyLength }
    private var headers: Int { chip.isNewer ? 964 : 644 }

    /// Receives header, key, signature and data in this order, each complete before the next.
    private mutating func receive(_ command: HCIPacket) -> [BootStep] {
        let opcode = HCICommands.IntelSecureSend.opcode
        guard let piece = try? command.command(as: HCICommands.IntelSecureSend.self) else {
            return [Self.refusal(opcode, .invalidHCICommandParameters)]
        }
        guard case .receiving(var parts) = state else { return [Self.refusal(opcode, .commandDisallowed)] }
        let isKeyWhole = parts.key.count == keyLength
        let isSignatureWhole = parts.signature.count == keyLength
        switch piece.fragmentType {
        case 0 where parts == Parts(): parts.header = piece.data
        case 3 where !parts.header.isEmpty && !isKeyWhole: parts.key += piece.data
        case 2 where isKeyWhole && !isSignatureWhole: parts.signature += piece.data
        case 1 where isSignatureWhole: parts.data += piece.data
        default: return reject(.commandDisallowed)
        }
        let isHeaderGood = isGoodHeader(parts.header)
        guard isHeaderGood, parts.key.count <= keyLength, parts.signature.count <= keyLength, piece.data.count % 4 == 0 else {
            return reject(.invalidHCICommandParameters)
        }
        let announced = Int(parts.header.little32(24)) * 4 - headers
        guard parts.data.count <= announced else { return reject(.invalidHCICommandParameters) }
        state = .receiving(parts)
        let answer = BootStep.send(HCIPacket(complete: HCICommands.IntelSecureSend.self, StatusReturn()))
        return parts.data.count == announced ? [answer, judge(parts)] : [answer]
    }

    private func isGoodHeader(_ header: [UInt8]) -> Bool {
        guard header.count == IntelImageMaker.headerLength, header[0] == 6, header.little32(8) == (chip.isNewer ? 0x0002_0000 : 0x0001_0000)
        else { return false }
        let dwords = Int(header.little32(24))
        return dwords * 4 > headers && dwords * 4 < Self.largest && Int(header.little32(28)) * 4 == keyLength
    }

    private mutating func reject(_ code: ErrorCode) -> [BootStep] {
        state = .rejected
        return [Self.refusal(HCICommands.IntelSecureSend.opcode, code)]
    }

    private mutating func judge(_ parts: Parts) -> BootStep {
        let firmware = Self.firmware(in: parts.data)
        let isGood = parts.signature == IntelImageMaker.signature(parts.data, keyLength)
        if let firmware, isGood { state = .accepted(firmware) } else { state = .rejected }
        let result = Structures.IntelSecureSendResult(
            result: isGood && firmware != nil ? 0 : 1, commandOpcode: HCICommands.IntelSecureSend.opcode,
            status: isGood && firmware != nil ? .success : .authenticationFailure)
        return .send(HCIPacket(event: HCIEvents.VendorSpecific(data: [Self.secureSendResult] + result.parameters)))
    }

    private static func firmware(in commands: [UInt8]) -> Firmware? {
        var place = 0
        while place + 3 <= commands.count, place + 3 + Int(commands[place + 2]) <= commands.count {
            let end = place + 3 + Int(commands[place + 2])
            let packet = HCIPacket(.command, Array(commands[place..<end]))
            if let start = try? packet.command(as: HCICommands.IntelWriteBootParameters.self) {
                return Firmware(bootAddress: start.bootAddress, build: start.build, week: start.buildWeek, year: start.buildYear)
            }
            place = end
        }
        return nil
    }

    // MARK: Running

    /// Handles Intel_Reset, which has no answer: the firmware sends an event once it runs.
    private mutating func reset(_ command: HCIPacket) -> [BootStep] {
        guard let reset = try? command.command(as: HCICommands.IntelReset.self) else {
            return [Self.refusal(HCICommands.IntelReset.opcode, .invalidHCICommandParameters)]
        }
        // Hosts send the address of the image, or 0.
        if case .accepted(let firmware) = state, reset.bootOption == 1, [0, firmware.bootAddress].contains(reset.bootAddress) {
            state = .running(firmware)
            let bootup = Structures.IntelBootup(zero: 0, numCommands: 1, source: 0, resetType: 0, resetReason: 0, ddcStatus: 1)
            return [.run(after: Self.bootTime, announcing: HCIPacket(event: HCIEvents.VendorSpecific(data: [0x02] + bootup.parameters)))]
        }
        state = .receiving(Parts())
        return [.stop]
    }

    private func configure(_ command: HCIPacket) -> BootStep {
        let entry = command.parameters
        guard entry.count >= 3, Int(entry[0]) == entry.count - 1 else {
            return Self.refusal(HCICommands.IntelWriteDDC.opcode, .invalidHCICommandParameters)
        }
        return .send(
            HCIPacket(
                complete: HCICommands.IntelWriteDDC.self, .init(status: .success, identifier: UInt16(entry[1]) | UInt16(entry[2]) << 8)))
    }
}
