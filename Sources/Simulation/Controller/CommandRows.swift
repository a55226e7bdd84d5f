import BBPackets

/// Commands that a part of the controller executes.
///
/// The answer to a command follows from its declaration, as do its length, its ranges, the connection it is about, its bit in
/// Supported_Commands, the features it needs and the version that introduced it. A row has a closure because a method reference would
/// create one for each command executed.
struct CommandRows<Part: CommandExecutor> {
    private(set) var list: [CommandRow] = []

    /// A command that ends with Command Complete. On failure, its return parameters are zero except for status and connection handle.
    ///
    /// - Parameters:
    ///   - features: LE features of which the controller must support at least one, besides the declared ones.
    ///   - checksConnection: false if the handle of the command may be ignored.
    @inline(__always) mutating func complete<Command: HCICommand>(
        _ type: Command.Type, needs features: LEFeatures = [], checksConnection: Bool = true,
        _ execute: @escaping @Sendable (Part, Command) throws -> Command.Return
    ) {
        // Counts of zero make all lists empty.
        let template = (try? Command.Return(prefixOf: [UInt8](repeating: 0, count: 255)).parameters) ?? []
        let echo = checksConnection && Command.isAboutConnection ? 2 : 0
        let refuse: CommandRow.Refuse = { controller, status, packet in
            let returns = Self.failure(status, template, echoing: packet.parameters.prefix(echo))
            return HCIPacket(completeOpcode: Command.opcode, returns: returns, credits: controller.commandCredits)
        }
        add(
            Command.self, needs: features,
            run: { controller, packet in
                do {
                    let command: Command = try Self.parse(packet, controller, checksConnection: checksConnection)
                    return controller.completion(of: Command.self, try execute(Part.part(of: controller), command))
                } catch {
                    return refuse(controller, Self.status(of: error), packet)
                }
            }, refuse: refuse)
    }

    /// A command that ends with Command Complete with only a status.
    ///
    /// - Parameter isSilent: sends a response only if the command fails.
    @inline(__always) mutating func perform<Command: HCICommand>(
        _ type: Command.Type, isSilent: Bool = false,
        _ execute: @escaping @Sendable (Part, Command) throws -> Void
    ) where Command.Return == StatusReturn {
        add(
            Command.self,
            run: { controller, packet in
                do {
                    try execute(Part.part(of: controller), try Self.parse(packet, controller))
                    return isSilent ? nil : controller.completion(of: Command.self, StatusReturn())
                } catch {
                    return controller.completion(of: Command.self, StatusReturn(status: Self.status(of: error)))
                }
            }, refuse: { controller, status, _ in controller.completion(of: Command.self, StatusReturn(status: status)) })
    }

    /// A command that is answered with Command Status and completes later.
    @inline(__always) mutating func start<Command: HCICommand>(
        _ type: Command.Type,
        _ execute: @escaping @Sendable (Part, Command) throws -> Void
    ) where Command.Return == NoReturn {
        add(
            Command.self,
            run: { controller, packet in
                do {
                    try execute(Part.part(of: controller), try Self.parse(packet, controller))
                    return controller.status(of: Command.self, .success)
                } catch {
                    return controller.status(of: Command.self, Self.status(of: error))
                }
            }, refuse: { controller, status, _ in controller.status(of: Command.self, status) })
    }

    private mutating func add<Command: HCICommand>(
        _ type: Command.Type, needs features: LEFeatures = [], run: @escaping CommandRow.Run, refuse: @escaping CommandRow.Refuse
    ) {
        list.append(
            CommandRow(
                opcode: Command.opcode, name: Command.name, supportedCommandsBit: Command.supportedCommandsBit,
                neededFeatures: Command.neededFeatures.union(features), firstVersion: Command.firstVersion, run: run, refuse: refuse))
    }

    /// Parses the parameters. They must have the exact length, and each value must be valid by itself. Core Vol 4, Part E, 4.5.2 and Vol 1,
    /// Part F, 2.18.
    private static func parse<Command: HCICommand>(
        _ packet: HCIPacket, _ controller: Controller, checksConnection: Bool = true
    ) throws(CommandRefusal) -> Command {
        guard let command = try? packet.command(as: Command.self) else { throw .invalidParameters }
        if checksConnection, let handle = command.connection { try controller.checkConnection(handle) }
        do throws(IllegalValue) { try command.validate() } catch { throw .invalidParameters }
        return command
    }

    /// The status of a `CommandRefusal`. The closures of the table do not declare the error type, because each would have to repeat it.
    private static func status(of error: any Error) -> ErrorCode { (error as? CommandRefusal)?.status ?? .unspecifiedError }

    private static func failure(_ status: ErrorCode, _ template: [UInt8], echoing head: ArraySlice<UInt8>) -> [UInt8] {
        var returns = template
        if !returns.isEmpty { returns[0] = status.rawValue }
        for (index, octet) in head.enumerated() where index + 1 < returns.count { returns[index + 1] = octet }
        return returns
    }
}

extension Controller {
    fileprivate func completion<Command: HCICommand>(of command: Command.Type, _ returns: Command.Return) -> HCIPacket {
        HCIPacket(completeOpcode: Command.opcode, returns, credits: commandCredits, in: &buffers)
    }

    fileprivate func status<Command: HCICommand>(of command: Command.Type, _ status: ErrorCode) -> HCIPacket {
        HCIPacket(statusOpcode: Command.opcode, status, credits: commandCredits)
    }
}
