import Packets

/// What a link reports to its controller, which turns it into HCI. Every call is on the loop, and may start another procedure at once.
protocol ConnectionDelegate: AnyObject {
    /// The first packet of the other side arrived.
    func connectionEstablished(_ connection: Connection)
    /// The link is gone; nothing more comes from it. Reasons: 0x08, 0x13..., 0x16, 0x22, 0x28, 0x3D, 0x3E.
    func connection(_ connection: Connection, disconnected reason: ErrorCode)
    /// An LL data PDU arrived. - Parameter isStart: whether it begins an L2CAP PDU (LLID 2) or continues one (LLID 1).
    func connection(_ connection: Connection, received data: ArraySlice<UInt8>, isStart: Bool)
    /// `count` HCI ACL packets were acknowledged to their last octet.
    func connection(_ connection: Connection, completed count: Int)
    /// LE Connection Update Complete. Also reported, with success, when the other side changed the parameters.
    func connectionUpdated(_ connection: Connection, status: ErrorCode)
    /// LE Remote Connection Parameter Request; answered by `Connection.replyToParameterRequest`.
    func connection(_ connection: Connection, requested parameters: RequestedParameters)
    /// LE PHY Update Complete.
    func connectionPHYUpdated(_ connection: Connection, status: ErrorCode)
    /// LE Data Length Change: at least one of the four effective values differs from before.
    func connectionDataLengthChanged(_ connection: Connection)
    /// LE Read Remote Features Complete.
    func connection(_ connection: Connection, remoteFeatures: LEFeatures, status: ErrorCode)
    /// Read Remote Version Information Complete.
    func connection(_ connection: Connection, remoteVersion: RemoteVersion, status: ErrorCode)
    /// Encryption Change, or Encryption Key Refresh Complete where the link was encrypted before.
    func connectionEncrypted(_ connection: Connection, status: ErrorCode, isRefresh: Bool)
    /// LE Long Term Key Request; answered by `Connection.replyToKeyRequest`.
    func connection(_ connection: Connection, requestedKey random: UInt64, diversifier: UInt16)
    /// Authenticated Payload Timeout Expired.
    func connectionAuthenticatedPayloadExpired(_ connection: Connection)
}

extension ConnectionDelegate {
    func connection(_ connection: Connection, reports report: LinkReport) {
        switch report {
        case .updated(let status): connectionUpdated(connection, status: status)
        case .requested(let parameters): self.connection(connection, requested: parameters)
        case .phy(let status): connectionPHYUpdated(connection, status: status)
        case .dataLength: connectionDataLengthChanged(connection)
        case .features(let features, let status): self.connection(connection, remoteFeatures: features, status: status)
        case .version(let version, let status): self.connection(connection, remoteVersion: version, status: status)
        case .encrypted(let status): connectionEncrypted(connection, status: status, isRefresh: false)
        case .keyRefreshed(let status): connectionEncrypted(connection, status: status, isRefresh: true)
        case .keyRequested(let random, let diversifier): self.connection(connection, requestedKey: random, diversifier: diversifier)
        }
    }
}

/// What LL_CONNECTION_PARAM_REQ asks for. Core Vol 6, Part B, 2.4.2.16.
struct RequestedParameters: Hashable {
    /// In units of 1.25 ms.
    var intervalMin: UInt16
    var intervalMax: UInt16
    var latency: UInt16
    /// In units of 10 ms.
    var timeout: UInt16
}

/// The contents of LL_VERSION_IND.
struct RemoteVersion: Hashable {
    var version: UInt8
    var companyIdentifier: UInt16
    var subversion: UInt16
}
