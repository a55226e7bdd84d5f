import BBPackets

/// HCI events and commands of a link's security state machine.
extension BREDRSecurity {
    /// Handles an event of the link or its peer; nil if it does not concern security.
    mutating func received(_ packet: HCIPacket) throws(PDUError) -> [Action]? {
        switch packet.eventCode {
        case HCIEvents.LinkKeyRequest.code: return keyRequested()
        case HCIEvents.LinkKeyNotification.code:
            let event: HCIEvents.LinkKeyNotification = try packet.event()
            return keyMade(LinkKey(event.linkKey, event.keyType))
        case HCIEvents.PINCodeRequest.code: return pinRequested()
        case HCIEvents.IOCapabilityRequest.code: return featuresRequested()
        case HCIEvents.IOCapabilityResponse.code:
            let event: HCIEvents.IOCapabilityResponse = try packet.event()
            featuresReceived(
                SimplePairingFeatures(
                    event.ioCapability, hasOutOfBandData: event.oobDataPresent != 0, requirements: event.authenticationRequirements))
            return []
        case HCIEvents.UserConfirmationRequest.code:
            let event: HCIEvents.UserConfirmationRequest = try packet.event()
            return confirmationRequested(event.numericValue)
        case HCIEvents.UserPasskeyRequest.code: return passkeyRequested()
        case HCIEvents.UserPasskeyNotification.code:
            let event: HCIEvents.UserPasskeyNotification = try packet.event()
            return passkeyShown(event.passkey)
        case HCIEvents.RemoteOOBDataRequest.code: return outOfBandRequested()
        case HCIEvents.SimplePairingComplete.code:
            pairingEnded(try packet.event(as: HCIEvents.SimplePairingComplete.self).status)
            return []
        default: return try receivedOfLink(packet)
        }
    }

    private mutating func receivedOfLink(_ packet: HCIPacket) throws(PDUError) -> [Action]? {
        switch packet.eventCode {
        case HCIEvents.AuthenticationComplete.code:
            let event: HCIEvents.AuthenticationComplete = try packet.event()
            return authenticated(event.status)
        case HCIEvents.EncryptionChange.code:
            let event: HCIEvents.EncryptionChange = try packet.event()
            return encryptionChanged(event.status, isAESCCM: Self.isAESCCM(event.encryptionEnabled))
        case HCIEvents.EncryptionKeyRefreshComplete.code:
            let event: HCIEvents.EncryptionKeyRefreshComplete = try packet.event()
            return applied.map { encryptionChanged(event.status, isAESCCM: $0.isAESCCM) } ?? []
        case HCIEvents.EncryptionChangeV2.code:
            let event: HCIEvents.EncryptionChangeV2 = try packet.event()
            let actions = encryptionChanged(event.status, isAESCCM: Self.isAESCCM(event.encryptionEnabled))
            // This event contains the key size.
            guard actions == [.readKeySize] else { return actions }
            return keySizeRead(.success, octets: Int(event.encryptionKeySize))
        default: return nil
        }
    }

    /// Encryption_Enabled on BR/EDR: 0 off, 1 E0, 2 AES-CCM. Core Vol 4, Part E, 7.7.8.
    private static func isAESCCM(_ mode: UInt8) -> Bool? { mode == 0 ? nil : mode == 2 }
}

extension BREDRSecurity.Action {
    /// The HCI command of an action; nil if the action is not for the controller.
    func command(for peer: BDADDR, on handle: ConnectionHandle) -> HCIPacket? {
        switch self {
        case .authenticate: HCIPacket(command: HCICommands.AuthenticationRequested(connectionHandle: handle))
        case .encrypt: HCIPacket(command: HCICommands.SetConnectionEncryption(connectionHandle: handle, encryptionEnable: 1))
        case .refresh: HCIPacket(command: HCICommands.RefreshEncryptionKey(connectionHandle: handle))
        case .readKeySize: HCIPacket(command: HCICommands.ReadEncryptionKeySize(connectionHandle: handle))
        case .replyKey(let key?): HCIPacket(command: HCICommands.LinkKeyRequestReply(bdADDR: peer, linkKey: key.value))
        case .replyKey(nil): HCIPacket(command: HCICommands.LinkKeyRequestNegativeReply(bdADDR: peer))
        case .replyFeatures(let features):
            HCIPacket(
                command: HCICommands.IOCapabilityRequestReply(
                    bdADDR: peer, ioCapability: features.ioCapability, oobDataPresent: features.hasOutOfBandData ? 3 : 0,
                    authenticationRequirements: features.requirements))
        case .refuseFeatures(let reason): HCIPacket(command: HCICommands.IOCapabilityRequestNegativeReply(bdADDR: peer, reason: reason))
        case .confirm(true): HCIPacket(command: HCICommands.UserConfirmationRequestReply(bdADDR: peer))
        case .confirm(false): HCIPacket(command: HCICommands.UserConfirmationRequestNegativeReply(bdADDR: peer))
        case .replyPasskey(let passkey?): HCIPacket(command: HCICommands.UserPasskeyRequestReply(bdADDR: peer, numericValue: passkey))
        case .replyPasskey(nil): HCIPacket(command: HCICommands.UserPasskeyRequestNegativeReply(bdADDR: peer))
        case .replyPIN(let pin?):
            HCIPacket(
                command: HCICommands.PINCodeRequestReply(
                    bdADDR: peer, pinCodeLength: UInt8(clamping: pin.count),
                    pinCode: pin + [UInt8](repeating: 0, count: max(0, 16 - pin.count))))
        case .replyPIN(nil): HCIPacket(command: HCICommands.PINCodeRequestNegativeReply(bdADDR: peer))
        case .replyOutOfBand(let data?, isExtended: true):
            HCIPacket(
                command: HCICommands.RemoteOOBExtendedDataRequestReply(
                    bdADDR: peer, c192: data.commitment192, r192: data.random192, c256: data.commitment256, r256: data.random256))
        case .replyOutOfBand(let data?, isExtended: false):
            HCIPacket(command: HCICommands.RemoteOOBDataRequestReply(bdADDR: peer, c: data.commitment192, r: data.random192))
        case .replyOutOfBand(nil, _): HCIPacket(command: HCICommands.RemoteOOBDataRequestNegativeReply(bdADDR: peer))
        case .disconnect(let reason): HCIPacket(command: HCICommands.Disconnect(connectionHandle: handle, reason: reason))
        case .ask, .keep, .reached, .failed: nil
        }
    }
}
