import Packets

/// A connection as the host knows it, with the account of its packets.
final class LinkEnd {
    let connection: Connection
    let handle: ConnectionHandle
    let peer: DeviceAddress
    /// ACL packets of the host that have not been acknowledged.
    var inUse = 0
    /// Acknowledged, but not yet reported.
    var completed = 0
    /// The parameters the host was last told.
    var reported: ReportedParameters

    struct ReportedParameters: Equatable {
        var interval: Microseconds
        var latency: Int
        var timeout: Microseconds
    }

    init(_ connection: Connection, peer: DeviceAddress) {
        self.connection = connection
        handle = connection.handle
        self.peer = peer
        reported = ReportedParameters(
            interval: connection.interval, latency: connection.peripheralLatency, timeout: connection.supervisionTimeout)
    }
}
