extension HCIPacket {
    /// Creates a command with its header: opcode and length.
    public init<Command: HCICommand>(command: Command) {
        self.init(.command, opcode: Command.opcode, parameters: command.parameters)
    }

    /// Creates a command packet with any opcode and parameters.
    ///
    /// - Parameter length: the parameter length in the header; nil for the actual one.
    public init(_ kind: Kind = .command, opcode: UInt16, parameters: [UInt8], length: UInt8? = nil) {
        var writer = ByteWriter(reserving: 3 + parameters.count)
        writer.u16(opcode)
        writer.u8(length ?? UInt8(truncatingIfNeeded: parameters.count))
        writer.bytes(parameters)
        self.init(kind, writer.bytes)
    }

    /// Creates an event with its header, and its subevent code if it has one.
    public init<Event: HCIEvent>(event: Event) {
        var writer = ByteWriter(reserving: 32)
        writer.event(event)
        self.init(.event, writer.bytes)
    }

    /// Creates an event in a buffer of a pool.
    @inlinable public init<Event: HCIEvent>(event: Event, in pool: inout PacketPool) {
        self.init(.event, pool.make { $0.event(event) })
    }

    /// Creates an event packet with any code and parameters.
    public init(eventCode: UInt8, parameters: [UInt8]) {
        var writer = ByteWriter(reserving: 2 + parameters.count)
        writer.u8(eventCode)
        writer.u8(UInt8(truncatingIfNeeded: parameters.count))
        writer.bytes(parameters)
        self.init(.event, writer.bytes)
    }

    /// Creates a Command Complete for a command, with its return parameters.
    public init<Command: HCICommand>(complete command: Command.Type, _ returns: Command.Return, credits: UInt8 = 1) {
        self.init(completeOpcode: Command.opcode, returns: returns.parameters, credits: credits)
    }

    /// Creates a Command Complete with any opcode and return parameters. Core Vol 4, Part E, 7.7.14.
    public init(completeOpcode opcode: UInt16, returns: [UInt8], credits: UInt8 = 1) {
        self.init(event: HCIEvents.CommandComplete(numHCICommandPackets: credits, commandOpcode: opcode, returnParameters: returns))
    }

    /// Creates a Command Complete in a buffer of a pool, without copying the return parameters.
    @inlinable public init<Return: PDU>(completeOpcode opcode: UInt16, _ returns: Return, credits: UInt8, in pool: inout PacketPool) {
        let bytes = pool.make { writer in
            // Equivalent to `writer.event(_:)` without return parameters, but without its empty list and with a preliminary length.
            writer.u8(HCIEvents.CommandComplete.code)
            writer.u8(0)
            writer.u8(credits)
            writer.u16(opcode)
            returns.encode(into: &writer)
            writer.endEvent()
        }
        self.init(.event, bytes)
    }

    /// Creates a Command Status. Core Vol 4, Part E, 7.7.15.
    public init(statusOpcode opcode: UInt16, _ status: ErrorCode, credits: UInt8 = 1) {
        self.init(event: HCIEvents.CommandStatus(status: status, numHCICommandPackets: credits, commandOpcode: opcode))
    }

    /// The opcode of a command packet.
    @inlinable public var commandOpcode: UInt16? {
        kind == .command && bytes.count >= 3 ? UInt16(bytes[0]) | UInt16(bytes[1]) << 8 : nil
    }

    /// The code of an event packet.
    @inlinable public var eventCode: UInt8? { kind == .event && bytes.count >= 2 ? bytes[0] : nil }

    /// The subevent code of an LE Meta event.
    @inlinable public var leSubevent: UInt8? { eventCode == 0x3E && bytes.count >= 3 ? bytes[2] : nil }

    /// The opcode answered by a Command Complete event.
    @inlinable public var completedOpcode: UInt16? {
        eventCode == HCIEvents.CommandComplete.code && bytes.count >= 5 ? bytes.span.bytes.u16(at: 3) : nil
    }

    /// The octets after the header of a command or an event, regardless of its length field.
    public var parameters: [UInt8] {
        bytes.count > kind.headerLength ? [UInt8](bytes[kind.headerLength...]) : []
    }

    /// Decodes a command's parameters, which must have the exact length: a controller answers others with Invalid HCI Command Parameters.
    /// Offsets in errors count after the header.
    @inlinable public func command<Command: HCICommand>(as type: Command.Type = Command.self) throws(PDUError) -> Command {
        guard let opcode = commandOpcode, opcode == Command.opcode else {
            throw PDUError(pdu: Command.name, field: "Opcode", offset: 0, problem: .otherPDU(code: Int(commandOpcode ?? 0)))
        }
        var reader = ByteReader(bytes.span.bytes)
        try reader.skip(3, "Opcode")
        return try Command.readAll(&reader)
    }

    /// Decodes an event; octets after the last known field are ignored. Offsets in errors count after the header.
    @inlinable public func event<Event: HCIEvent>(as type: Event.Type = Event.self) throws(PDUError) -> Event {
        guard eventCode == Event.code, Event.subevent == nil || leSubevent == Event.subevent else {
            throw PDUError(pdu: Event.name, field: "Event_Code", offset: 0, problem: .otherPDU(code: Int(eventCode ?? 0)))
        }
        var reader = ByteReader(bytes.span.bytes)
        try reader.skip(Event.subevent == nil ? 2 : 3, "Event_Code")
        return try Event.read(&reader)
    }
}

extension HCIEvents.CommandComplete {
    /// Decodes the return parameters of a command; octets after the last known field are ignored.
    public func returns<Command: HCICommand>(of type: Command.Type) throws(PDUError) -> Command.Return {
        try Command.Return(prefixOf: returnParameters)
    }
}

extension ByteWriter {
    /// Writes the header, subevent code and parameters. The writer must be empty.
    @usableFromInline mutating func event<Event: HCIEvent>(_ event: Event) {
        u8(Event.code)
        u8(0)
        if let subevent = Event.subevent { u8(subevent) }
        event.encode(into: &self)
        endEvent()
    }

    /// Writes the length of the event.
    @usableFromInline mutating func endEvent() { bytes[1] = UInt8(truncatingIfNeeded: bytes.count - 2) }
}
