import BBPackets

extension HCIPacket {
    /// The connection of a command: its first parameter, if that is declared as Connection_Handle.
    public var commandHandle: ConnectionHandle? {
        guard let opcode = commandOpcode, PDUCatalog.command(opcode: opcode)?.fields.first?.name == "Connection_Handle" else { return nil }
        var reader = ByteReader(bytes.span.bytes)
        guard (try? reader.skip(kind.headerLength, "Opcode")) != nil, let handle = try? reader.u16("Connection_Handle") else { return nil }
        return ConnectionHandle(handle).withoutReservedBits
    }
}
