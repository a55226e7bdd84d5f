import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// The commands that a controller allows. Core Vol 4, Part E, 4.4.
struct CommandCredits {
    /// The event that allows no more commands.
    private var withheld: Moment?

    /// A controller allows the next command within a second.
    private static let limit: Int64 = 10_000_000

    mutating func received(_ event: HCIPacket, at now: Moment) {
        guard event.eventCode == HCIEvents.CommandComplete.code || event.eventCode == HCIEvents.CommandStatus.code,
            let answer = (try? CommandAnswer(event: event)) ?? nil
        else { return }
        withheld = answer.credits == 0 ? now : nil
    }

    /// A host that goes on in spite of it shows that the controller meant something else.
    mutating func sent() { withheld = nil }

    /// The time without any command is over. It is returned once.
    mutating func overdue(at now: Moment) -> Observation? {
        guard let since = withheld, now.time - since.time > Self.limit else { return nil }
        withheld = nil
        return Observation(.commandsWithheld, [("Waited", .milliseconds(now.time - since.time))], packet: since.packet)
    }
}
