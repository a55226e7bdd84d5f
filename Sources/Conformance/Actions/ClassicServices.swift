import BBCases
import BBHost
import BBPackets

/// Offers a serial port that returns received data, with its service record. RFCOMM 1.2, 5; Core Vol 3, Part B.
enum OfferSerialEcho: NamedAction {
    static let name = "offer serial echo"
    static let about = "the host serves an RFCOMM port that returns its input, with a service record"
    static let channel = TypedArgument.number("channel", 1...30, default: 5, "the RFCOMM server channel")
    static let times = TypedArgument.number("times", 1...10, default: 1, "copies that it returns of each piece")
    static var arguments: [ActionArgument] { [channel.declaration, times.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (host, channel, times) = (try context.driver().host, UInt8(clamping: try context(channel)), try context(times))
        try host.listen(rfcomm: channel) { port, _ in
            port.onReceive = { [unowned port] octets in port.trySend(Array(repeatElement(octets, count: times).joined())) }
        }
        host.addServiceRecord(.serialPort(channel: channel, name: "Echo"))
        return CaseRecord()
    }
}

/// Opens the ATT bearer over BR/EDR. Core Vol 3, Part G, 5.1.
enum OpenAttributes: NamedAction {
    static let name = "open attributes over BR/EDR"
    static let about = "the host opens a channel to PSM 31 for its GATT client"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        _ = try await context.classicLink().openAttributes()
        return CaseRecord()
    }
}

/// Offers GATT over BR/EDR. Core Vol 3, Part G, 9.
enum OfferAttributes: NamedAction {
    static let name = "offer attributes over BR/EDR"
    static let about = "the host serves GATT on PSM 31, with a record for each service"
    static var arguments: [ActionArgument] { [] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try context.driver().host.offerAttributesOverClassic()
        return CaseRecord()
    }
}
