import Packets

/// Decides whether a dongle that has left the bus is awaited at its port: some leave when they are reset or have got their firmware, and come back.
struct ReconnectState {
    /// Why it may have left.
    enum Cause: Equatable {
        case controllerReset
        case portReset
        case firmware

        var text: String {
            switch self {
            case .controllerReset: "HCI_Reset"
            case .portReset: "the reset of its port"
            case .firmware: "its firmware was loaded"
            }
        }
    }

    /// How often it may leave.
    static let most = 3
    /// Between two looks at its port.
    static let pause = Microseconds.milliseconds(50)

    private(set) var returns = 0
    private(set) var cause: Cause?
    private var since = Microseconds.zero
    private var deadline = Microseconds.zero

    var isAway: Bool { cause != nil }

    /// It has left; false when that was once too often.
    mutating func left(_ cause: Cause, at time: Microseconds, within limit: Microseconds) -> Bool {
        guard returns < Self.most else { return false }
        returns += 1
        self.cause = cause
        since = time
        deadline = time + limit
        return true
    }

    func isOver(at time: Microseconds) -> Bool { time >= deadline }

    /// It is back; how long it was away.
    mutating func ended(at time: Microseconds) -> Microseconds {
        cause = nil
        return time - since
    }
}
