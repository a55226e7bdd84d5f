import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// Whether a controller scans only as long as it has no connection. Core Vol 4, Part E, 7.8.11 and 7.8.64.
struct ScanWatch {
    private var isEnabling: [UInt16: Moment] = [:]
    private var wasAllowed = false
    private var wasAllowedWhileConnected = false
    private var refusals: [Moment] = []
    private var isReported = false

    private static let commands = [HCICommands.LESetScanEnable.opcode, HCICommands.LESetExtendedScanEnable.opcode]
    private static let often = 2

    mutating func sent(_ command: HCIPacket, at now: Moment) {
        guard let opcode = command.commandOpcode, Self.commands.contains(opcode) else { return }
        let isOn =
            (try? command.command(as: HCICommands.LESetScanEnable.self)).map { $0.leScanEnable != 0 }
            ?? (try? command.command(as: HCICommands.LESetExtendedScanEnable.self)).map { $0.enable != 0 }
        isEnabling[opcode] = isOn == true ? now : nil
    }

    /// - Parameter isBusy: nil without a connection; false with one; true if the controller also connects or the state is unknown.
    mutating func received(_ event: HCIPacket, at now: Moment, isBusy: () -> Bool?) -> Observation? {
        guard !isEnabling.isEmpty, let answer = (try? CommandAnswer(event: event)) ?? nil,
            let sent = isEnabling.removeValue(forKey: answer.opcode), !isReported
        else { return nil }
        let state = isBusy()
        if answer.status == .success {
            if state == nil { wasAllowed = true } else { wasAllowedWhileConnected = true }
        } else if answer.status == .commandDisallowed, state == false {
            refusals.append(sent)
        }
        guard wasAllowed, !wasAllowedWhileConnected, refusals.count >= Self.often, let first = refusals.first,
            let command = PDUCatalog.command(opcode: answer.opcode)
        else { return nil }
        isReported = true
        return Observation(.refusedWhileConnected, [("Command", .text(command.name))], packet: first.packet)
    }
}
