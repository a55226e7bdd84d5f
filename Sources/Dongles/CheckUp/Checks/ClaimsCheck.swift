import BBHCI
import BBPackets
import BBTiming

/// Commands that only read, from the PDU declarations.
struct HarmlessCommand: Sendable {
    var name: String
    var opcode: UInt16
    var parameters: [UInt8]
    var claim: SupportedCommandsBit
    /// Length in octets of the event that reports success.
    var answerLength: Int
    /// The command needs a connection and is rejected without one.
    var needsConnection: Bool

    /// A connection handle that is not in use.
    static let nobody: UInt16 = 0x0EFE

    static let all: [HarmlessCommand] = PDUCatalog.all.compactMap { command in
        guard command.layer == .hciCommands, command.company == nil, command.completion == .complete,
            let bit = command.supportedCommandsBit,
            names.contains(command.name) || command.name.contains("Read_") && !excluded.contains(command.name)
        else { return nil }
        return HarmlessCommand(command, bit)
    }

    private init?(_ command: PDUDeclaration, _ bit: SupportedCommandsBit) {
        let handle = command.fields.first { $0.name == "Connection_Handle" || $0.name == "Handle" }?.name
        let values = handle.map { [DynamicField($0, .integer(Int128(Self.nobody)))] } ?? []
        guard let parameters = try? DynamicPDU(layer: command.layer, name: command.name, values).parameters() else { return nil }
        (name, claim, self.parameters) = (command.name, bit, parameters)
        opcode = UInt16(truncatingIfNeeded: command.code)
        needsConnection = handle != nil
        let returns = command.returns.map { fields in fields.reduce(0) { $0 + ($1.shape.fixedOctets ?? 0) } }
        answerLength = 5 + (returns ?? 1)
    }

    /// Further commands without side effects.
    private static let names: Set<String> = [
        HCICommands.LEEncrypt.name, HCICommands.LERand.name, HCICommands.GetMWSTransportLayerConfiguration.name,
    ]

    /// Read commands that lock up some dongles, that select the command family, or that belong to test modes.
    private static let excluded: Set<String> = [
        HCICommands.ReadDefaultErroneousDataReporting.name, HCICommands.ReadLocalOOBData.name, HCICommands.ReadLocalOOBExtendedData.name,
        HCICommands.ReadLocalExtendedFeatures.name, HCICommands.ReadLocalSupportedCommands.name,
    ]

    /// Commands not sent to clones, whose firmware handles them in its own way.
    static let leftOutForClones: Set<String> = [
        HCICommands.ReadStoredLinkKey.name, HCICommands.ReadVoiceSetting.name, HCICommands.ReadPageScanType.name,
    ]
}

extension FieldDeclaration.Shape {
    fileprivate var fixedOctets: Int? {
        switch self {
        case .integer(let octets, _, _, _), .bits(let octets, _), .reserved(let octets): octets
        case .bytes(.fixed(let octets)): octets
        default: nil
        }
    }
}

extension CheckUp {
    /// Sends every supported command that has no side effects; each must be known to the controller.
    func checkClaims() async throws {
        let isBlind = identity.supportedCommands.isEmpty
        var silent: [HarmlessCommand] = []
        var longestAnswered = 0
        var works = 0
        for command in HarmlessCommand.all where isBlind || claims.contains(command.claim) {
            if isClone, HarmlessCommand.leftOutForClones.contains(command.name) { continue }
            let reply = try await link.ask(command.opcode, command.parameters)
            if reply.isSuccess {
                works += 1
                longestAnswered = max(longestAnswered, command.answerLength)
            }
            if reply.answer == nil {
                silent.append(command)
            } else if reply.status == .unknownHCICommand && !isBlind || reply.status == .commandDisallowed && !command.needsConnection {
                refused(command.name, reply)
            } else if command.needsConnection, reply.status == .commandDisallowed, Self.named[command.name] != nil {
                refused(command.name, reply)
            }
        }
        judge(silent, longestAnswered)
        figure("harmless commands", "\(works) answered")
        try await checkWritesThatMayFail()
        try await checkUnclaimed()
        try await checkUnknownCommand()
        _ = try await link.ask(HCICommands.Reset())
    }

    private func refused(_ command: String, _ reply: CheckUpLink.Reply) {
        link.note(
            Self.named[command] ?? "refuses", "\(command) is claimed and answered by \(reply.status.map { "\($0)" } ?? "nothing")")
    }

    /// Determines if long events are lost in general or individual commands fail.
    private func judge(_ silent: [HarmlessCommand], _ longestAnswered: Int) {
        let lostLong = silent.map(\.answerLength).min() ?? 0
        let mask = 5 + 65
        let isMaskLost = identity.supportedCommands.isEmpty && !link.has("no-supported-commands")
        let lost = silent.count + (isMaskLost ? 1 : 0)
        if lost >= 2 || isMaskLost && silent.isEmpty, min(lostLong == 0 ? mask : lostLong, isMaskLost ? mask : .max) > longestAnswered {
            return link.note("event-size-hole", "events of more than \(longestAnswered) octets do not arrive")
        }
        if let first = silent.first { link.note("silent", "\(first.name) is claimed and not answered") }
    }

    /// Sends write commands with harmless values, such as an unused address.
    private func checkWritesThatMayFail() async throws {
        if claims(HCICommands.LESetResolvablePrivateAddressTimeout.self) {
            let reply = try await link.ask(HCICommands.LESetResolvablePrivateAddressTimeout(rpaTimeout: 900))
            if reply.isRefused { refused(HCICommands.LESetResolvablePrivateAddressTimeout.name, reply) }
        }
        if claims(HCICommands.EnhancedSetupSynchronousConnection.self) {
            let reply = try await link.ask(
                HCICommands.EnhancedSetupSynchronousConnection(connectionHandle: ConnectionHandle(HarmlessCommand.nobody)))
            if reply.isRefused { refused(HCICommands.EnhancedSetupSynchronousConnection.name, reply) }
        }
        guard identity.hasLE else { return }
        let mask = try await link.ask(HCICommands.LESetEventMask(leEventMask: Self.everyLEEvent))
        if mask.status == .invalidHCICommandParameters {
            link.note(
                "reserved-mask-refused",
                "LE_Set_Event_Mask with bits of later versions is refused with \(ErrorCode.invalidHCICommandParameters)")
        }
    }

    /// Tries LE commands if none is reported as supported.
    private func checkUnclaimed() async throws {
        guard identity.hasLE, !identity.supportedCommands.isEmpty else { return }
        let basic = [
            HCICommands.LESetEventMask.supportedCommandsBit, HCICommands.LEReadBufferSize.supportedCommandsBit,
            HCICommands.LESetRandomAddress.supportedCommandsBit, HCICommands.LESetScanEnable.supportedCommandsBit,
            HCICommands.LERand.supportedCommandsBit,
        ]
        guard basic.allSatisfy({ !claims.contains($0) }), try await link.ask(HCICommands.LERand()).isSuccess else { return }
        link.note("unclaimed-le-commands", "its LE commands work, and Supported_Commands has none of them")
    }

    /// Sends an unknown command of an unused group.
    private func checkUnknownCommand() async throws {
        let opcode: UInt16 = 0xFD53
        let reply = try await link.ask(opcode, [], within: .milliseconds(500))
        if reply.answer == nil, !link.has("wrong-opcode") {
            link.note("vendor-event-only", .note, "an unknown vendor's command is not answered")
        }
    }

    static let everyLEEvent = LEEventMask(
        rawValue: PDUCatalog.all.filter { $0.layer == .hciEvents }.reduce(0) { mask, event in
            if case .le(let bit) = event.maskPosition { mask | 1 << UInt64(bit) } else { mask }
        })

    /// Commands known to be reported as supported but missing, with the names of the findings.
    static let named: [String: String] = [
        HCICommands.ReadStoredLinkKey.name: "no-stored-link-key",
        HCICommands.ReadVoiceSetting.name: "no-voice-setting",
        HCICommands.ReadPageScanType.name: "no-page-scan-type",
        HCICommands.GetMWSTransportLayerConfiguration.name: "no-mws-transport",
        HCICommands.ReadAuthenticatedPayloadTimeout.name: "no-authenticated-payload-timeout",
        HCICommands.EnhancedSetupSynchronousConnection.name: "no-enhanced-synchronous",
        HCICommands.LEReadTransmitPower.name: "no-transmit-power",
        HCICommands.LESetResolvablePrivateAddressTimeout.name: "no-rpa-timeout",
        HCICommands.ReadEncryptionKeySize.name: "no-encryption-key-size",
        HCICommands.LEReadNumberOfSupportedAdvertisingSets.name: "no-advertising-sets-read",
        HCICommands.LEReadMaximumAdvertisingDataLength.name: "no-advertising-length-read",
    ]
}
