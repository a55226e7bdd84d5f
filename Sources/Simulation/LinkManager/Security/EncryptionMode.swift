import BBPackets

/// Encryption on or off, requested by the local device: LMP_encryption_mode_req. Core Vol 2, Part C, 4.2.5.1.
struct LocalEncryptionMode: LMPProcedure {
    let isOn: Bool
    let kind = LinkManagement.Kind.encryption
    let isAwaitingPeer = true
    let holdsData = true

    init(isOn: Bool) { self.isOn = isOn }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start:
            if let refusal = link.refusal(ofEncryption: isOn) {
                return [.report(.encryptionChanged(link.security.mode, refusal)), .finish]
            }
            guard isOn != (link.security.mode != .off) else {
                return [.report(.encryptionChanged(link.security.mode, .success)), .finish]
            }
            return [.send(LMP.EncryptionModeReq(encryptionMode: isOn ? 1 : 0), link.ownTransaction)]
        case .message(let message) where message.accepts(LMP.EncryptionModeReq.self):
            return [.continueWith(EncryptionChange(message.transaction, isOn: isOn))]
        case .refused(let refusal) where refusal.concerns(LMP.EncryptionModeReq.self):
            return [.report(.encryptionChanged(link.security.mode, refusal.reason)), .finish]
        default: return nil
        }
    }
}

struct RemoteEncryptionMode: LMPProcedure {
    let kind = LinkManagement.Kind.encryption
    let isAwaitingPeer = true
    let holdsData = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event, case .encryptionModeReq(let pdu) = message.pdu else { return nil }
        guard pdu.encryptionMode <= 1 else {
            return [.reject(LMP.EncryptionModeReq.self, .invalidLMPParameters, message.transaction), .finish]
        }
        let isOn = pdu.encryptionMode == 1
        if let refusal = link.refusal(ofEncryption: isOn) {
            return [.reject(LMP.EncryptionModeReq.self, refusal, message.transaction), .finish]
        }
        guard isOn != (link.security.mode != .off) else {
            return [.reject(LMP.EncryptionModeReq.self, .lmpPDUNotAllowed, message.transaction), .finish]
        }
        return [.accept(LMP.EncryptionModeReq.self, message.transaction), .continueWith(EncryptionChange(message.transaction, isOn: isOn))]
    }
}

extension ACLLinkState {
    /// Reason why encryption cannot be turned on or off: there is no authenticated key, or encryption must not be disabled. Core Vol 2,
    /// Part C, 4.2.5.4.
    fileprivate func refusal(ofEncryption isOn: Bool) -> ErrorCode? {
        guard bothSupport(.encryption) else { return .unsupportedRemoteFeature }
        if isOn { return security.linkKey == nil || security.cipheringOffset == nil ? .pinOrKeyMissing : nil }
        return security.mode == .aesCCM ? .encryptionModeNotAcceptable : nil
    }
}
