import BBHCI
import BBPackets
import BBTiming

extension Host {
    /// Time limits for disconnecting, and for the answer to the reset.
    private static var linksLimit: Microseconds { .milliseconds(600) }
    private static var resetLimit: Microseconds { .milliseconds(350) }

    /// Closes the host without leaving activity on the air: disconnects all links and resets the controller, which stops advertising,
    /// scanning, inquiry and initiating. Core Vol 4, Part E, 7.3.2.
    ///
    /// Takes at most one second, whatever the controller does, and continues if the caller is cancelled.
    public func leave() async {
        guard failure == nil else { return close() }
        await loop.cleanUp(within: Self.linksLimit) { [self] in try await endLinks() }
        await loop.cleanUp(within: Self.resetLimit) { [self] in try await send(HCICommands.Reset()) }
        if commands.isHeldBack(HCICommands.Reset.opcode) { await resetAllTheSame() }
        close()
    }

    /// Sends HCI_Reset even if the controller accepts no more commands.
    private func resetAllTheSame() async {
        path.send(HCIPacket(command: HCICommands.Reset()))
        await loop.cleanUp(within: .milliseconds(50)) { [loop] in try await loop.sleep(for: .milliseconds(20)) }
    }

    private func endLinks() async throws {
        let links = path.links.map(\.acl)
        for link in links {
            commands.post(HCICommands.Disconnect(connectionHandle: link.handle, reason: .remoteUserTerminatedConnection))
        }
        for link in links { _ = try await link.ended() }
    }
}
