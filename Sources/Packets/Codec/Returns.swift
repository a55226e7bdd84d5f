/// The return type of a command that is answered with Command Status.
public struct NoReturn: PDU {
    public static var name: String { "" }
    public init() {}
    public init(from reader: inout ByteReader) throws(PDUError) {}
    public func encode(into writer: inout ByteWriter) {}
}

/// The return parameters of most commands.
public struct StatusReturn: PDU {
    public static var name: String { HCIEvents.CommandComplete.name }
    public var status: ErrorCode

    public init(status: ErrorCode = .success) { self.status = status }
    public init(from reader: inout ByteReader) throws(PDUError) { status = ErrorCode(rawValue: try reader.u8("Status")) }
    public func encode(into writer: inout ByteWriter) { writer.u8(status.rawValue) }
}

/// Return parameters of commands for a connection. After an error the handle may be missing; it is then 0.
public struct StatusAndHandleReturn: PDU {
    public static var name: String { HCIEvents.CommandComplete.name }
    public var status: ErrorCode
    public var connectionHandle: ConnectionHandle

    public init(status: ErrorCode = .success, connectionHandle: ConnectionHandle = 0) {
        self.status = status
        self.connectionHandle = connectionHandle
    }

    public init(from reader: inout ByteReader) throws(PDUError) {
        status = ErrorCode(rawValue: try reader.u8("Status"))
        connectionHandle = 0
        if status != .success, reader.remaining == 0 { return }
        connectionHandle = ConnectionHandle(rawValue: try reader.u16("Connection_Handle"))
    }

    public func encode(into writer: inout ByteWriter) {
        writer.u8(status.rawValue)
        writer.u16(connectionHandle.rawValue)
    }
}

/// Return parameters of commands for a remote device. After an error the address may be missing; it is then 0.
public struct StatusAndAddressReturn: PDU {
    public static var name: String { HCIEvents.CommandComplete.name }
    public var status: ErrorCode
    public var bdADDR: BDADDR

    public init(status: ErrorCode = .success, bdADDR: BDADDR = 0) {
        self.status = status
        self.bdADDR = bdADDR
    }

    public init(from reader: inout ByteReader) throws(PDUError) {
        status = ErrorCode(rawValue: try reader.u8("Status"))
        bdADDR = 0
        if status != .success, reader.remaining == 0 { return }
        bdADDR = BDADDR(rawValue: try reader.u48("BD_ADDR"))
    }

    public func encode(into writer: inout ByteWriter) {
        writer.u8(status.rawValue)
        writer.u48(bdADDR.rawValue)
    }
}
