import HCI

/// Notices a bulk IN pipe that brings nothing although connections are made and data goes out.
struct DataPipeWatch {
    /// So much goes out before silence says something.
    private static let suspicious = 4
    private var out = 0
    private var isAlive = false

    mutating func sent() { out += 1 }
    mutating func received() { isAlive = true }

    /// Takes what an event says; at the end of a connection, what is wrong with the pipe.
    mutating func changed(_ change: ConnectionChange) -> String? {
        guard case .closed = change, !isAlive, out >= Self.suspicious else { return nil }
        out = 0
        return "no data ever came on its bulk IN pipe, while data went out: some clones bring none until the system has suspended them once"
    }
}
