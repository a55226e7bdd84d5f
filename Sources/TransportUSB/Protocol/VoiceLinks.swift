import Packets

/// Follows commands and events for the synchronous links that are up and the coding of their voice.
struct VoiceLinks {
    private(set) var handles: Set<UInt16> = []
    private var transparent: Set<UInt16> = []
    /// Input_Sample_Size of the voice setting that is in use, 16 bits after a reset. Core Vol 4, Part E, 6.12 and 7.3.28.
    private var has16Bits = true

    /// What the pipes must carry; nil without links.
    var need: VoiceNeed? {
        guard !handles.isEmpty else { return nil }
        let coding: VoiceNeed.Coding = !transparent.isEmpty ? .transparent : has16Bits ? .bits16 : .bits8
        return VoiceNeed(channels: handles.count, coding: coding)
    }

    /// Takes a command on its way to the controller. Of the two commands that name codecs for each path, the size of the host's samples counts.
    mutating func note(command: HCIPacket) {
        guard let opcode = command.commandOpcode else { return }
        let bytes = command.bytes
        switch opcode {
        case HCICommands.WriteVoiceSetting.opcode: noteVoiceSetting(bytes, at: 3)
        case HCICommands.SetupSynchronousConnection.opcode: noteVoiceSetting(bytes, at: 3 + 12)
        case HCICommands.AcceptSynchronousConnectionRequest.opcode: noteVoiceSetting(bytes, at: 3 + 16)
        case HCICommands.EnhancedSetupSynchronousConnection.opcode: noteSampleSize(bytes, at: 3 + 42)
        case HCICommands.EnhancedAcceptSynchronousConnectionRequest.opcode: noteSampleSize(bytes, at: 3 + 46)
        default: break
        }
    }

    private mutating func noteVoiceSetting(_ bytes: [UInt8], at offset: Int) {
        if bytes.count > offset { has16Bits = bytes[offset] & 0x20 != 0 }
    }

    private mutating func noteSampleSize(_ bytes: [UInt8], at offset: Int) {
        if bytes.count > offset { has16Bits = bytes[offset] != 8 }
    }

    /// Takes an event; true when what the pipes must carry has changed.
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
        case HCIEvents.CommandComplete.code where event.bytes.count > 5 && event.bytes[3...5] == [0x03, 0x0C, 0x00]: self = VoiceLinks()
        default: return false
        }
        return before != (handles, need)
    }
}
