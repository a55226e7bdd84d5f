import BBTraffic

/// Detects a bulk IN pipe that delivers nothing although there are connections and data is sent.
struct DataPipeWatch {
    /// Number of sent packets after which silence is suspicious.
    private static let suspicious = 4
    private var out = 0
    private var isAlive = false

    mutating func sent() { out += 1 }
    mutating func received() { isAlive = true }

    /// Handles a connection change; at the end of a connection, returns the problem of the pipe, if any.
    mutating func changed(_ change: ConnectionChange) -> String? {
        guard case .closed = change, !isAlive, out >= Self.suspicious else { return nil }
        out = 0
        return "no data ever came on its bulk IN pipe, while data went out: some clones bring none until the system has suspended them once"
    }
}
