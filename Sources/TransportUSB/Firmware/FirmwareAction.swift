import BBPackets

/// Actions that a firmware loader requests.
enum FirmwareAction: Equatable {
    /// Send a command and wait up to `timeout` for its result.
    case send(HCIPacket, timeout: Microseconds)
    /// Wait up to this time for an unsolicited event.
    case wait(Microseconds)
    /// Switch the commands that carry the image, and their answers, to the bulk pipe or back.
    case useBulkPipe(Bool)
    case read(FirmwareNeed)
    case done(FirmwareOutcome)
    case fail(FirmwareError)

    static func ask<Command: HCICommand>(_ command: Command, timeout: Microseconds = .seconds(2)) -> FirmwareAction {
        .send(HCIPacket(command: command), timeout: timeout)
    }
}

/// An event as a loader sees it.
enum FirmwareEvent {
    /// Return parameters, or only the status if the command was rejected.
    case answer(opcode: UInt16, returns: [UInt8])
    case vendor([UInt8])

    /// Returns nil for an event that does not concern the loader.
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

    /// The return parameters, if this event answers the command.
    func returns<Command: HCICommand>(of type: Command.Type) -> Command.Return? {
        guard case .answer(Command.opcode, let octets) = self else { return nil }
        return try? Command.Return(prefixOf: octets)
    }

    /// The status of the answer to a command.
    func status(of opcode: UInt16) -> ErrorCode? {
        guard case .answer(opcode, let octets) = self else { return nil }
        return octets.first.map { ErrorCode(rawValue: $0) }
    }
}

/// The loading procedure of one manufacturer: a state machine from the dongle's events to actions, without clock and file access.
protocol FirmwareProcedure: Sendable {
    mutating func start() -> [FirmwareAction]
    mutating func received(_ event: FirmwareEvent) -> [FirmwareAction]
    /// Handles the files found by a `read` action.
    mutating func found(_ image: FirmwareFile, _ companion: FirmwareFile?) -> [FirmwareAction]
    /// The timeout of the last action has expired.
    mutating func timedOut() -> [FirmwareAction]
    /// The failure about to be reported.
    var abandonedFor: FirmwareError? { get }
}

extension FirmwareProcedure {
    var abandonedFor: FirmwareError? { nil }
}
