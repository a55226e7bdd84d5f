import BBPackets

/// An LE or BR/EDR connection as seen by the host, with packet counters.
protocol HostLink: HandleHolder {
    var isBREDR: Bool { get }
    /// Number of unacknowledged ACL packets from the host.
    var inUse: Int { get set }
    /// Number of acknowledged packets not yet reported.
    var completed: Int { get set }

    /// Queues the data of one HCI ACL packet.
    func send(_ data: ArraySlice<UInt8>, isStart: Bool)
    func disconnect(_ reason: ErrorCode) -> ErrorCode
    func readRemoteVersion() -> ErrorCode
}

/// An LE connection.
final class LinkEnd: HostLink {
    let connection: Connection
    let handle: ConnectionHandle
    let peer: DeviceAddress
    let isBREDR = false
    var inUse = 0
    var completed = 0
    /// Connection parameters last reported to the host.
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

    func send(_ data: ArraySlice<UInt8>, isStart: Bool) { connection.send(data, isStart: isStart) }
    func disconnect(_ reason: ErrorCode) -> ErrorCode { connection.terminate(reason) }
    func readRemoteVersion() -> ErrorCode { connection.readRemoteVersion() }
}
