import BBPackets

/// The status with which a command is rejected.
struct CommandRefusal: Error, Equatable {
    var status: ErrorCode

    static let unknownConnection = CommandRefusal(status: .unknownConnectionIdentifier)
    static let unknownAdvertisingSet = CommandRefusal(status: .unknownAdvertisingIdentifier)
    static let invalidParameters = CommandRefusal(status: .invalidHCICommandParameters)
    static let unsupportedValue = CommandRefusal(status: .unsupportedFeatureOrParameterValue)
    static let disallowed = CommandRefusal(status: .commandDisallowed)
    static let memoryExceeded = CommandRefusal(status: .memoryCapacityExceeded)
    static let connectionLimitExceeded = CommandRefusal(status: .connectionLimitExceeded)
    static let packetTooLong = CommandRefusal(status: .packetTooLong)
}

/// One supported command: its bit in Supported_Commands and its implementation.
final class CommandRow: Sendable {
    /// Executes the command and returns its response: Command Complete, Command Status, or nil if the specification defines no response to
    /// a successful command. Core Vol 4, Part E, 4.4.
    typealias Run = @Sendable (_ controller: Controller, _ command: HCIPacket) -> HCIPacket?
    typealias Refuse = @Sendable (_ controller: Controller, _ status: ErrorCode, _ command: HCIPacket) -> HCIPacket

    let opcode: UInt16
    let name: String
    /// Bit in Supported_Commands; nil for a vendor command, and for commands that every controller supports.
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
        table.add(Controller.self)
        table.add(LEController.self)
        table.addVendor()
        return table
    }()

    /// Commands of a controller with LE and BR/EDR.
    static let dual: CommandTable = {
        var table = le
        table.add(BREDRController.self)
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

    private mutating func add<Part: CommandExecutor>(_ part: Part.Type) {
        for group in Part.commandGroups {
            var rows = CommandRows<Part>()
            group(&rows)
            for row in rows.list { self.rows[row.opcode] = row }
        }
    }

    /// A vendor command (OGF 0x3F) that ends with Command Complete with only a status.
    mutating func addVendor(
        _ opcode: UInt16, _ name: String, _ handler: @escaping @Sendable (Controller, [UInt8]) throws(CommandRefusal) -> Void
    ) {
        let refuse: CommandRow.Refuse = { controller, status, _ in
            HCIPacket(completeOpcode: opcode, returns: [status.rawValue], credits: controller.commandCredits)
        }
        rows[opcode] = CommandRow(
            opcode: opcode, name: name, supportedCommandsBit: nil,
            run: { controller, packet in
                do throws(CommandRefusal) { try handler(controller, packet.parameters) } catch {
                    return refuse(controller, error.status, packet)
                }
                return refuse(controller, .success, packet)
            }, refuse: refuse)
    }
}

extension ControllerConfiguration {
    /// Supported_Commands of a controller with this configuration. Core Vol 4, Part E, 7.4.2.
    public var supportedCommands: SupportedCommands { SupportedCommands(CommandTable.of(self).supportedCommands) }
}

/// Rows by opcode without hashing: each OGF has an entry for every OCF up to its highest command.
struct CommandIndex: Sendable {
    let table: CommandTable
    private var places: [CommandRow?]
    /// Start of each group, followed by the end of the last group.
    private var starts = [0]

    init(_ table: CommandTable) {
        self.table = table
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
