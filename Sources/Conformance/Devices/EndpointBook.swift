import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// The conclusions from the packets on one controller's HCI: its connections, what it has outstanding, violations of the rules that apply to
/// every case, and reasons to doubt it. Each packet is given to it once.
struct EndpointBook {
    let side: Side
    /// The controller's connections, as reported by events.
    private(set) var tracker = ConnectionTracker()
    private(set) var intervals = LatestIntervals()
    /// The reasons why this side is not reliable enough to judge the other.
    private(set) var reliability = TesterReliability()
    /// The controller's first violation of the rules that apply to every case.
    var violation: ConductViolation? { rules.violation.map { ConductViolation($0, of: side) } }
    /// The controller's first violation by which data is lost.
    var lossOfData: ConductViolation? { rules.lossOfData.map { ConductViolation($0, of: side) } }
    private var rules = HCIRules()
    private var outstanding = OutstandingPackets()
    private var classicHandle: ConnectionHandle?

    init(of side: Side) { self.side = side }

    /// The change that an event makes.
    struct Change {
        var connection: ConnectionChange
        /// True if the link over BR/EDR has ended, or could not be made.
        var endsClassic = false
    }

    // MARK: Sent

    mutating func sent(command packet: HCIPacket) {
        _ = tracker.sent(packet)
        intervals.sent(packet)
        rules.sent(packet)
    }

    mutating func sent(data packet: HCIPacket) {
        outstanding.sent(packet)
        if packet.kind != .acl || packet.dataHandle.flatMap({ tracker[$0] }) == nil { rules.sentUncounted(packet.kind) }
    }

    // MARK: Received

    /// - Parameter command: the outstanding command that the event answers; nil if there is none.
    mutating func received(_ event: ReceivedEvent, answering command: HCIPacket?) -> Change? {
        rules.received(lengthOf: event.packet, event.number)
        let change = event.isCredits ? completed(event) : changed(by: event)
        if let answer = event.answer { reliability.answered(answer, number: event.number, at: side) }
        if event.packet.eventCode == HCIEvents.HardwareError.code { reliability.crashed(event.number, at: side) }
        if let answer = event.answer { rules.answered(answer, to: command, event.packet, event.number) }
        return change
    }

    private mutating func completed(_ event: ReceivedEvent) -> Change? {
        _ = HCIEvents.NumberOfCompletedPackets.forEach(in: event.packet) { handle, count in
            if let excess = outstanding.completed(handle, count) { rules.completed(excess, event.packet, event.number) }
        }
        return nil
    }

    private mutating func changed(by event: ReceivedEvent) -> Change? {
        rules.received(event.packet, event.number) { [tracker] in tracker[$0] != nil }
        guard let connection = try? tracker.received(event.packet) else { return nil }
        intervals.changed(connection)
        var change = Change(connection: connection)
        switch connection {
        case .opened(let connection):
            outstanding.opened(connection.handle)
            if connection.kind == .classic { classicHandle = connection.handle }
        case .closed(let handle, _): change.endsClassic = handle == classicHandle
        case .failed(let kind, _): change.endsClassic = kind == .classic && classicHandle == nil
        case .reset:
            change.endsClassic = true
            outstanding.reset()
            rules.reset()
        case .parametersChanged, .physChanged, .dataLengthChanged, .encryptionRequested, .encryptionChanged, .keyRefreshed: break
        }
        if change.endsClassic { classicHandle = nil }
        return change
    }

    /// - Returns: the connection of a data packet; nil if there is none.
    mutating func received(data packet: HCIPacket, _ number: Int) -> ConnectionState? {
        guard let connection = packet.dataHandle.flatMap({ tracker[$0] }) else { return nil }
        if connection.kind == .le { rules.received(data: packet, number) }
        return connection
    }

    // MARK: Missing answers

    /// Judges a command whose answer is missing.
    mutating func lapsed(_ lapse: EndpointCommands.Lapse) {
        switch lapse {
        case .unanswered(let command, let number, let isOverdue):
            rules.abandoned(command, number, isOverdue: isOverdue)
        case .withheld(let command): rules.withheld(command)
        }
    }

    /// Judges a command that is given up, which is also a reason to doubt the controller.
    mutating func gaveUp(_ lapse: EndpointCommands.Lapse) {
        if case .unanswered(let command, let number, true) = lapse {
            reliability.leftUnanswered(command.commandOpcode ?? CommandQueue.noCommand, number: number, at: side)
        }
        lapsed(lapse)
    }
}

extension ReceivedEvent {
    var isCredits: Bool { packet.eventCode == HCIEvents.NumberOfCompletedPackets.code }
}
