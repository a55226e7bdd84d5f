import BBPackets

/// A rule that implements a switch on the packets between a controller and its host.
protocol ConductRule: AnyObject {
    /// Handles a packet from the host; returns the packet to forward, or nil.
    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket?
    /// Handles a packet to the host; returns the packet to forward, or nil.
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket?
    /// A program has opened the dongle; `number` counts from 1.
    func opened(_ number: Int, _ wire: ConductWire)
    /// The port was reset: a chip that had locked up answers again.
    func portWasReset()
}

extension ConductRule {
    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? { packet }
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? { packet }
    func opened(_ number: Int, _ wire: ConductWire) {}
    func portWasReset() {}
}

/// Actions available to a rule besides changing the current packet.
struct ConductWire {
    unowned let transport: ConductTransport
    /// Position of the rule; lower positions are nearer to the host.
    let position: Int

    var links: ConductLinks { transport.links }
    var now: Microseconds { transport.loop.now }

    /// Sends a packet to the host, skipping the rules in between.
    func answer(_ packet: HCIPacket) { transport.toHost(packet, from: position) }

    /// Sends a command to the controller; its answer is delivered to this rule only.
    func command<Command: HCICommand>(_ command: Command) {
        transport.hide(Command.opcode, for: position)
        transport.toController(HCIPacket(command: command), from: position + 1)
    }

    /// Forwards a host packet later.
    func forward(_ packet: HCIPacket) { transport.toController(packet, from: position + 1) }

    /// Runs an action later, unless the pipe has been closed.
    func after(_ delay: Microseconds, _ action: @escaping () -> Void) { transport.schedule(after: delay, action) }

    /// A random time within a range.
    func time(_ range: ClosedRange<Int>) -> Microseconds { .milliseconds(Int.random(in: range, using: &transport.random)) }

    func octets(_ count: Int) -> [UInt8] { transport.random.octets(count) }

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &transport.random) }

    /// Stops all packets of the chip until its port is reset.
    func freeze() { transport.isFrozen = true }
}

extension HCIPacket {
    /// Opcode that a Command Complete or Command Status event answers.
    var answeredOpcode: UInt16? { completedOpcode ?? (try? event(as: HCIEvents.CommandStatus.self))?.commandOpcode }

    /// A rejection in the form in which the command is answered; Command Status for unknown commands. Core Vol 4, Part E, 4.4.
    static func refusal(of command: HCIPacket, _ status: ErrorCode) -> HCIPacket? {
        guard let opcode = command.commandOpcode else { return nil }
        let declaration = PDUCatalog.command(opcode: opcode)
        guard status != .unknownHCICommand, declaration?.completion == .complete else { return HCIPacket(statusOpcode: opcode, status) }
        let echoes = declaration?.returns?.dropFirst().first?.name == "Connection_Handle"
        return HCIPacket(completeOpcode: opcode, returns: [status.rawValue] + (echoes ? command.parameters.prefix(2) : []))
    }

    /// Command Complete with changed return parameters. Unchanged if it reports an error or cannot be decoded.
    func changingReturns<Command: HCICommand>(of type: Command.Type, _ change: (inout Command.Return) -> Void) -> HCIPacket {
        guard completedOpcode == Command.opcode, let complete = try? event(as: HCIEvents.CommandComplete.self),
            complete.returnParameters.first == ErrorCode.success.rawValue, var returns = try? complete.returns(of: Command.self)
        else { return self }
        change(&returns)
        return HCIPacket(complete: Command.self, returns, credits: complete.numHCICommandPackets)
    }

    /// The event with changed values; other packets are unchanged.
    func changing<Event: HCIEvent>(_ type: Event.Type, _ change: (inout Event) -> Void) -> HCIPacket {
        guard var event = try? event(as: Event.self) else { return self }
        change(&event)
        return HCIPacket(event: event)
    }
}
