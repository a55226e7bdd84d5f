import BBPackets
import BBTiming

/// A synchronous connection being set up on a link.
struct SynchronousConnecting {
    enum Stage {
        case idle
        /// The peer requests one and the host has not replied.
        case requested
        /// The link managers are negotiating.
        case negotiating
    }

    var stage = Stage.idle
    /// Connection accept timeout.
    var acceptTimer: AirTimer?
    /// Voice setting of the command that requested or accepted the connection.
    var setting = VoiceSetting(rawValue: 0)
}

extension BREDRController {
    /// Returns false for reports about something else.
    func tellSynchronous(_ report: ACLReport, of end: ACLLinkEnd) -> Bool {
        switch report {
        case .synchronousRequested(let isExtended): considerSynchronous(isExtended, end)
        case .synchronousMade(let id, let parameters):
            let voice = addSynchronous(id, parameters, voiceSetting: end.voice.setting, on: end)
            end.voice.stage = .idle
            tell(.success, end, isExtended: parameters.isExtended, voice)
        case .synchronousFailed(let isExtended, let status):
            // If both devices request one at the same time, one request is rejected and the other is passed to the host.
            if end.voice.stage == .negotiating { end.voice.stage = .idle }
            tell(status, end, isExtended: isExtended, nil)
        case .synchronousEnded(let id, let reason):
            for voice in synchronousEnds where voice.acl === end && voice.id == id { self.end(voice, reason) }
        default: return false
        }
        return true
    }

    /// Ends the synchronous connections of a link before the link itself.
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
        // For SCO, the event contains only the air mode.
        let timing = isExtended ? parameters : nil
        emit(
            HCIEvents.SynchronousConnectionComplete(
                status: status, connectionHandle: voice?.handle ?? 0, bdADDR: end.peer, linkType: isExtended ? .eSCO : .sco,
                transmissionInterval: timing?.interval ?? 0, retransmissionWindow: timing?.window ?? 0,
                rxPacketLength: timing?.receiveLength ?? 0, txPacketLength: timing?.transmitLength ?? 0, airMode: parameters?.airMode ?? 0))
    }

    /// Accepts or rejects a synchronous connection, or asks the host, as the event filters define.
    private func considerSynchronous(_ isExtended: Bool, _ end: ACLLinkEnd) {
        switch settings.filters.verdict(on: end.peer, end.classOfDevice) {
        case .accept: acceptSynchronous(end)
        case .refuse: refuseSynchronous(end, .connectionRejectedDueToUnacceptableBDADDR)
        case .ask: askAboutSynchronous(isExtended, end)
        }
    }

    /// Accepts for the host, with any bandwidth, latency, effort and packets, and its voice setting. Core Vol 4, Part E, 7.3.3.
    private func acceptSynchronous(_ end: ACLLinkEnd) {
        let setting = VoiceSetting(rawValue: settings.voiceSetting)
        (end.voice.stage, end.voice.setting) = (.negotiating, setting)
        end.connection.reply(
            .acceptsSynchronous(
                SynchronousRequest(
                    transmitBandwidth: SynchronousRequest.anyBandwidth, receiveBandwidth: SynchronousRequest.anyBandwidth,
                    maxLatency: SynchronousRequest.anyLatency, airMode: setting.airMode, effort: .any,
                    types: SynchronousPacketTypes(rawValue: 0x003F).types, isAcceptance: true)))
    }

    /// Asks the host to accept a synchronous connection. If the host masks the event, the request is rejected.
    private func askAboutSynchronous(_ isExtended: Bool, _ end: ACLLinkEnd) {
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
