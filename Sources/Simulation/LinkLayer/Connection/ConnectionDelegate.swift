import Packets

/// Events of a link, which the controller turns into HCI. All calls are on the loop; a procedure may be started from within a call.
protocol ConnectionDelegate: AnyObject {
    /// The first packet of the peer was received.
    func connectionEstablished(_ connection: Connection)
    /// The link has ended; no further calls follow. Reasons: 0x08, 0x13..., 0x16, 0x22, 0x28, 0x3D, 0x3E.
    func connection(_ connection: Connection, disconnected reason: ErrorCode)
    /// An LL data PDU arrived.
    ///
    /// - Parameter isStart: true if it starts an L2CAP PDU (LLID 2), false if it continues one (LLID 1).
    func connection(_ connection: Connection, received data: ArraySlice<UInt8>, isStart: Bool)
    /// `count` HCI ACL packets were acknowledged completely.
    func connection(_ connection: Connection, completed count: Int)
    /// LE_Connection_Update_Complete. Also reported, with success, if the peer changed the parameters.
    func connectionUpdated(_ connection: Connection, status: ErrorCode)
    /// LE_Remote_Connection_Parameter_Request; answer with `Connection.replyToParameterRequest`.
    func connection(_ connection: Connection, requested parameters: RequestedParameters)
    /// LE_PHY_Update_Complete.
    func connectionPHYUpdated(_ connection: Connection, status: ErrorCode)
    /// LE_Data_Length_Change: at least one of the four effective values has changed.
    func connectionDataLengthChanged(_ connection: Connection)
    /// LE_Read_Remote_Features_Complete.
    func connection(_ connection: Connection, remoteFeatures: LEFeatures, status: ErrorCode)
    /// Read_Remote_Version_Information_Complete.
    func connection(_ connection: Connection, remoteVersion: RemoteVersion, status: ErrorCode)
    /// Encryption_Change, or Encryption_Key_Refresh_Complete if the link was already encrypted.
    func connectionEncrypted(_ connection: Connection, status: ErrorCode, isRefresh: Bool)
    /// LE_Long_Term_Key_Request; answer with `Connection.replyToKeyRequest`.
    func connection(_ connection: Connection, requestedKey random: UInt64, diversifier: UInt16)
    /// Authenticated_Payload_Timeout_Expired.
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

/// Parameters of LL_CONNECTION_PARAM_REQ. Core Vol 6, Part B, 2.4.2.16.
struct RequestedParameters: Hashable {
    /// N x 1.25 ms.
    var intervalMin: UInt16
    var intervalMax: UInt16
    var latency: UInt16
    /// N x 10 ms.
    var timeout: UInt16
}

/// Parameters of LL_VERSION_IND.
struct RemoteVersion: Hashable {
    var version: UInt8
    var companyIdentifier: UInt16
    var subversion: UInt16
}
