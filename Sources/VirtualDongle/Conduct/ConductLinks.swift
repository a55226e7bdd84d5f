import BBPackets
import BBTraffic

/// Connections and activities of a controller, tracked from its packets.
struct ConductLinks {
    private var tracker = ConnectionTracker()
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
        switch (try? tracker.received(packet)) ?? nil {
        case .closed(let handle, _): closed.insert(handle)
        case .failed(.le, _): isInitiating = false
        case .opened(let connection):
            closed.remove(connection.handle)
            if connection.kind == .le { isInitiating = false }
            if connection.role == .peripheral { isAdvertising = false }
        case .reset: self = ConductLinks()
        default: noteAnswer(packet)
        }
    }

    /// The open connections over LE and BR/EDR.
    var open: [ConnectionHandle: ConnectionState] { tracker.connections.filter { $0.value.kind == .le || $0.value.kind == .classic } }

    private mutating func noteAnswer(_ packet: HCIPacket) {
        guard let opcode = packet.answeredOpcode else { return }
        let status = (try? packet.event(as: HCIEvents.CommandStatus.self))?.status.rawValue
        guard (status ?? (try? packet.event(as: HCIEvents.CommandComplete.self))?.returnParameters.first) == 0 else { return }
        switch opcode {
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
    /// The connection over LE or BR/EDR that an event reports as established.
    var openedConnection: ConnectionState? {
        var tracker = ConnectionTracker()
        guard kind == .event, case .opened(let connection)? = try? tracker.received(self) else { return nil }
        return connection.kind == .le || connection.kind == .classic ? connection : nil
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
