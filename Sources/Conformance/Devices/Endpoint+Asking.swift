import BBPackets
import BBTiming
import BBTransport

extension Endpoint {
    /// The controller's answer to a command.
    struct Reply: Sendable {
        /// The event with the answer.
        var event: HCIPacket
        /// True for Command Status, false for Command Complete.
        var isStatus: Bool
        /// The return parameters, or the status octet.
        var parameters: [UInt8]
        /// The packet numbers of command and answer in the capture.
        var commandNumber: Int
        var number: Int
        var sentAt: Microseconds
        var answeredAt: Microseconds
        /// The position in the log after the answer.
        var index: Int
    }

    /// Sends a valid declared command and returns its answer.
    ///
    /// - Throws: `StepFailure` of the environment if it is not answered in time.
    func ask<Command: HCICommand>(_ command: Command, within limit: Microseconds = .seconds(3)) async throws -> Reply {
        let reply = try await self.command(opcode: Command.opcode, parameters: command.parameters, until: loop.now + limit)
        guard let reply else {
            throw StepFailure(.environment, "the \(side.rawValue) (\(name)) does not answer \(Command.name)")
        }
        return reply
    }

    /// Sends a valid declared command that must succeed, and returns its return parameters.
    ///
    /// - Throws: `StepFailure` of the environment if it fails, or is answered wrongly or not at all.
    @discardableResult
    func demand<Command: HCICommand>(_ command: Command) async throws -> Command.Return {
        let reply = try await ask(command)
        let status = ErrorCode(rawValue: reply.parameters.first ?? 0)
        guard status == .success else {
            // A command that the subject claims is not unknown.
            if status == .unknownHCICommand, side == .subject { _ = try? await ask(HCICommands.ReadLocalSupportedCommands()) }
            throw StepFailure(.environment, "the \(side.rawValue) (\(name)) refuses \(Command.name) with status \(status.rawValue)")
        }
        do {
            return try Command.Return(prefixOf: reply.parameters)
        } catch {
            throw StepFailure(.environment, "the \(side.rawValue) (\(name)) answers \(Command.name) wrongly: \(error)")
        }
    }

    /// Disconnects the remaining LE connections and waits up to two seconds for their end, even if the caller is cancelled.
    func leaveConnections() async {
        let handles = tracker.connections.values.filter { $0.kind == .le }.map(\.handle)
        guard isStarted, failure == nil, !handles.isEmpty else { return }
        await loop.cleanUp(within: .seconds(2)) { [self] in
            for handle in handles {
                _ = try await ask(HCICommands.Disconnect(connectionHandle: handle, reason: .remoteUserTerminatedConnection))
            }
            while failure == nil, handles.contains(where: { tracker[$0] != nil }) { try await loop.sleep(for: .milliseconds(5)) }
        }
    }
}
