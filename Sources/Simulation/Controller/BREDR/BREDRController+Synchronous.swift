import Packets
import Timing

/// A synchronous connection that is being made on a link.
struct SynchronousConnecting {
    enum Stage {
        case idle
        /// The other side asks for one, and the host has not answered.
        case requested
        /// The link managers agree on one.
        case negotiating
    }

    var stage = Stage.idle
    /// Gives up waiting for the host's answer.
    var acceptTimer: AirTimer?
    /// Of the command that asked for it, or accepted it.
    var setting = VoiceSetting(rawValue: 0)
}

extension BREDRController {
    /// False for what is about something else.
    func tellSynchronous(_ report: ACLReport, of end: ACLLinkEnd) -> Bool {
        switch report {
        case .synchronousRequested(let isExtended): considerSynchronous(isExtended, end)
        case .synchronousMade(let id, let parameters):
            let voice = addSynchronous(id, parameters, voiceSetting: end.voice.setting, on: end)
            end.voice.stage = .idle
            tell(.success, end, isExtended: parameters.isExtended, voice)
        case .synchronousFailed(let isExtended, let status):
            // Where both sides ask at once, one of them is refused, and asked.
            if end.voice.stage == .negotiating { end.voice.stage = .idle }
            tell(status, end, isExtended: isExtended, nil)
        case .synchronousEnded(let id, let reason):
            for voice in synchronousEnds where voice.acl === end && voice.id == id { self.end(voice, reason) }
        default: return false
        }
        return true
    }

    /// Synchronous connections end before the link that carries them.
    func endSynchronous(of end: ACLLinkEnd, _ reason: ErrorCode) {
        end.voice.acceptTimer?.cancel()
        if end.voice.stage != .idle { tell(reason, end, isExtended: true, nil) }
        for voice in synchronousEnds where voice.acl === end { self.end(voice, reason) }
    }

    private func end(_ voice: SynchronousLinkEnd, _ reason: ErrorCode) {
        removeSynchronous(voice)
        emit(HCIEvents.DisconnectionComplete(status: .success, connectionHandle: voice.handle, reason: reason))
    }

    private func tell(_ status: ErrorCode, _ end: ACLLinkEnd, isExtended: Bool, _ voice: SynchronousLinkEnd?) {
        if end.voice.stage != .requested { end.voice.acceptTimer?.cancel() }
        let parameters = voice?.parameters
        // Of SCO only the air mode is told.
        let timing = isExtended ? parameters : nil
        emit(
            HCIEvents.SynchronousConnectionComplete(
                status: status, connectionHandle: voice?.handle ?? 0, bdADDR: end.peer, linkType: isExtended ? .eSCO : .sco,
                transmissionInterval: timing?.interval ?? 0, retransmissionWindow: timing?.window ?? 0,
                rxPacketLength: timing?.receiveLength ?? 0, txPacketLength: timing?.transmitLength ?? 0, airMode: parameters?.airMode ?? 0))
    }

    /// Lets the host decide; one that does not want to hear of it has no connection.
    private func considerSynchronous(_ isExtended: Bool, _ end: ACLLinkEnd) {
        end.voice.stage = .requested
        guard controller.sends(HCIEvents.ConnectionRequest.self) else {
            return refuseSynchronous(end, .connectionRejectedDueToLimitedResources)
        }
        let timer = AirTimer(on: controller.loop) { [unowned self, unowned end] in
            refuseSynchronous(end, .connectionAcceptTimeoutExceeded)
        }
        end.voice.acceptTimer = timer
        timer.set(at: controller.loop.now + NativeClock.slot * Int(settings.connectionAcceptTimeout))
        emit(HCIEvents.ConnectionRequest(bdADDR: end.peer, classOfDevice: end.classOfDevice, linkType: isExtended ? .eSCO : .sco))
    }

    func refuseSynchronous(_ end: ACLLinkEnd, _ reason: ErrorCode) {
        end.voice.stage = .negotiating
        end.connection.reply(.refusesSynchronous(reason))
    }
}
