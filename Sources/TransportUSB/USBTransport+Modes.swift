import BBPackets
import BBTransport

/// The modes of HCI over USB. Core Vol 4, Part B, 7.
extension USBTransport {
    /// True if the dongle offers Bulk Serialization mode.
    public var offersSerialisedMode: Bool { modes.offers }
    /// True in Bulk Serialization mode.
    public var isSerialised: Bool { modes.isSerialised }

    /// Changes the mode. Packets that are sent meanwhile wait; packets of the dongle that the host has not fetched come in the new mode.
    public func select(serialised: Bool) {
        guard modes.offers, !isEnded else { return }
        // With a voice setting in use, the dongle refuses the switch.
        if serialised, !modes.isSerialised { device?.setVoice(nil, handles: []) }
        device?.select(serialised: serialised)
    }

    func switchModeIfNeeded(by command: HCIPacket) {
        if modes.isNeeded(by: command) { select(serialised: true) }
    }

    private func setVoice(_ change: VoiceControl.Change?) {
        if let change, managesVoice { device?.setVoice(change.setting, handles: change.handles) }
    }

    func modeSettled(_ result: Result<Bool, USBModeRefusal>) {
        if probing.settle(result) {
            switch result {
            case .success(let isSerialised): modes.settled(isSerialised)
            case .failure(let refusal): modes.settled(refusal.isSerialised)
            }
            return
        }
        switch result {
        case .success(let isSerialised):
            modes.settled(isSerialised)
            setVoice(voiceControl.changeMode(toSerialised: isSerialised))
        case .failure(let refusal):
            modes.settled(refusal.isSerialised)
            setVoice(voiceControl.changeMode(toSerialised: modes.isSerialised))
            modes.refused("\(refusal)")
            noted.note(.modeRefused, "\(refusal)")
            guard startup == nil, modes.startsSerialised else { return }
            finish(with: .unreachable("\(name): it refuses the Bulk Serialization mode that its descriptors offer: \(refusal)"))
        }
    }

    /// The transfers are not packets any more: goes back to the legacy mode and resets the dongle.
    func framingWasLost(_ fault: String) {
        noted.note(.modeRefused, "Bulk Serialization mode was given up: its transfers were not packets")
        ending.leavesMode = true
        finish(with: .desynchronised("\(name) in Bulk Serialization mode: \(fault); it was put back into the legacy mode"))
    }
}
