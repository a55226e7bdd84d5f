import BBPackets

/// The core service of a server: which services exist, and which of them are registered.
public struct BTPRegistration: Sendable {
    /// Decision about a command.
    public enum Decision: Sendable, Hashable {
        case answer(BTPFrame)
        /// A service was registered or removed; the response follows when it is ready.
        case register(BTPService)
        case unregister(BTPService)
        /// A declared command of a registered service.
        case perform
    }

    /// The opcodes of each service.
    private let commands: [UInt8: Set<UInt8>]
    private var registered: Set<UInt8> = [BTPService.core.rawValue]
    private let controllers: Set<UInt8>

    /// - Parameter commands: names of the declared commands that the server performs.
    public init(commands names: some Sequence<String>, controllers: Set<UInt8> = [0]) {
        var commands: [UInt8: Set<UInt8>] = [BTPService.core.rawValue: [1, 2, 3, 4]]
        for name in names {
            guard let code = PDUCatalog.declaration(layer: .btpCommands, name: name)?.code else { continue }
            commands[UInt8(truncatingIfNeeded: code >> 8), default: [1]].insert(UInt8(truncatingIfNeeded: code))
        }
        self.commands = commands
        self.controllers = controllers
    }

    public mutating func decide(_ command: BTPFrame) -> Decision {
        let service = command.service.rawValue
        guard registered.contains(service), commands[service]?.contains(command.opcode) == true else {
            return .answer(BTPFrame(.unknownCommand, to: command))
        }
        if command.opcode == 1 {
            return .answer(BTPFrame(success: command, data: BTPBitmap((commands[service] ?? []).sorted()).octets))
        }
        guard command.service == .core else {
            let isGlobal = command.code == 0x0102
            guard isGlobal || controllers.contains(command.index) else { return .answer(BTPFrame(.invalidIndex, to: command)) }
            return .perform
        }
        if command.opcode == 2 { return .answer(BTPFrame(success: command, data: BTPBitmap(commands.keys.sorted()).octets)) }
        guard let wanted = command.data.first, command.data.count == 1, wanted != BTPService.core.rawValue, commands[wanted] != nil,
            registered.contains(wanted) == (command.opcode == 4)
        else { return .answer(BTPFrame(.fail, to: command)) }
        if command.opcode == 3 {
            registered.insert(wanted)
            return .register(BTPService(rawValue: wanted))
        }
        registered.remove(wanted)
        return .unregister(BTPService(rawValue: wanted))
    }
}
