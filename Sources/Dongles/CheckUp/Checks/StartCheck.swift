import BBHCI
import BBPackets
import BBTiming
import BBTransport

extension CheckUp {
    /// Records unsolicited packets, checks for an answer before HCI_Reset, and measures the time.
    func checkStart() async throws {
        let stale = try await link.first(within: .milliseconds(50)) { packet -> Bool? in
            guard packet.kind == .event else { return packet.kind == .acl ? true : nil }
            guard let answer = try? CommandAnswer(event: packet) else {
                return packet.eventCode == HCIEvents.VendorSpecific.code ? nil : true
            }
            return answer.opcode == CommandQueue.noCommand ? nil : true
        }
        if stale != nil { link.note("stale-data", "old packets came before the first command") }
        let early = try await link.ask(HCICommands.ReadLocalVersionInformation(), within: .milliseconds(1_000))
        var reset = try await link.ask(HCICommands.Reset())
        if !reset.isSuccess {
            reset = try await link.ask(HCICommands.Reset())
            if reset.isSuccess, early.answer != nil {
                link.note("first-reset-unanswered", "the first HCI_Reset stays unanswered, the second does not")
            }
        }
        guard reset.isSuccess else {
            link.note("port-reset-needed", "HCI_Reset is not answered")
            throw CheckUpLink.Dead()
        }
        if let status = early.status, status != .success {
            link.note("reset-first", "before HCI_Reset its version is refused with \(status)")
        }
        figure("HCI_Reset", Self.milliseconds(reset.took))
        if reset.took > .milliseconds(500) { link.note("reset-slow", .note, "HCI_Reset takes \(Self.milliseconds(reset.took))") }
    }
}
