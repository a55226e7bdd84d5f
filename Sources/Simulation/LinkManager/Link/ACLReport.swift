import BBPackets

/// Events of a link manager, which the controller turns into HCI.
enum ACLReport: Equatable {
    /// The peer requests a connection; answer with `ACLReply.acceptsConnection` or `.refusesConnection`.
    case connectionRequested
    /// The connection is established or was rejected.
    case connected(ErrorCode)
    case features(UInt64, ErrorCode)
    case extendedFeatures(page: UInt8, highest: UInt8, UInt64, ErrorCode)
    case version(RemoteVersion, ErrorCode)
    /// 248 octets, padded with zeros.
    case name([UInt8], ErrorCode)
    /// Bits 16-2 of the peripheral's clock minus the central's.
    case clockOffset(UInt16, ErrorCode)
    /// The peer accepts packets of up to this number of slots.
    case maxSlots(UInt8)
    /// A role switch is needed before the connection is accepted; the connection performs it.
    case switchWanted
    case roleChanged(LinkRole, ErrorCode)
    case qualityOfService(UInt16, ErrorCode)
    /// T_sniff in slots; nil for active mode.
    case modeChanged(interval: UInt16?, ErrorCode)
    /// The peer requests SCO or eSCO; answer with `ACLReply.acceptsSynchronous` or `.refusesSynchronous`.
    case synchronousRequested(isExtended: Bool)
    case synchronousMade(id: UInt8, SynchronousParameters)
    case synchronousFailed(isExtended: Bool, ErrorCode)
    case synchronousEnded(id: UInt8, ErrorCode)
    /// Answer with `ACLReply.linkKey` or `.noLinkKey`.
    case linkKeyRequested
    /// Answer with `ACLReply.pin` or `.noPIN`.
    case pinRequested
    /// Answer with `ACLReply.ioCapability` or `.noIOCapability`.
    case ioCapabilityRequested
    case ioCapabilityResponse(IOOffer)
    /// Answer with `ACLReply.confirmsNumber`.
    case userConfirmationRequested(UInt32)
    /// Answer with `ACLReply.passkey` or `.noPasskey`.
    case passkeyRequested
    case passkeyShown(UInt32)
    case keypress(UInt8)
    /// Answer with `ACLReply.outOfBandData`.
    case outOfBandDataRequested
    case simplePairingComplete(ErrorCode)
    /// A new link key.
    case linkKey([UInt8], LinkKeyType)
    /// The authentication requested by the local host is complete.
    case authenticated(ErrorCode)
    /// The peer failed to prove possession of the link key and must wait before it tries again.
    case proofFailed
    case encryptionChanged(ACLEncryptionMode, ErrorCode)
    case keyRefreshed(ErrorCode)
    /// The link key change requested by the local host is complete.
    case keyChanged(ErrorCode)
}

/// Replies of a host, or of the baseband, to a link manager.
enum ACLReply: Equatable {
    /// Accept_Connection_Request.
    ///
    /// - Parameter asCentral: true to become the central by a role switch.
    case acceptsConnection(asCentral: Bool)
    /// Reject_Connection_Request, or the expired connection accept timeout.
    case refusesConnection(ErrorCode)
    /// Link_Key_Request_Reply.
    case linkKey([UInt8])
    case noLinkKey
    /// PIN_Code_Request_Reply: 1...16 octets.
    case pin([UInt8])
    case noPIN
    /// IO_Capability_Request_Reply.
    case ioCapability(IOOffer)
    case noIOCapability(ErrorCode)
    /// User_Confirmation_Request_Reply or User_Confirmation_Request_Negative_Reply.
    case confirmsNumber(Bool)
    /// User_Passkey_Request_Reply.
    case passkey(UInt32)
    case noPasskey
    /// Send_Keypress_Notification.
    case keypress(UInt8)
    /// Remote_OOB_Data_Request_Reply or Remote_OOB_Extended_Data_Request_Reply; nil for the negative reply.
    case outOfBandData(RemoteOutOfBandData?)
    /// Accept_Synchronous_Connection_Request.
    case acceptsSynchronous(SynchronousRequest)
    /// Reject_Synchronous_Connection_Request, or the expired connection accept timeout.
    case refusesSynchronous(ErrorCode)
    /// The instant of a role switch was reached.
    case switched(isDone: Bool)
    /// A role switch during setup is complete or could not be performed.
    case rolesSettled
}

/// Events of a link. All calls are on the loop; a procedure may be started from within a call.
protocol ACLConnectionDelegate: AnyObject {
    /// Current capabilities of the controller and its host's settings for a link to `peer`.
    func linkManagerSettings(for peer: BDADDR) -> LinkManagerSettings
    /// Rules that change messages of the link manager.
    var rewriter: PacketRewriter? { get }
    func connection(_ connection: ACLConnection, reports report: ACLReport)
    /// The link has ended; no further calls follow. Reasons: 0x08, 0x13..., 0x16, 0x22, 0x3D.
    func connection(_ connection: ACLConnection, disconnected reason: ErrorCode)
}

extension ACLConnectionDelegate {
    var rewriter: PacketRewriter? { nil }
}
