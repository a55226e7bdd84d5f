import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// Commands that a controller refuses while it advertises, scans or connects. Core Vol 4, Part E, 7.8.4, 7.8.5, 7.8.10, 7.8.15 to 7.8.17,
/// 7.8.38 to 7.8.44 and 7.8.52 to 7.8.59.
struct StateWatch {
    private enum Activity: String {
        case advertising = "legacy advertising is on"
        case scanning = "scanning is on"
        case connecting = "an attempt to connect is open"
        case extended = "the advertising set is on"
        case periodic = "periodic advertising is on"
    }

    /// The packet that began what is on.
    private var active: [Activity: Moment] = [:]
    private var sets: [UInt8: Moment] = [:]
    private var trains: [UInt8: Moment] = [:]
    private var last: (opcode: UInt16, parameters: [UInt8], sent: Moment)?
    private var told: Set<UInt16> = []

    /// The activities during which a command is refused.
    private static let forbidden: [UInt16: [Activity]] = [
        HCICommands.LESetRandomAddress.opcode: [.advertising, .scanning, .connecting],
        HCICommands.LESetAdvertisingParameters.opcode: [.advertising],
        HCICommands.LESetScanParameters.opcode: [.scanning],
        HCICommands.LESetExtendedScanParameters.opcode: [.scanning],
        HCICommands.LEAddDeviceToFilterAcceptList.opcode: [.connecting, .scanning, .advertising],
        HCICommands.LERemoveDeviceFromFilterAcceptList.opcode: [.connecting, .scanning, .advertising],
        HCICommands.LEClearFilterAcceptList.opcode: [.connecting, .scanning, .advertising],
        HCICommands.LEAddDeviceToResolvingList.opcode: [.connecting, .scanning, .advertising],
        HCICommands.LERemoveDeviceFromResolvingList.opcode: [.connecting, .scanning, .advertising],
        HCICommands.LEClearResolvingList.opcode: [.connecting, .scanning, .advertising],
        HCICommands.LESetAddressResolutionEnable.opcode: [.connecting, .scanning, .advertising],
    ]
    /// LE_Set_Periodic_Advertising_Parameters.
    private static let setPeriodicParameters: UInt16 = 0x203E
    /// Commands of one advertising set, whose handle comes first.
    private static let ofSet: Set<UInt16> = [
        HCICommands.LESetExtendedAdvertisingParameters.opcode, HCICommands.LESetAdvertisingSetRandomAddress.opcode,
        HCICommands.LERemoveAdvertisingSet.opcode, setPeriodicParameters,
    ]

    mutating func sent(_ command: HCIPacket, at now: Moment) {
        guard let opcode = command.commandOpcode else { return }
        if opcode == HCICommands.Reset.opcode { self = StateWatch() }
        last = (opcode, Array(command.parameters.prefix(64)), now)
    }

    /// - Parameter dial: the command by which the controller tries to connect.
    mutating func received(_ event: HCIPacket, dial: Moment?) -> Observation? {
        if event.leSubevent != nil { return ended(event) }
        guard event.eventCode == HCIEvents.CommandComplete.code || event.eventCode == HCIEvents.CommandStatus.code,
            let answer = (try? CommandAnswer(event: event)) ?? nil, let (opcode, parameters, sent) = last, opcode == answer.opcode
        else { return nil }
        last = nil
        if answer.status == .success { return began(opcode, parameters, sent) }
        guard answer.status == .commandDisallowed, !told.contains(opcode), let command = PDUCatalog.command(opcode: opcode) else {
            return nil
        }
        active[.connecting] = dial
        let first = parameters.first ?? 0
        if Self.ofSet.contains(opcode) {
            (active[.extended], active[.periodic]) = (sets[first], trains[first])
            if opcode == Self.setPeriodicParameters { active[.extended] = nil }
        }
        let activities = Self.ofSet.contains(opcode) ? [.periodic, .extended] : Self.forbidden[opcode] ?? []
        guard let activity = activities.first(where: { active[$0] != nil }), let since = active[activity] else { return nil }
        told.insert(opcode)
        return Observation(
            .refusedInState, [("Command", .text(command.name)), ("State", .text("\(activity.rawValue) (#\(since.packet))"))],
            packet: sent.packet)
    }

    private mutating func began(_ opcode: UInt16, _ parameters: [UInt8], _ sent: Moment) -> Observation? {
        let first = parameters.first ?? 0
        let isOn = first & 1 == 1
        switch opcode {
        case HCICommands.LESetAdvertisingEnable.opcode: active[.advertising] = isOn ? sent : nil
        case HCICommands.LESetScanEnable.opcode, HCICommands.LESetExtendedScanEnable.opcode: active[.scanning] = isOn ? sent : nil
        case HCICommands.LESetExtendedAdvertisingEnable.opcode:
            let count = parameters.count > 1 ? Int(parameters[1]) : 0
            if count == 0, !isOn { sets = [:] }
            for index in 0..<count where parameters.count > 2 + 4 * index { sets[parameters[2 + 4 * index]] = isOn ? sent : nil }
        case HCICommands.LESetPeriodicAdvertisingEnable.opcode where parameters.count > 1: trains[parameters[1]] = isOn ? sent : nil
        default: break
        }
        return nil
    }

    /// A connection ends the advertising that led to it.
    private mutating func ended(_ event: HCIPacket) -> Observation? {
        switch event.id {
        case HCIEvents.LEConnectionComplete.id, HCIEvents.LEEnhancedConnectionComplete.id, HCIEvents.LEEnhancedConnectionCompleteV2.id:
            active[.advertising] = nil
        case HCIEvents.LEAdvertisingSetTerminated.id:
            let start = event.kind.headerLength + 2
            if event.bytes.count > start { sets[event.bytes[start]] = nil }
        default: break
        }
        return nil
    }
}
