import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// A controller that scans or advertises only as long as it has no connection. Core Vol 4, Part E, 7.8.9, 7.8.11, 7.8.56 and 7.8.64.
struct ScanWatch {
    /// The answers to one command.
    private struct Record {
        /// The command that switches on and is not answered yet.
        var enabling: Moment?
        var wasAllowed = false
        var wasAllowedWhileConnected = false
        var refusals: [Moment] = []
        var isReported = false
    }

    private var records: [UInt16: Record] = [:]

    private static let commands = [
        HCICommands.LESetScanEnable.opcode, HCICommands.LESetExtendedScanEnable.opcode, HCICommands.LESetAdvertisingEnable.opcode,
        HCICommands.LESetExtendedAdvertisingEnable.opcode,
    ]
    private static let often = 2

    mutating func sent(_ command: HCIPacket, at now: Moment) {
        guard let opcode = command.commandOpcode, Self.commands.contains(opcode) else { return }
        // The first parameter of each of them.
        records[opcode, default: Record()].enabling = command.parameters.first == 1 ? now : nil
    }

    /// - Parameter isBusy: nil without a connection; false with one; true if the controller also connects.
    mutating func received(_ event: HCIPacket, at now: Moment, isBusy: () -> Bool?) -> Observation? {
        guard event.eventCode == HCIEvents.CommandComplete.code, let answer = (try? CommandAnswer(event: event)) ?? nil,
            var record = records[answer.opcode], let sent = record.enabling
        else { return nil }
        defer { records[answer.opcode] = record }
        record.enabling = nil
        let state = isBusy()
        if answer.status == .success {
            if state == nil { record.wasAllowed = true } else { record.wasAllowedWhileConnected = true }
        } else if answer.status == .commandDisallowed, state == false {
            record.refusals.append(sent)
        }
        guard record.wasAllowed, !record.wasAllowedWhileConnected, record.refusals.count >= Self.often, !record.isReported,
            let first = record.refusals.first, let command = PDUCatalog.command(opcode: answer.opcode)
        else { return nil }
        record.isReported = true
        return Observation(.refusedWhileConnected, [("Command", .text(command.name))], packet: first.packet)
    }
}
