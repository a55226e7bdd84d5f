import BBPackets

/// Decides if a dongle that has left the bus is expected back at its port. Some re-enumerate after a reset or after firmware loading.
struct ReconnectState {
    /// Possible cause of the re-enumeration.
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

    /// Maximum number of re-enumerations.
    static let most = 3
    /// Interval between checks of the port.
    static let pause = Microseconds.milliseconds(50)

    private(set) var returns = 0
    private(set) var cause: Cause?
    /// The longest time off the bus.
    private(set) var longest = Microseconds.zero
    private var since = Microseconds.zero
    private var deadline = Microseconds.zero

    var isAway: Bool { cause != nil }

    /// Records that the dongle has left; false if it has left too often.
    mutating func left(_ cause: Cause, at time: Microseconds, within limit: Microseconds) -> Bool {
        guard returns < Self.most else { return false }
        returns += 1
        self.cause = cause
        since = time
        deadline = time + limit
        return true
    }

    func isOver(at time: Microseconds) -> Bool { time >= deadline }

    /// Records that the dongle is back.
    mutating func ended(at time: Microseconds) {
        cause = nil
        longest = max(longest, time - since)
    }
}
