import Packets

/// What a loader wants done.
enum FirmwareAction: Equatable {
    /// Send a command and wait so long for what comes of it.
    case send(HCIPacket, timeout: Microseconds)
    /// Wait so long for what comes by itself.
    case wait(Microseconds)
    /// From here on the commands that carry the image go through the bulk pipe, and answers come there, too; or no more.
    case useBulkPipe(Bool)
    case read(FirmwareNeed)
    case done(FirmwareOutcome)
    case fail(FirmwareError)

    static func ask<Command: HCICommand>(_ command: Command, timeout: Microseconds = .seconds(2)) -> FirmwareAction {
        .send(HCIPacket(command: command), timeout: timeout)
    }
}

/// What an event means to a loader.
enum FirmwareEvent {
    /// Return parameters, or the status alone when a command was turned down.
    case answer(opcode: UInt16, returns: [UInt8])
    case vendor([UInt8])

    /// Nil for an event that is none of the loader's.
    init?(_ packet: HCIPacket) {
        if let complete = try? packet.event(as: HCIEvents.CommandComplete.self) {
            self = .answer(opcode: complete.commandOpcode, returns: complete.returnParameters)
        } else if let status = try? packet.event(as: HCIEvents.CommandStatus.self), status.status != .success {
            self = .answer(opcode: status.commandOpcode, returns: [status.status.rawValue])
        } else if let vendor = try? packet.event(as: HCIEvents.VendorSpecific.self) {
            self = .vendor(vendor.data)
        } else {
            return nil
        }
    }

    /// The return parameters of a command, if this answers it.
    func returns<Command: HCICommand>(of type: Command.Type) -> Command.Return? {
        guard case .answer(Command.opcode, let octets) = self else { return nil }
        return try? Command.Return(prefixOf: octets)
    }

    /// The status with which a command was answered.
    func status(of opcode: UInt16) -> ErrorCode? {
        guard case .answer(opcode, let octets) = self else { return nil }
        return octets.first.map { ErrorCode(rawValue: $0) }
    }
}

/// One maker's way to bring firmware in: takes what the dongle says, gives what to do. No clock, no files of its own.
protocol FirmwareProcedure: Sendable {
    mutating func start() -> [FirmwareAction]
    mutating func received(_ event: FirmwareEvent) -> [FirmwareAction]
    /// What a `read` found.
    mutating func found(_ image: FirmwareFile, _ companion: FirmwareFile?) -> [FirmwareAction]
    /// Nothing came in time.
    mutating func timedOut() -> [FirmwareAction]
    /// The failure that is about to be told.
    var abandonedFor: FirmwareError? { get }
}

extension FirmwareProcedure {
    var abandonedFor: FirmwareError? { nil }
}
