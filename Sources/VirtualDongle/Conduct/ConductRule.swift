import Packets

/// What a switch does to the packets between a controller and its host.
protocol ConductRule: AnyObject {
    /// A packet of the host: what goes on to the controller, nil for nothing.
    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket?
    /// A packet for the host: what goes on to it, nil for nothing.
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket?
    /// A program has opened the dongle, for the manieth time.
    func opened(_ number: Int, _ wire: ConductWire)
    /// The port was reset: what had locked up answers again.
    func portWasReset()
}

extension ConductRule {
    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? { packet }
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? { packet }
    func opened(_ number: Int, _ wire: ConductWire) {}
    func portWasReset() {}
}

/// What a rule can do beyond changing the packet before it.
struct ConductWire {
    unowned let transport: ConductTransport
    /// The place of the rule; those below are nearer to the host.
    let position: Int

    var links: ConductLinks { transport.links }
    var now: Microseconds { transport.loop.now }

    /// Sends a packet to the host, past the rules between.
    func answer(_ packet: HCIPacket) { transport.toHost(packet, from: position) }

    /// Sends a command to the controller; its answer comes to this rule and goes no further.
    func command<Command: HCICommand>(_ command: Command) {
        transport.hide(Command.opcode, for: position)
        transport.toController(HCIPacket(command: command), from: position + 1)
    }

    /// Sends a packet of the host on, later than it came.
    func forward(_ packet: HCIPacket) { transport.toController(packet, from: position + 1) }

    /// Does something later, unless the pipe has closed.
    func after(_ delay: Microseconds, _ action: @escaping () -> Void) { transport.schedule(after: delay, action) }

    /// A time drawn between two limits.
    func time(_ range: ClosedRange<Int>) -> Microseconds { .milliseconds(Int.random(in: range, using: &transport.random)) }

    func octets(_ count: Int) -> [UInt8] { transport.random.octets(count) }

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &transport.random) }

    /// Nothing comes from the chip any more, until its port is reset.
    func freeze() { transport.isFrozen = true }
}

extension HCIPacket {
    /// The command that an event answers: Command Complete, or Command Status.
    var answeredOpcode: UInt16? { completedOpcode ?? (try? event(as: HCIEvents.CommandStatus.self))?.commandOpcode }

    /// A refusal in the form that the command is answered in: Command Status where nothing else is known of it. Core Vol 4, Part E, 4.4.
    static func refusal(of command: HCIPacket, _ status: ErrorCode) -> HCIPacket? {
        guard let opcode = command.commandOpcode else { return nil }
        let declaration = PDUCatalog.command(opcode: opcode)
        guard status != .unknownHCICommand, declaration?.completion == .complete else { return HCIPacket(statusOpcode: opcode, status) }
        let echoes = declaration?.returns?.dropFirst().first?.name == "Connection_Handle"
        return HCIPacket(completeOpcode: opcode, returns: [status.rawValue] + (echoes ? command.parameters.prefix(2) : []))
    }

    /// Command Complete with other return parameters; what cannot be read, and a refusal, stay as they are.
    func changingReturns<Command: HCICommand>(of type: Command.Type, _ change: (inout Command.Return) -> Void) -> HCIPacket {
        guard completedOpcode == Command.opcode, let complete = try? event(as: HCIEvents.CommandComplete.self),
            complete.returnParameters.first == ErrorCode.success.rawValue, var returns = try? complete.returns(of: Command.self)
        else { return self }
        change(&returns)
        return HCIPacket(complete: Command.self, returns, credits: complete.numHCICommandPackets)
    }

    /// The event with other values; any other packet stays as it is.
    func changing<Event: HCIEvent>(_ type: Event.Type, _ change: (inout Event) -> Void) -> HCIPacket {
        guard var event = try? event(as: Event.self) else { return self }
        change(&event)
        return HCIPacket(event: event)
    }
}
