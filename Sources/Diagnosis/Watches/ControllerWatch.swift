import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// A controller and its host apart from their links: what it holds, in which state it refuses what, its streams, and the buffers of both.
struct ControllerWatch {
    private var capacities = Capacities()
    private var states = StateWatch()
    private var credits = CommandCredits()
    var streams = StreamPaths()
    var buffers = HostBuffers()
    var lengths = BufferLengths()

    mutating func sent(_ command: HCIPacket, at now: Moment) {
        capacities.sent(command, at: now)
        states.sent(command, at: now)
        credits.sent()
        streams.sent(command, at: now)
        buffers.sent(command)
    }

    /// - Parameter dial: the command by which the controller tries to connect.
    /// - Returns: what the event shows, and the end of a stream with the handle of its connection.
    mutating func received(
        _ event: HCIPacket, dial: Moment?, at now: Moment
    ) -> (observations: [Observation], stream: (Observation, owner: UInt16?)?) {
        var found: [Observation?] = []
        switch event.eventCode {
        case HCIEvents.CommandComplete.code, HCIEvents.CommandStatus.code:
            credits.received(event, at: now)
            lengths.received(event)
            found = [capacities.received(event), states.received(event, dial: dial), Self.keySize(event)]
        case HCIEvents.DisconnectionComplete.code:
            found = [buffers.overdue(at: now)]
            if let handle = event.connectionHandle { buffers.ended(handle.rawValue) }
        case nil: return ([], nil)
        default: if event.leSubevent != nil { found = [states.received(event, dial: dial)] }
        }
        let stream = streams.received(event)
        return (found.compactMap(\.self), stream)
    }

    /// The size of an encryption key, which stands behind status and handle. Core Vol 4, Part E, 7.5.7.
    private static func keySize(_ event: HCIPacket) -> Observation? {
        guard event.completedOpcode == HCICommands.ReadEncryptionKeySize.opcode, let answer = (try? CommandAnswer(event: event)) ?? nil,
            answer.status == .success, answer.returns.count >= 4
        else { return nil }
        return Observation(.keyShort, [("Octets", .number(Int(answer.returns[3])))])
    }

    mutating func overdue(at now: Moment) -> [Observation] { [credits.overdue(at: now), buffers.overdue(at: now)].compactMap(\.self) }
}
