import HCI
import Packets
import Timing

extension Host {
    /// Limits for the links to end, and then for the answer to the reset.
    private static var linksLimit: Microseconds { .milliseconds(600) }
    private static var resetLimit: Microseconds { .milliseconds(350) }

    /// Closes the host and leaves nothing on the air: ends the links, so that peers learn of it, and resets the controller, which ends what it
    /// still does: advertising, scanning, inquiring, connecting. Core Vol 4, Part E, 7.3.2.
    ///
    /// It takes a second at most, whatever the controller does, and goes on for a caller that is cancelled.
    public func leave() async {
        guard failure == nil else { return close() }
        await loop.cleanUp(within: Self.linksLimit) { [self] in try await endLinks() }
        await loop.cleanUp(within: Self.resetLimit) { [self] in try await send(HCICommands.Reset()) }
        if answers.values.contains(where: { $0.opcode == HCICommands.Reset.opcode && $0.sentAt == nil }) { await resetAllTheSame() }
        close()
    }

    /// A controller that takes no command any more may still take this one.
    private func resetAllTheSame() async {
        sendUnqueued(HCIPacket(command: HCICommands.Reset()))
        await loop.cleanUp(within: .milliseconds(50)) { [loop] in try await loop.sleep(for: .milliseconds(20)) }
    }

    private func endLinks() async throws {
        let (links, classicLinks) = (connections, classicConnections)
        for handle in links.map(\.handle) + classicLinks.map(\.handle) {
            post(HCICommands.Disconnect(connectionHandle: handle, reason: .remoteUserTerminatedConnection))
        }
        for link in links { _ = try await link.ended() }
        for link in classicLinks { _ = try await link.ended() }
    }
}
