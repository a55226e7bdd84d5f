import Packets

/// The status with which a command is rejected.
struct CommandFailure: Error, Equatable {
    var status: ErrorCode

    static let unknownConnection = CommandFailure(status: .unknownConnectionIdentifier)
    static let unknownAdvertisingSet = CommandFailure(status: .unknownAdvertisingIdentifier)
    static let invalidParameters = CommandFailure(status: .invalidHCICommandParameters)
    static let unsupportedValue = CommandFailure(status: .unsupportedFeatureOrParameterValue)
    static let disallowed = CommandFailure(status: .commandDisallowed)
    static let memoryExceeded = CommandFailure(status: .memoryCapacityExceeded)
    static let connectionLimitExceeded = CommandFailure(status: .connectionLimitExceeded)
    static let packetTooLong = CommandFailure(status: .packetTooLong)
}

/// A part of the controller that executes commands.
protocol CommandExecutor: AnyObject, SendableMetatype {
    static func part(of controller: Controller) -> Self
}

/// One supported command: its bit in Supported_Commands and its implementation.
final class CommandRow: Sendable {
    /// Executes the command and returns its response: Command Complete, Command Status, or nil if the specification defines no response to
    /// a successful command. Core Vol 4, Part E, 4.4.
    typealias Run = @Sendable (_ controller: Controller, _ command: HCIPacket) -> HCIPacket?
    typealias Refuse = @Sendable (_ controller: Controller, _ status: ErrorCode, _ command: HCIPacket) -> HCIPacket

    let opcode: UInt16
    let name: String
    /// Nil for a vendor command, and for commands that every controller supports.
    let supportedCommandsBit: SupportedCommandsBit?
    /// LE features of which the controller must support at least one.
    let neededFeatures: LEFeatures
    let firstVersion: UInt8
    let run: Run
    /// Response to a command that is rejected without being parsed.
    let refuse: Refuse

    init(
        opcode: UInt16, name: String, supportedCommandsBit: SupportedCommandsBit?, neededFeatures: LEFeatures = [], firstVersion: UInt8 = 0,
        run: @escaping Run, refuse: @escaping Refuse
    ) {
        self.opcode = opcode
        self.name = name
        self.supportedCommandsBit = supportedCommandsBit
        self.neededFeatures = neededFeatures
        self.firstVersion = firstVersion
        self.run = run
        self.refuse = refuse
    }
}

/// All commands that the virtual controller supports. Others are unknown commands.
struct CommandTable: Sendable {
    private(set) var rows: [UInt16: CommandRow] = [:]

    /// Commands of an LE-only controller.
    static let le: CommandTable = {
        var table = CommandTable()
        table.addShared()
        table.addLE()
        return table
    }()

    /// Commands of a controller with LE and BR/EDR.
    static let dual: CommandTable = {
        var table = le
        table.addBREDR()
        return table
    }()

    static func of(_ profile: ControllerConfiguration.Profile) -> CommandTable {
        switch profile {
        case .le: le
        case .dual: dual
        }
    }

    /// Commands of a controller, depending on its version, features and configuration. Core Vol 4, Part E, 3.1.
    static func of(_ configuration: ControllerConfiguration) -> CommandTable {
        var table = of(configuration.profile)
        table.rows = table.rows.filter { opcode, row in
            let lost = row.neededFeatures.intersection(.simulated)
            return (lost.isEmpty || !lost.isDisjoint(with: configuration.features))
                && row.firstVersion <= configuration.version
                && !configuration.choices.withoutCommands.contains(opcode)
        }
        return table
    }

    /// The 64 octets of Read_Local_Supported_Commands.
    var supportedCommands: [UInt8] {
        var mask = SupportedCommands()
        for row in rows.values { mask.insert(row.supportedCommandsBit) }
        return mask.octets
    }

    // MARK: Building

    /// Extracts the connection handle of a command. Unknown_Connection_Identifier takes precedence over other errors.
    typealias Handle<Command> = @Sendable (Command) -> ConnectionHandle

    /// A command that ends with Command Complete. On failure, its return parameters are zero except for status and connection handle.
    ///
    /// - Parameters:
    ///   - features: LE features of which the controller must support at least one, besides the declared ones.
    ///   - part: the part that executes the command. A method reference instead of `execute` would create a closure for each command.
    @inline(__always) mutating func complete<Part: CommandExecutor, Command: HCICommand>(
        _ type: Command.Type, handle: Handle<Command>? = nil, needs features: LEFeatures = [], by part: Part.Type = Part.self,
        _ execute: @escaping @Sendable (Part, Command) throws -> Command.Return
    ) {
        // Counts of zero make all lists empty.
        let template = (try? Command.Return(prefixOf: [UInt8](repeating: 0, count: 255)).parameters) ?? []
        let echo = handle == nil ? 0 : 2
        let refuse: CommandRow.Refuse = { controller, status, packet in
            let returns = Self.failure(status, template, echoing: packet.parameters.prefix(echo))
            return HCIPacket(completeOpcode: Command.opcode, returns: returns, credits: controller.commandCredits)
        }
        add(
            Command.self, needs: features,
            run: { controller, packet in
                do {
                    let command: Command = try Self.parse(packet, handle, controller)
                    return controller.completion(of: Command.self, try execute(Part.part(of: controller), command))
                } catch {
                    return refuse(controller, Self.status(of: error), packet)
                }
            }, refuse: refuse)
    }

    /// A command that ends with Command Complete with only a status.
    ///
    /// - Parameter isSilent: sends a response only if the command fails.
    @inline(__always) mutating func perform<Part: CommandExecutor, Command: HCICommand>(
        _ type: Command.Type, isSilent: Bool = false, by part: Part.Type = Part.self,
        _ execute: @escaping @Sendable (Part, Command) throws -> Void
    ) where Command.Return == StatusReturn {
        add(
            Command.self,
            run: { controller, packet in
                do {
                    try execute(Part.part(of: controller), try Self.parse(packet, nil, controller))
                    return isSilent ? nil : controller.completion(of: Command.self, StatusReturn())
                } catch {
                    return controller.completion(of: Command.self, StatusReturn(status: Self.status(of: error)))
                }
            }, refuse: { controller, status, _ in controller.completion(of: Command.self, StatusReturn(status: status)) })
    }

    /// A command that is answered with Command Status and completes later.
    @inline(__always) mutating func start<Part: CommandExecutor, Command: HCICommand>(
        _ type: Command.Type, handle: Handle<Command>? = nil, by part: Part.Type = Part.self,
        _ execute: @escaping @Sendable (Part, Command) throws -> Void
    ) where Command.Return == NoReturn {
        add(
            Command.self,
            run: { controller, packet in
                do {
                    try execute(Part.part(of: controller), try Self.parse(packet, handle, controller))
                    return controller.status(of: Command.self, .success)
                } catch {
                    return controller.status(of: Command.self, Self.status(of: error))
                }
            }, refuse: { controller, status, _ in controller.status(of: Command.self, status) })
    }

    private mutating func add<Command: HCICommand>(
        _ type: Command.Type, needs features: LEFeatures = [], run: @escaping CommandRow.Run, refuse: @escaping CommandRow.Refuse
    ) {
        rows[Command.opcode] = CommandRow(
            opcode: Command.opcode, name: Command.name, supportedCommandsBit: Command.supportedCommandsBit,
            neededFeatures: Command.neededFeatures.union(features), firstVersion: Command.firstVersion, run: run, refuse: refuse)
    }

    /// A vendor command (OGF 0x3F) that ends with Command Complete with only a status.
    mutating func addVendor(
        _ opcode: UInt16, _ name: String, _ handler: @escaping @Sendable (Controller, [UInt8]) throws(CommandFailure) -> Void
    ) {
        let refuse: CommandRow.Refuse = { controller, status, _ in
            HCIPacket(completeOpcode: opcode, returns: [status.rawValue], credits: controller.commandCredits)
        }
        rows[opcode] = CommandRow(
            opcode: opcode, name: name, supportedCommandsBit: nil,
            run: { controller, packet in
                do throws(CommandFailure) { try handler(controller, packet.parameters) } catch {
                    return refuse(controller, error.status, packet)
                }
                return refuse(controller, .success, packet)
            }, refuse: refuse)
    }

    /// Parses the parameters. They must have the exact length, and each value must be valid by itself. Core Vol 4, Part E, 4.5.2 and Vol 1,
    /// Part F, 2.18.
    private static func parse<Command: HCICommand>(_ packet: HCIPacket, _ handle: Handle<Command>?, _ controller: Controller)
        throws(CommandFailure) -> Command
    {
        guard let command = try? packet.command(as: Command.self) else { throw .invalidParameters }
        if let handle { try controller.checkConnection(handle(command)) }
        do throws(IllegalValue) { try command.validate() } catch { throw .invalidParameters }
        return command
    }

    /// The status of a `CommandFailure`. The closures of the table do not declare the error type, because each would have to repeat it.
    private static func status(of error: any Error) -> ErrorCode { (error as? CommandFailure)?.status ?? .unspecifiedError }

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

extension ControllerConfiguration {
    /// Supported_Commands of a controller with this configuration. Core Vol 4, Part E, 7.4.2.
    public var supportedCommands: SupportedCommands { SupportedCommands(CommandTable.of(self).supportedCommands) }
}

/// Rows by opcode without hashing: each OGF has an entry for every OCF up to its highest command.
struct CommandIndex: Sendable {
    private var places: [CommandRow?]
    /// Start of each group, followed by the end of the last group.
    private var starts = [0]

    init(_ table: CommandTable) {
        var counts = [Int](repeating: 0, count: 64)
        for opcode in table.rows.keys { counts[Self.group(opcode)] = max(counts[Self.group(opcode)], Self.number(opcode) + 1) }
        for count in counts { starts.append(starts[starts.count - 1] + count) }
        places = Array(repeating: nil, count: starts[counts.count])
        for (opcode, row) in table.rows { places[starts[Self.group(opcode)] + Self.number(opcode)] = row }
    }

    @inline(__always) subscript(opcode: UInt16) -> CommandRow? {
        let place = starts[Self.group(opcode)] + Self.number(opcode)
        return place < starts[Self.group(opcode) + 1] ? places[place] : nil
    }

    /// OGF and OCF. Core Vol 4, Part E, 5.4.1.
    private static func group(_ opcode: UInt16) -> Int { Int(opcode >> 10) }
    private static func number(_ opcode: UInt16) -> Int { Int(opcode & 0x3FF) }
}
