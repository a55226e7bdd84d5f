import BBPackets

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
    func connection(_ connection: Connection, reports report: LinkReport)
    /// Authenticated_Payload_Timeout_Expired.
    func connectionAuthenticatedPayloadExpired(_ connection: Connection)
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
