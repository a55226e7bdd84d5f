import HCI
import Packets
import Timing
import Transport

/// What a dongle says about itself over HCI.
public struct DongleIdentity: Sendable, Equatable {
    /// As in the assigned numbers; 0x0D is Core 5.4.
    public var hciVersion: UInt8 = 0
    public var hciSubversion: UInt16 = 0
    public var lmpSubversion: UInt16 = 0
    public var company: UInt16 = 0
    public var address: DeviceAddress?
    public var lmpFeatures: UInt64 = 0
    public var leFeatures: UInt64 = 0
    public var aclLength: UInt16 = 0
    public var aclCount: UInt16 = 0
    /// Zero when LE shares the buffers of BR/EDR.
    public var leLength: UInt16 = 0
    public var leCount: UInt8 = 0
    public var supportedCommands: [UInt8] = []

    public var hasBREDR: Bool { HCICommands.ReadLocalSupportedFeatures.Return(lmpFeatures: lmpFeatures).supportsClassic }
    public var hasLE: Bool { HCICommands.ReadLocalSupportedFeatures.Return(lmpFeatures: lmpFeatures).supportsLE }

    /// The Core Specification's version, as people call it.
    public var coreVersion: String {
        let names = ["1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3", "5.4", "6.0", "6.1"]
        return names.indices.contains(Int(hciVersion)) ? names[Int(hciVersion)] : "\(hciVersion)"
    }

    /// The makers of the chips that dongles carry; others by number.
    public var chip: String {
        let makers: [UInt16: String] = [
            0x0002: "Intel", 0x000A: "Qualcomm (CSR)", 0x000D: "Texas Instruments", 0x000F: "Broadcom", 0x001D: "Qualcomm", 0x0030: "ST",
            0x0046: "MediaTek", 0x0048: "Marvell", 0x0059: "Nordic Semiconductor", 0x005D: "Realtek", 0x0131: "Infineon (Cypress)",
            0x05F1: "Zephyr",
        ]
        return (makers[company] ?? "company \(company)") + " \(hexadecimal(lmpSubversion))"
    }
}

func hexadecimal(_ number: UInt16) -> String { String(Hex.number(number).dropFirst(2)) }

/// A command that reads and changes nothing, and where the dongle claims to support it. Core Vol 4, Part E, 6.27.
public struct ProbedCommand: Sendable, Equatable {
    public enum Finding: Sendable, Equatable {
        case asClaimed
        /// Claimed, yet answered "unknown command" or not at all.
        case claimedFalsely
        /// Not claimed, yet it works.
        case workedUnclaimed
    }

    public var name: String
    public var finding: Finding
}

/// An answer of a controller that cannot be read.
public struct MalformedAnswer: Error, CustomStringConvertible {
    var command: String
    /// Return parameters as they came.
    var returns: [UInt8]

    public var description: String {
        let octets = returns.isEmpty ? "missing" : Hex.octets(returns.prefix(32), separator: " ")
        return "malformed answer to \(command): its return parameters are \(octets)"
    }
}

/// Asks a dongle, one command after the other.
public final class DongleProbe: HCITransportSink {
    private let transport: any HCITransport
    private let loop: RunLoop
    private var commands = CommandQueue()
    private var answers: [Int: Promise<CommandAnswer>] = [:]
    private var lastCommand = 0
    private var end: TransportError?
    private static let patience = Microseconds.milliseconds(1_000)

    /// Opens the pipe.
    public init(_ transport: any HCITransport, on loop: RunLoop) throws(TransportError) {
        self.transport = transport
        self.loop = loop
        try transport.open(self)
    }

    public func close() { transport.close() }

    /// Waits for the dongle to start, then asks who it is. What it does not know stays zero.
    ///
    /// - Throws: the pipe's end, `TimeOut` when it answers nothing, or `MalformedAnswer` when it does not even tell its version as it must.
    public func identity() async throws -> DongleIdentity {
        var identity = DongleIdentity()
        if let answer = try await version() {
            identity.hciVersion = answer.hciVersion
            identity.hciSubversion = answer.hciSubversion
            identity.lmpSubversion = answer.lmpSubversion
            identity.company = answer.companyIdentifier
        }
        if let answer = try await ask(HCICommands.ReadBDADDR()) { identity.address = DeviceAddress(answer.bdADDR, kind: .public) }
        if let answer = try await ask(HCICommands.ReadLocalSupportedFeatures()) { identity.lmpFeatures = answer.lmpFeatures }
        if let answer = try await ask(HCICommands.ReadLocalSupportedCommands()) { identity.supportedCommands = answer.supportedCommands }
        if let answer = try await ask(HCICommands.ReadBufferSize()) {
            identity.aclLength = answer.aclDataPacketLength
            identity.aclCount = answer.totalNumACLDataPackets
        }
        guard identity.hasLE else { return identity }
        if let answer = try await ask(HCICommands.LEReadBufferSize()) {
            identity.leLength = answer.leACLDataPacketLength
            identity.leCount = answer.totalNumLEACLDataPackets
        }
        if let answer = try await ask(HCICommands.LEReadLocalSupportedFeatures()) { identity.leFeatures = answer.leFeatures.rawValue }
        return identity
    }

    /// Compares what the dongle claims in its supported commands with what it answers.
    public func compareClaims(_ identity: DongleIdentity) async throws -> [ProbedCommand] {
        var findings: [ProbedCommand] = []
        for command in Self.harmless {
            let claims = SupportedCommands(identity.supportedCommands).contains(command.claim)
            let answer = try await raw(command.opcode, command.parameters)
            let works = answer?.status == .success
            let isUnknown = answer == nil || answer?.status == .unknownHCICommand
            let finding: ProbedCommand.Finding = claims && isUnknown ? .claimedFalsely : !claims && works ? .workedUnclaimed : .asClaimed
            findings.append(ProbedCommand(name: command.name, finding: finding))
        }
        return findings
    }

    // MARK: Pipe

    public func received(_ packet: HCIPacket, at time: Microseconds) {
        if let answer = try? CommandAnswer(event: packet) { perform(commands.answered(answer)) }
    }

    public func closed(_ reason: TransportError) {
        end = reason
        for answer in answers.values { answer.fail(reason) }
    }

    private func perform(_ actions: [CommandQueue.Action]) {
        for action in actions {
            switch action {
            case .transmit(_, let packet): transport.send(packet)
            case .finish(let id, let answer): answers[id]?.fulfil(answer)
            }
        }
    }

    /// Nil when there is no answer in time.
    private func raw(_ opcode: UInt16, _ parameters: [UInt8], within time: Microseconds = patience) async throws -> CommandAnswer? {
        if let end { throw end }
        lastCommand += 1
        let id = lastCommand
        let answer = Promise<CommandAnswer>(on: loop)
        answers[id] = answer
        defer { answers[id] = nil }
        perform(commands.submit(id: id, opcode: opcode, HCIPacket(opcode: opcode, parameters: parameters)))
        do {
            return try await answer.value(until: loop.now + time)
        } catch is TimeOut {
            perform(commands.expire(id: id))
            return nil
        }
    }

    /// What every controller has to answer, in full. Core Vol 4, Part E, 7.4.1.
    private func version() async throws -> HCICommands.ReadLocalVersionInformation.Return? {
        let command = HCICommands.ReadLocalVersionInformation()
        let answer = try await raw(HCICommands.ReadLocalVersionInformation.opcode, command.parameters, within: .seconds(5))
        guard let answer, answer.status == .success else { return nil }
        do { return try HCICommands.ReadLocalVersionInformation.Return(prefixOf: answer.returns) } catch {
            throw MalformedAnswer(command: HCICommands.ReadLocalVersionInformation.name, returns: answer.returns)
        }
    }

    private func ask<Command: HCICommand>(_ command: Command, within time: Microseconds = patience) async throws -> Command.Return? {
        guard let answer = try await raw(Command.opcode, command.parameters, within: time), answer.status == .success else { return nil }
        return try? Command.Return(prefixOf: answer.returns)
    }
}

extension DongleProbe {
    struct Harmless {
        var name: String
        var opcode: UInt16
        var parameters: [UInt8]
        var claim: SupportedCommandsBit?

        init<Command: HCICommand>(_ command: Command) {
            name = Command.name
            opcode = Command.opcode
            parameters = command.parameters
            claim = Command.supportedCommandsBit
        }
    }

    static let harmless: [Harmless] = [
        Harmless(HCICommands.ReadLocalVersionInformation()),
        Harmless(HCICommands.ReadLocalSupportedFeatures()),
        Harmless(HCICommands.ReadLocalExtendedFeatures()),
        Harmless(HCICommands.ReadBufferSize()),
        Harmless(HCICommands.ReadBDADDR()),
        Harmless(HCICommands.ReadLocalSupportedCodecs()),
        Harmless(HCICommands.LEReadBufferSize()),
        Harmless(HCICommands.LEReadLocalSupportedFeatures()),
        Harmless(HCICommands.LEReadAdvertisingPhysicalChannelTxPower()),
        Harmless(HCICommands.LEReadFilterAcceptListSize()),
        Harmless(HCICommands.LEEncrypt()),
        Harmless(HCICommands.LERand()),
        Harmless(HCICommands.LEReadSupportedStates()),
        Harmless(HCICommands.LEReadSuggestedDefaultDataLength()),
        Harmless(HCICommands.LEReadResolvingListSize()),
        Harmless(HCICommands.LEReadMaximumDataLength()),
        Harmless(HCICommands.LEReadMaximumAdvertisingDataLength()),
        Harmless(HCICommands.LEReadNumberOfSupportedAdvertisingSets()),
        Harmless(HCICommands.LEReadTransmitPower()),
    ]
}
