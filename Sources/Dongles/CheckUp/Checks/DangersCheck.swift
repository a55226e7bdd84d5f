import BBHCI
import BBPackets
import BBTiming

extension CheckUp {
    /// Sends commands that lock up some dongles; afterwards only checks if the dongle still responds.
    func checkDangers() async throws {
        if claims(HCICommands.SetEventFilter.self) {
            let reply = try await link.ask(HCICommands.SetEventFilter(filterType: 0))
            if reply.answer == nil, try await link.ask(HCICommands.Reset()).answer == nil {
                link.note("event-filter-locks", "it answers nothing once the event filters have been cleared")
                throw CheckUpLink.Dead()
            }
        }
        guard identity.hasBREDR else { return }
        try await checkErroneousDataReporting()
    }

    /// Some dongles reject the command and lock up some commands later, even if they report it as supported.
    private func checkErroneousDataReporting() async throws {
        let reply = try await link.ask(HCICommands.ReadDefaultErroneousDataReporting())
        let isClaimed = claims(HCICommands.ReadDefaultErroneousDataReporting.self)
        var isAlive = true
        for _ in 0..<20 where isAlive { isAlive = try await link.ask(HCICommands.ReadBDADDR()).answer != nil }
        guard !isAlive || isClaimed && (reply.isRefused || reply.answer == nil) else { return }
        let name = HCICommands.ReadDefaultErroneousDataReporting.name
        link.note(
            "no-erroneous-data-reporting",
            isAlive ? "\(name) is claimed and answered by \(Self.text(reply))" : "it falls silent some commands after \(name)")
        if !isAlive { throw CheckUpLink.Dead() }
    }
}
