import BBPackets

/// Connections and activities of a controller, tracked from its packets.
struct ConductLinks {
    struct Link: Equatable {
        var isLE: Bool
        var isPeripheral: Bool
    }

    private(set) var open: [ConnectionHandle: Link] = [:]
    /// Handles of ended connections that have not been reused.
    private(set) var closed: Set<ConnectionHandle> = []
    private(set) var isAdvertising = false
    private(set) var isScanning = false
    private(set) var isInitiating = false

    /// Commands that turn an activity on or off and have not been answered.
    private var asked: [UInt16: Bool] = [:]

    /// Handles a packet of the controller.
    mutating func note(_ packet: HCIPacket) {
        guard packet.kind == .event else { return }
        if let ended = try? packet.event(as: HCIEvents.DisconnectionComplete.self), ended.status == .success {
            open[ended.connectionHandle] = nil
            closed.insert(ended.connectionHandle)
        } else if let event = packet.openedConnection {
            if event.isLE { isInitiating = false }
            guard event.status == .success else { return }
            open[event.handle] = Link(isLE: event.isLE, isPeripheral: event.isPeripheral)
            closed.remove(event.handle)
            if event.isPeripheral { isAdvertising = false }
        } else {
            noteAnswer(packet)
        }
    }

    private mutating func noteAnswer(_ packet: HCIPacket) {
        guard let opcode = packet.answeredOpcode else { return }
        let status = (try? packet.event(as: HCIEvents.CommandStatus.self))?.status.rawValue
        guard (status ?? (try? packet.event(as: HCIEvents.CommandComplete.self))?.returnParameters.first) == 0 else { return }
        switch opcode {
        case HCICommands.Reset.opcode: self = ConductLinks()
        case HCICommands.LESetAdvertisingEnable.opcode, HCICommands.LESetExtendedAdvertisingEnable.opcode:
            isAdvertising = asked[opcode] ?? false
        case HCICommands.LESetScanEnable.opcode, HCICommands.LESetExtendedScanEnable.opcode: isScanning = asked[opcode] ?? false
        case HCICommands.LECreateConnection.opcode, HCICommands.LEExtendedCreateConnection.opcode: isInitiating = true
        default: break
        }
    }

    /// Handles a command to the controller.
    mutating func noteCommand(_ packet: HCIPacket) {
        if let command = packet.roleCommand { asked[command.opcode] = command.isOn }
    }
}

extension HCIPacket {
    /// The connection that an event reports, established or failed.
    var openedConnection: (status: ErrorCode, handle: ConnectionHandle, isLE: Bool, isPeripheral: Bool)? {
        switch id?.effect {
        case .opens(.bredr):
            return (try? event(as: HCIEvents.ConnectionComplete.self)).map { ($0.status, $0.connectionHandle, false, false) }
        case .opens(.le):
            return (try? HCIEvents.LEEnhancedConnectionCompleteV2(anyVersion: self)).map {
                ($0.status, $0.connectionHandle, true, $0.role == .peripheral)
            }
        default: return nil
        }
    }

    /// A command that turns advertising or scanning on or off.
    var roleCommand: (opcode: UInt16, isOn: Bool)? {
        guard let opcode = commandOpcode else { return nil }
        switch opcode {
        case HCICommands.LESetAdvertisingEnable.opcode:
            return (try? command(as: HCICommands.LESetAdvertisingEnable.self)).map { (opcode, $0.advertisingEnable == 1) }
        case HCICommands.LESetExtendedAdvertisingEnable.opcode:
            return (try? command(as: HCICommands.LESetExtendedAdvertisingEnable.self)).map { (opcode, $0.enable == 1) }
        case HCICommands.LESetScanEnable.opcode:
            return (try? command(as: HCICommands.LESetScanEnable.self)).map { (opcode, $0.leScanEnable == 1) }
        case HCICommands.LESetExtendedScanEnable.opcode:
            return (try? command(as: HCICommands.LESetExtendedScanEnable.self)).map { (opcode, $0.enable == 1) }
        default: return nil
        }
    }
}

extension [UInt8] {
    func little16(_ place: Int) -> UInt16 { UInt16(self[place]) | UInt16(self[place + 1]) << 8 }
}
