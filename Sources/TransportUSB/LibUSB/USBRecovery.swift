/// Failed transfers and halted endpoints.
struct USBRecovery {
    /// Maximum number of consecutive clears of a halted endpoint.
    static let mostClearings = 3
    /// Maximum number of consecutive errors of a pipe.
    static let mostErrors = 16

    /// Pipes whose endpoint must be cleared first.
    var halted: Set<USBTransfer.Role> = []
    /// Number of times that a halted endpoint was cleared.
    var cleared = 0
    /// Number of commands sent again after a stall.
    var resentCommands = 0
    private(set) var hasTakenCommand = false
    private var failures: [USBTransfer.Role: Int] = [:]

    /// - Returns: number of failures since the last success.
    mutating func failed(_ role: USBTransfer.Role) -> Int {
        failures[role, default: 0] += 1
        return failures[role, default: 0]
    }

    mutating func succeeded(_ role: USBTransfer.Role) {
        failures[role] = 0
        if role == .command { hasTakenCommand = true }
    }

    mutating func giveUp(on role: USBTransfer.Role) { failures[role] = 0 }

    /// Nothing has failed since the port was reset.
    mutating func restart() { (halted, failures) = ([], [:]) }
}
