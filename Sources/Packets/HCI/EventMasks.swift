/// Event masks set by the host. The initial values are those of Core Vol 4, Part E, 7.3.1, 7.3.69 and 7.8.1.
package struct EventMasks: Sendable {
    /// All events of the first specification versions.
    package var page1 = EventMask(rawValue: 0x0000_1FFF_FFFF_FFFF)
    package var page2: EventMaskPage2 = []
    package var le: LEEventMask = [
        .leConnectionComplete, .leAdvertisingReport, .leConnectionUpdateComplete, .leReadRemoteFeaturesComplete, .leLongTermKeyRequest,
    ]

    package init() {}

    package func pass<Event: HCIEvent>(_ event: Event.Type) -> Bool { pass(Event.maskPosition) }

    /// Returns true if the events with this bit are enabled.
    package func pass(_ position: EventMaskPosition) -> Bool {
        switch position {
        case .page1(let bit): page1.rawValue >> UInt64(bit) & 1 == 1
        case .page2(let bit): page2.rawValue >> UInt64(bit) & 1 == 1
        case .le(let bit): page1.contains(.leMeta) && le.rawValue >> UInt64(bit) & 1 == 1
        case .unmaskable: true
        }
    }

    /// Sets the mask that a command contains; returns false for another command.
    @discardableResult
    package mutating func set(by command: HCIPacket) -> Bool {
        switch command.commandOpcode {
        case HCICommands.SetEventMask.opcode:
            if let mask = try? command.command(as: HCICommands.SetEventMask.self).eventMask { page1 = mask }
        case HCICommands.SetEventMaskPage2.opcode:
            if let mask = try? command.command(as: HCICommands.SetEventMaskPage2.self).eventMaskPage2 { page2 = mask }
        case HCICommands.LESetEventMask.opcode, HCICommands.LESetEventMaskV2.opcode:
            if let mask = LEEventMask(setBy: command) { le = mask }
        default: return false
        }
        return true
    }
}

extension LEEventMask {
    /// The mask that a command sets; nil for another command.
    package init?(setBy command: HCIPacket) {
        if let command = try? command.command(as: HCICommands.LESetEventMask.self) {
            self = command.leEventMask
        } else if let command = try? command.command(as: HCICommands.LESetEventMaskV2.self) {
            self = command.firstBits
        } else {
            return nil
        }
    }
}
