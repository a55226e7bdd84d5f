import BBHCI
import BBPackets

/// Counts the events that complete a command: each comes at most once for a command. Core Vol 4, Part E, 4.4.
struct Completions: Sendable {
    private var outstanding: [UInt16: Int] = [:]
    /// Each inquiry of Periodic Inquiry Mode ends with Inquiry_Complete. Core Vol 4, Part E, 7.1.3 and 7.7.1.
    private var isInquiringPeriodically = false

    mutating func reset() {
        outstanding.removeAll()
        isInquiringPeriodically = false
    }

    mutating func sent(_ command: HCIPacket) {
        if command.commandOpcode == HCICommands.PeriodicInquiryMode.opcode { isInquiringPeriodically = true }
        if let opcode = command.commandOpcode.map(Self.counted), Self.opcodes.contains(opcode) { outstanding[opcode, default: 0] += 1 }
    }

    mutating func answered(_ answer: CommandAnswer) {
        let isRefused = answer.status != .success && answer.status != .commandDisallowed
        switch answer.opcode {
        case HCICommands.PeriodicInquiryMode.opcode where isRefused: isInquiringPeriodically = false
        case HCICommands.ExitPeriodicInquiryMode.opcode where answer.status == .success: isInquiringPeriodically = false
        default: break
        }
        guard answer.kind == .status, answer.status != .success else { return }
        take(Self.counted(answer.opcode))
    }

    /// Returns the command that an event completes, if all of its kind were completed before; nil for any other event.
    mutating func completed(_ event: HCIPacket) -> PDUDeclaration? {
        guard let code = event.eventCode, let opcode = Self.events[Self.key(code, event.leSubevent)] else { return nil }
        if take(opcode) || opcode == HCICommands.Inquiry.opcode && isInquiringPeriodically { return nil }
        return PDUCatalog.command(opcode: opcode)
    }

    @discardableResult
    private mutating func take(_ opcode: UInt16) -> Bool {
        guard let count = outstanding[opcode], count > 0 else { return false }
        outstanding[opcode] = count - 1
        return true
    }

    private static func key(_ code: UInt8, _ subevent: UInt8?) -> Int { Int(code) << 8 | Int(subevent ?? 0) }

    /// Both versions of LE_Generate_DHKey are completed by the same event.
    private static func counted(_ opcode: UInt16) -> UInt16 {
        opcode == HCICommands.LEGenerateDHKeyV2.opcode ? HCICommands.LEGenerateDHKey.opcode : opcode
    }

    /// Events that only a command of the host causes.
    private static let events: [Int: UInt16] = [
        key(HCIEvents.InquiryComplete.code, nil): HCICommands.Inquiry.opcode,
        key(HCIEvents.RemoteNameRequestComplete.code, nil): HCICommands.RemoteNameRequest.opcode,
        key(HCIEvents.ReadRemoteSupportedFeaturesComplete.code, nil): HCICommands.ReadRemoteSupportedFeatures.opcode,
        key(HCIEvents.ReadRemoteExtendedFeaturesComplete.code, nil): HCICommands.ReadRemoteExtendedFeatures.opcode,
        key(HCIEvents.ReadRemoteVersionInformationComplete.code, nil): HCICommands.ReadRemoteVersionInformation.opcode,
        key(HCIEvents.ReadClockOffsetComplete.code, nil): HCICommands.ReadClockOffset.opcode,
        key(HCIEvents.AuthenticationComplete.code, nil): HCICommands.AuthenticationRequested.opcode,
        key(HCIEvents.LEConnectionComplete.code, HCIEvents.LEReadLocalP256PublicKeyComplete.subevent):
            HCICommands.LEReadLocalP256PublicKey.opcode,
        key(HCIEvents.LEConnectionComplete.code, HCIEvents.LEGenerateDHKeyComplete.subevent): HCICommands.LEGenerateDHKey.opcode,
    ]
    private static let opcodes = Set(events.values)
}
