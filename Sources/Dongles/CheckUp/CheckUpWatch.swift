import BBHCI
import BBPackets
import BBTraffic

/// Rules that hold for every packet, independent of the current check: a state machine that watches both directions and records violations.
struct CheckUpWatch {
    /// Num_HCI_Command_Packets of the last event that contains it.
    private(set) var credits = 1
    private(set) var findings: [CheckUpFinding] = []
    private(set) var tracker = ConnectionTracker()
    /// Handle of the last opened connection.
    private(set) var lastConnection: ConnectionHandle?
    /// The chip has reported a crash.
    private(set) var hasCrashed = false
    private var outstanding: [ConnectionHandle: Int] = [:]
    private var forgotten: [ConnectionHandle: Int] = [:]
    private var closed: Set<ConnectionHandle> = []
    private var begun: Set<ConnectionHandle> = []
    /// Handle of logs and dumps of Qualcomm chips.
    private static let debug = ConnectionHandle(0x0EDC)
    private static let dump = ConnectionHandle(0x0EDD)
    /// First octet of Realtek dumps.
    private static let coredump: UInt8 = 0x34

    mutating func sent(_ packet: HCIPacket) {
        _ = tracker.sent(packet)
        if packet.kind == .acl, let handle = packet.dataHandle { outstanding[handle, default: 0] += 1 }
        if packet.kind == .command { credits -= 1 }
    }

    func isOutstanding(_ handle: ConnectionHandle) -> Bool { (outstanding[handle] ?? 0) > 0 }

    /// Stops waiting for missing completed packets; they may still be reported later.
    mutating func forgetOutstanding(_ handle: ConnectionHandle) {
        forgotten[handle, default: 0] += outstanding[handle] ?? 0
        outstanding[handle] = 0
    }

    mutating func received(_ packet: HCIPacket) {
        switch packet.kind {
        case .event: receivedEvent(packet)
        case .acl: receivedData(packet)
        case .iso:
            if tracker[packet.dataHandle ?? 0] == nil { note("iso-flood", "isochronous data on a handle that no event told of") }
        case .sco, .command: break
        }
    }

    mutating func note(_ name: String, _ text: String) { note(name, .fault, text) }

    mutating func note(_ name: String, _ weight: CheckUpFinding.Weight, _ text: String) {
        if !findings.contains(where: { $0.name == name }) { findings.append(CheckUpFinding(name, weight, text)) }
    }

    /// Allows another command after a timeout.
    mutating func takeCredit() { credits = 1 }

    // MARK: Events

    private mutating func receivedEvent(_ packet: HCIPacket) {
        if let change = try? tracker.received(packet) { connectionChanged(change) }
        switch packet.eventCode {
        case HCIEvents.CommandComplete.code, HCIEvents.CommandStatus.code: receivedAnswer(packet)
        case HCIEvents.NumberOfCompletedPackets.code:
            _ = HCIEvents.NumberOfCompletedPackets.forEach(in: packet) { handle, count in completed(handle, count) }
        case HCIEvents.HardwareError.code:
            hasCrashed = true
            let code = (try? packet.event(as: HCIEvents.HardwareError.self))?.hardwareCode ?? 0
            note("hardware-error", "Hardware_Error with code \(code)")
        case HCIEvents.VendorSpecific.code:
            guard let event = try? packet.event(as: HCIEvents.VendorSpecific.self), event.data.first == Self.coredump else { break }
            hasCrashed = true
            note("coredump", "a vendor's event announces a dump of its memory")
        default: break
        }
    }

    private mutating func receivedAnswer(_ packet: HCIPacket) {
        guard let answer = try? CommandAnswer(event: packet) else { return }
        credits = answer.credits
        if answer.owedInstead == .complete {
            let name = PDUCatalog.command(opcode: answer.opcode)?.name ?? ""
            note("status-for-complete", "\(name) is answered by Command_Status in the place of Command_Complete")
        }
    }

    private mutating func completed(_ handle: ConnectionHandle, _ count: Int) {
        if closed.contains(handle) { return note("credits-after-disconnect", "credits for a connection that has ended") }
        let most = outstanding[handle] ?? 0
        outstanding[handle] = max(0, most - count)
        guard count > most, tracker[handle] != nil else { return }
        let late = min(count - most, forgotten[handle] ?? 0)
        forgotten[handle, default: 0] -= late
        guard count > most + late else { return }
        note("credits-excess", "\(count) packets completed on a handle where \(most) were under way")
    }

    private mutating func connectionChanged(_ change: ConnectionChange) {
        switch change {
        case .opened(let connection):
            lastConnection = connection.handle
            outstanding[connection.handle] = 0
            forgotten[connection.handle] = 0
            closed.remove(connection.handle)
            begun.remove(connection.handle)
        case .closed(let handle, _):
            outstanding[handle] = nil
            closed.insert(handle)
        case .reset:
            outstanding.removeAll()
            closed.removeAll()
        case .failed, .parametersChanged, .physChanged, .dataLengthChanged, .encryptionRequested, .encryptionChanged, .keyRefreshed: break
        }
    }

    // MARK: Data

    private mutating func receivedData(_ packet: HCIPacket) {
        guard let header = packet.aclHeader else { return }
        if tracker[header.handle] != nil {
            guard begun.insert(header.handle).inserted, header.boundary == .continuing else { return }
            return note("continuation-first", "the first data of a connection is said to continue something")
        }
        switch header.handle {
        case Self.dump:
            hasCrashed = true
            note("acl-dump", "a dump of its memory as data of handle \(Hex.number(Self.dump.rawValue))")
        case Self.debug: note("acl-debug", "a log of the chip as data of handle \(Hex.number(Self.debug.rawValue))")
        default: break
        }
    }
}
