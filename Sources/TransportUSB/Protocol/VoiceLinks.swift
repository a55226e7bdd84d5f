import BBHCI
import BBPackets

/// Tracks the synchronous links and their voice coding from commands and events.
struct VoiceLinks {
    private(set) var handles: Set<UInt16> = []
    private var transparent: Set<UInt16> = []
    /// Input_Sample_Size of the current voice setting; 16 bits after a reset. Core Vol 4, Part E, 6.12 and 7.3.28.
    private var has16Bits = true

    func isTransparent(_ handle: UInt16) -> Bool { transparent.contains(handle) }

    /// Required capacity of the pipes; nil without links.
    var need: VoiceNeed? {
        guard !handles.isEmpty else { return nil }
        let coding: VoiceNeed.Coding = !transparent.isEmpty ? .transparent : has16Bits ? .bits16 : .bits8
        return VoiceNeed(channels: handles.count, coding: coding)
    }

    /// Handles a command to the controller. For the enhanced commands, the sample size on the host side counts.
    mutating func note(command: HCIPacket) {
        switch command.commandOpcode {
        case HCICommands.WriteVoiceSetting.opcode:
            note(voiceSetting: (try? command.command(as: HCICommands.WriteVoiceSetting.self))?.voiceSetting)
        case HCICommands.SetupSynchronousConnection.opcode:
            note(voiceSetting: (try? command.command(as: HCICommands.SetupSynchronousConnection.self))?.voiceSetting)
        case HCICommands.AcceptSynchronousConnectionRequest.opcode:
            note(voiceSetting: (try? command.command(as: HCICommands.AcceptSynchronousConnectionRequest.self))?.voiceSetting)
        case HCICommands.EnhancedSetupSynchronousConnection.opcode:
            note(sampleSize: (try? command.command(as: HCICommands.EnhancedSetupSynchronousConnection.self))?.inputCodedDataSize)
        case HCICommands.EnhancedAcceptSynchronousConnectionRequest.opcode:
            note(sampleSize: (try? command.command(as: HCICommands.EnhancedAcceptSynchronousConnectionRequest.self))?.inputCodedDataSize)
        default: break
        }
    }

    private mutating func note(voiceSetting: UInt16?) {
        if let voiceSetting { has16Bits = voiceSetting & 0x20 != 0 }
    }

    private mutating func note(sampleSize: UInt16?) {
        if let sampleSize { has16Bits = sampleSize != 8 }
    }

    /// Handles an event; true if the required capacity has changed.
    mutating func note(event: HCIPacket) -> Bool {
        let before = (handles, need)
        switch event.eventCode {
        case HCIEvents.ConnectionComplete.code:
            if let event = try? event.event(as: HCIEvents.ConnectionComplete.self), event.status == .success, event.linkType == .sco {
                handles.insert(event.connectionHandle.rawValue)
            }
        case HCIEvents.SynchronousConnectionComplete.code:
            if let event = try? event.event(as: HCIEvents.SynchronousConnectionComplete.self), event.status == .success {
                handles.insert(event.connectionHandle.rawValue)
                if event.airMode == 3 { transparent.insert(event.connectionHandle.rawValue) }
            }
        case HCIEvents.DisconnectionComplete.code:
            if let event = try? event.event(as: HCIEvents.DisconnectionComplete.self), event.status == .success {
                handles.remove(event.connectionHandle.rawValue)
                transparent.remove(event.connectionHandle.rawValue)
            }
        case HCIEvents.CommandComplete.code:
            guard event.completedOpcode == HCICommands.Reset.opcode, (try? CommandAnswer(event: event))?.status == .success else {
                return false
            }
            self = VoiceLinks()
        default: return false
        }
        return before != (handles, need)
    }
}
