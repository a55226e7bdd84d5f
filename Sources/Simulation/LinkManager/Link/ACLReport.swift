import Packets

/// News of a link's manager for its controller, which turns them into HCI.
enum ACLReport: Equatable {
    /// The other side asks for the connection; answered by `ACLReply.acceptsConnection` or `.refusesConnection`.
    case connectionRequested
    /// The connection is made, or was refused.
    case connected(ErrorCode)
    case features(UInt64, ErrorCode)
    case extendedFeatures(page: UInt8, highest: UInt8, UInt64, ErrorCode)
    case version(RemoteVersion, ErrorCode)
    /// 248 octets, zeros behind the name.
    case name([UInt8], ErrorCode)
    /// Bits 16-2 of the peripheral's clock less the central's.
    case clockOffset(UInt16, ErrorCode)
    /// The other side lets this one send packets of so many slots.
    case maxSlots(UInt8)
    /// Before the connection is accepted the roles are to be switched; the connection sees to it.
    case switchWanted
    case roleChanged(LinkRole, ErrorCode)
    case qualityOfService(UInt16, ErrorCode)
    /// T_sniff in slots; nil for active mode.
    case modeChanged(interval: UInt16?, ErrorCode)
    /// The other side asks for SCO or eSCO; answered by `ACLReply.acceptsSynchronous` or `.refusesSynchronous`.
    case synchronousRequested(isExtended: Bool)
    case synchronousMade(id: UInt8, SynchronousParameters)
    case synchronousFailed(isExtended: Bool, ErrorCode)
    case synchronousEnded(id: UInt8, ErrorCode)
    /// Answered by `ACLReply.linkKey` or `.noLinkKey`.
    case linkKeyRequested
    /// Answered by `ACLReply.pin` or `.noPIN`.
    case pinRequested
    /// Answered by `ACLReply.ioCapability` or `.noIOCapability`.
    case ioCapabilityRequested
    case ioCapabilityResponse(IOOffer)
    /// Answered by `ACLReply.confirmsNumber`.
    case userConfirmationRequested(UInt32)
    /// Answered by `ACLReply.passkey` or `.noPasskey`.
    case passkeyRequested
    case passkeyShown(UInt32)
    case keypress(UInt8)
    /// Answered by `ACLReply.outOfBandData`.
    case outOfBandDataRequested
    case simplePairingComplete(ErrorCode)
    /// A new link key.
    case linkKey([UInt8], LinkKeyType)
    /// The authentication that this side's host asked for is over.
    case authenticated(ErrorCode)
    /// The other side did not prove that it has the link key: it has to wait until it may try again.
    case proofFailed
    case encryptionChanged(ACLEncryptionMode, ErrorCode)
    case keyRefreshed(ErrorCode)
    /// The change of the link key that this side's host asked for is over.
    case keyChanged(ErrorCode)
}

/// What a host, or the baseband, replies to a link manager.
enum ACLReply: Equatable {
    /// Accept_Connection_Request. - Parameter asCentral: after a switch of roles.
    case acceptsConnection(asCentral: Bool)
    /// Reject_Connection_Request, or the connection accept time-out.
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
    /// User_Confirmation_Request_Reply or its negative.
    case confirmsNumber(Bool)
    /// User_Passkey_Request_Reply.
    case passkey(UInt32)
    case noPasskey
    /// Send_Keypress_Notification.
    case keypress(UInt8)
    /// Remote_OOB_Data_Request_Reply or its extended form; nil for the negative one.
    case outOfBandData(RemoteOutOfBandData?)
    /// Accept_Synchronous_Connection_Request.
    case acceptsSynchronous(SynchronousRequest)
    /// Reject_Synchronous_Connection_Request, or the connection accept time-out.
    case refusesSynchronous(ErrorCode)
    /// The instant of a switch of roles has come.
    case switched(isDone: Bool)
    /// A switch of roles that set-up waited for is over, or could not be.
    case rolesSettled
}

/// What a link reports to its controller. Every call is on the loop, and may start another procedure at once.
protocol ACLConnectionDelegate: AnyObject {
    /// What the controller is able to do now, with what its host has set for a link to a device.
    func linkManagerSettings(for peer: BDADDR) -> LinkManagerSettings
    /// Rules for what the link manager sends.
    var rewriter: PacketRewriter? { get }
    func connection(_ connection: ACLConnection, reports report: ACLReport)
    /// The link is gone; nothing more comes from it. Reasons: 0x08, 0x13..., 0x16, 0x22, 0x3D.
    func connection(_ connection: ACLConnection, disconnected reason: ErrorCode)
}

extension ACLConnectionDelegate {
    var rewriter: PacketRewriter? { nil }
}
