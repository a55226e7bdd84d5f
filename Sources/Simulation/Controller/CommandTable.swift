import Packets

/// Why a command is refused.
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

/// What the controller answers to a command at once. Core Vol 4, Part E, 4.4.
enum CommandAnswer {
    case status(ErrorCode)
    case complete(returns: [UInt8])
    /// Only Host_Number_Of_Completed_Packets goes without an answer when it is right.
    case silence
}

/// One supported command: where the mask of supported commands has it, and what it does.
struct CommandRow: Sendable {
    /// Octet and bit in the Supported_Commands mask. Core Vol 4, Part E, 6.27.
    struct MaskPosition: Sendable {
        var octet: Int
        var bit: Int
    }

    var opcode: UInt16
    var name: String
    /// Nil for a vendor's command, which the mask has no bit for.
    var mask: MaskPosition?
    var run: @Sendable (_ controller: Controller, _ parameters: [UInt8]) -> CommandAnswer
    /// The answer when the command is not even looked at.
    var refuse: @Sendable (_ status: ErrorCode, _ parameters: [UInt8]) -> CommandAnswer
}

/// Every command that the virtual controller carries out. Whatever is not here is unknown to it.
struct CommandTable: Sendable {
    private(set) var rows: [UInt16: CommandRow] = [:]

    /// The commands of an LE-only controller.
    static let le: CommandTable = {
        var table = CommandTable()
        table.addLinkControl()
        table.addControllerAndBaseband()
        table.addInformational()
        table.addStatus()
        table.addTesting()
        table.addLEGeneral()
        table.addLELists()
        table.addLELegacyAdvertising()
        table.addLEExtendedAdvertising()
        table.addLEScanning()
        table.addLEInitiating()
        table.addLEConnection()
        table.addLEPHYAndDataLength()
        table.addLESecurity()
        table.addLETesting()
        table.addVendor()
        return table
    }()

    /// The commands of a controller for LE and BR/EDR.
    static let dual: CommandTable = {
        var table = le
        table.addInquiry()
        table.addInquiryScanning()
        table.addBREDRSettings()
        return table
    }()

    static func of(_ profile: ControllerConfiguration.Profile) -> CommandTable {
        switch profile {
        case .le: le
        case .dual: dual
        }
    }

    /// The 64 octets of Read_Local_Supported_Commands.
    var supportedCommands: [UInt8] {
        var mask = [UInt8](repeating: 0, count: 64)
        for row in rows.values {
            if let position = row.mask { mask[position.octet] |= 1 << UInt8(position.bit) }
        }
        return mask
    }

    // MARK: Building

    /// A command that ends in Command Complete.
    ///
    /// - Parameters:
    ///   - failing: the return parameters when the command fails; its first octet becomes the status.
    ///   - echo: how many of the command's first octets (a handle, an address) follow the status even then.
    mutating func complete<Command: HCICommand>(
        _ type: Command.Type, _ octet: Int, _ bit: Int, failing: Command.Return, echo: Int = 0,
        _ handler: @escaping @Sendable (Controller, Command) throws(CommandFailure) -> Command.Return
    ) {
        let template = failing.parameters
        let refuse: @Sendable (ErrorCode, [UInt8]) -> CommandAnswer = { status, parameters in
            .complete(returns: Self.failure(status, template, echoing: parameters.prefix(echo)))
        }
        add(
            Command.self, octet, bit,
            run: { controller, parameters in
                do throws(CommandFailure) {
                    let command: Command = try Self.parse(parameters)
                    return .complete(returns: try handler(controller, command).parameters)
                } catch {
                    return refuse(error.status, parameters)
                }
            }, refuse: refuse)
    }

    /// A command that ends in Command Complete with a status only.
    mutating func perform<Command: HCICommand>(
        _ type: Command.Type, _ octet: Int, _ bit: Int, _ handler: @escaping @Sendable (Controller, Command) throws(CommandFailure) -> Void
    ) where Command.Return == StatusReturn {
        complete(type, octet, bit, failing: StatusReturn()) { (controller, command) throws(CommandFailure) in
            try handler(controller, command)
            return StatusReturn(status: .success)
        }
    }

    /// A command that is answered with Command Status and goes on.
    mutating func start<Command: HCICommand>(
        _ type: Command.Type, _ octet: Int, _ bit: Int, _ handler: @escaping @Sendable (Controller, Command) throws(CommandFailure) -> Void
    ) {
        add(
            Command.self, octet, bit,
            run: { controller, parameters in
                do throws(CommandFailure) {
                    try handler(controller, try Self.parse(parameters))
                    return .status(.success)
                } catch {
                    return .status(error.status)
                }
            }, refuse: { status, _ in .status(status) })
    }

    private mutating func add<Command: HCICommand>(
        _ type: Command.Type, _ octet: Int, _ bit: Int, run: @escaping @Sendable (Controller, [UInt8]) -> CommandAnswer,
        refuse: @escaping @Sendable (ErrorCode, [UInt8]) -> CommandAnswer
    ) {
        rows[Command.opcode] = CommandRow(
            opcode: Command.opcode, name: Command.name, mask: CommandRow.MaskPosition(octet: octet, bit: bit), run: run, refuse: refuse)
    }

    /// A command of the vendor's own group, OGF 0x3F, that ends in Command Complete with a status only.
    mutating func addVendor(
        _ opcode: UInt16, _ name: String, _ handler: @escaping @Sendable (Controller, [UInt8]) throws(CommandFailure) -> Void
    ) {
        rows[opcode] = CommandRow(
            opcode: opcode, name: name, mask: nil,
            run: { controller, parameters in
                do throws(CommandFailure) { try handler(controller, parameters) } catch {
                    return .complete(returns: [error.status.rawValue])
                }
                return .complete(returns: [0])
            }, refuse: { status, _ in .complete(returns: [status.rawValue]) })
    }

    /// Parameters must be used up exactly. Core Vol 4, Part E, 4.5.2 and Vol 1, Part F, 2.18.
    static func parse<Command: HCICommand>(_ parameters: [UInt8]) throws(CommandFailure) -> Command {
        do throws(PDUError) { return try Command(parameters: parameters) } catch { throw .invalidParameters }
    }

    private static func failure(_ status: ErrorCode, _ template: [UInt8], echoing head: ArraySlice<UInt8>) -> [UInt8] {
        var returns = template
        if !returns.isEmpty { returns[0] = status.rawValue }
        for (index, octet) in head.enumerated() where index + 1 < returns.count { returns[index + 1] = octet }
        return returns
    }
}
