import BBBluetoothCrypto
import BBPackets

/// Turns reports of link managers into HCI events. Core Vol 4, Part E, 7.7.
extension BREDRController {
    func tell(_ report: ACLReport, of end: ACLLinkEnd) {
        if !tellSynchronous(report, of: end), !tellKnowledge(report, of: end) { tellSecurity(report, of: end) }
    }

    /// Returns false for reports about security.
    private func tellKnowledge(_ report: ACLReport, of end: ACLLinkEnd) -> Bool {
        let handle = end.handle
        switch report {
        case .features(let bits, let status):
            emit(HCIEvents.ReadRemoteSupportedFeaturesComplete(status: status, connectionHandle: handle, lmpFeatures: bits))
        case .extendedFeatures(let page, let highest, let bits, let status):
            emit(
                HCIEvents.ReadRemoteExtendedFeaturesComplete(
                    status: status, connectionHandle: handle, pageNumber: page, maxPageNumber: highest, extendedLMPFeatures: bits))
        case .version(let version, let status):
            emit(
                HCIEvents.ReadRemoteVersionInformationComplete(
                    status: status, connectionHandle: handle, version: version.version, companyIdentifier: version.companyIdentifier,
                    subversion: version.subversion))
        case .name(let name, let status): tellName(name, status, of: end)
        case .clockOffset(let offset, let status):
            emit(HCIEvents.ReadClockOffsetComplete(status: status, connectionHandle: handle, clockOffset: offset))
        case .modeChanged(let interval, let status):
            emit(
                HCIEvents.ModeChange(
                    status: status, connectionHandle: handle, currentMode: interval == nil ? 0 : 2, interval: interval ?? 0))
        case .qualityOfService(_, let status):
            end.tellQuality?(status)
            end.tellQuality = nil
        default: return false
        }
        return true
    }

    private func tellSecurity(_ report: ACLReport, of end: ACLLinkEnd) {
        let peer = end.peer
        switch report {
        case .linkKeyRequested: ask(HCIEvents.LinkKeyRequest(bdADDR: peer), end, or: .noLinkKey)
        case .pinRequested: ask(HCIEvents.PINCodeRequest(bdADDR: peer), end, or: .noPIN)
        case .ioCapabilityRequested: ask(HCIEvents.IOCapabilityRequest(bdADDR: peer), end, or: .noIOCapability(.pairingNotAllowed))
        case .ioCapabilityResponse(let offer):
            emit(
                HCIEvents.IOCapabilityResponse(
                    bdADDR: peer, ioCapability: offer.capability, oobDataPresent: offer.hasOutOfBandData ? 1 : 0,
                    authenticationRequirements: offer.requirements))
        case .userConfirmationRequested(let number):
            ask(HCIEvents.UserConfirmationRequest(bdADDR: peer, numericValue: number), end, or: .confirmsNumber(false))
        case .passkeyRequested: ask(HCIEvents.UserPasskeyRequest(bdADDR: peer), end, or: .noPasskey)
        case .passkeyShown(let number): emit(HCIEvents.UserPasskeyNotification(bdADDR: peer, passkey: number))
        case .keypress(let type): emit(HCIEvents.KeypressNotification(bdADDR: peer, notificationType: type))
        case .outOfBandDataRequested: ask(HCIEvents.RemoteOOBDataRequest(bdADDR: peer), end, or: .outOfBandData(nil))
        case .simplePairingComplete(let status): emit(HCIEvents.SimplePairingComplete(status: status, bdADDR: peer))
        case .linkKey(let key, let type): emit(HCIEvents.LinkKeyNotification(bdADDR: peer, linkKey: key, keyType: type))
        case .proofFailed: settings.security.failedAttempts.failed(peer, at: controller.loop.now)
        case .authenticated(let status): emit(HCIEvents.AuthenticationComplete(status: status, connectionHandle: end.handle))
        case .encryptionChanged(let mode, let status):
            emit(HCIEvents.EncryptionChange(status: status, connectionHandle: end.handle, encryptionEnabled: mode.rawValue))
        case .keyChanged(let status): emit(HCIEvents.ChangeConnectionLinkKeyComplete(status: status, connectionHandle: end.handle))
        case .keyRefreshed(let status): emit(HCIEvents.EncryptionKeyRefreshComplete(status: status, connectionHandle: end.handle))
        default: break
        }
    }

    /// Sends a request to the host. If the host masks the event, gives the negative reply. Core Vol 4, Part E, 7.7.22 and 7.7.23.
    private func ask<Event: HCIEvent>(_ event: Event, _ end: ACLLinkEnd, or reply: ACLReply) {
        if controller.sends(Event.self) { emit(event) } else { end.connection.reply(reply) }
    }
}

/// The host's security settings. Core Vol 4, Part E, 7.3.58, 7.3.92 and 7.3.102.
struct BREDRSecuritySettings {
    var usesSimplePairing = false
    var usesSecureConnections = false
    var minimumKeySize: UInt8 = 7
    /// Data returned by Read_Local_OOB_Data, kept until the next request.
    var outOfBand: LocalOutOfBandData?
    var failedAttempts = FailedAttempts()
}
