/// USB resources of this process; nothing may be left after every device is closed.
public struct USBTally: Sendable, Equatable, Codable {
    /// Totals since the start of the process.
    public var handlesOpened: Int
    public var transfersSubmitted: Int
    /// Current numbers.
    public var handlesOpen: Int
    public var transfersAllocated: Int
    public var transfersInFlight: Int

    public init(handlesOpened: Int, transfersSubmitted: Int, handlesOpen: Int, transfersAllocated: Int, transfersInFlight: Int) {
        self.handlesOpened = handlesOpened
        self.transfersSubmitted = transfersSubmitted
        self.handlesOpen = handlesOpen
        self.transfersAllocated = transfersAllocated
        self.transfersInFlight = transfersInFlight
    }

    /// True if no resource is in use.
    public var isClean: Bool { handlesOpen == 0 && transfersAllocated == 0 && transfersInFlight == 0 }

    private enum CodingKeys: String, CodingKey {
        case handlesOpened = "handles_opened"
        case transfersSubmitted = "transfers_submitted"
        case handlesOpen = "handles_open"
        case transfersAllocated = "transfers_allocated"
        case transfersInFlight = "transfers_in_flight"
    }
}
