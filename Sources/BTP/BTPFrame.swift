import BBPackets

/// A packet of the Bluetooth Test Protocol: a header of five octets, then data. Integers are little-endian.
public struct BTPFrame: Sendable, Hashable {
    /// The octets before the data: service, opcode, controller index, length of the data.
    public static let headerLength = 5
    /// The first opcode of an event.
    public static let firstEvent: UInt8 = 0x80
    /// The opcode of an error response.
    public static let errorOpcode: UInt8 = 0x00
    /// Index of a message that belongs to no controller.
    public static let noController: UInt8 = 0xFF
    /// The type of addresses over BR/EDR.
    public static let bredrAddress: UInt8 = 0xE0

    public var service: BTPService
    public var opcode: UInt8
    public var index: UInt8
    public var data: [UInt8]

    public init(_ service: BTPService, _ opcode: UInt8, index: UInt8 = noController, data: [UInt8] = []) {
        (self.service, self.opcode, self.index, self.data) = (service, opcode, index, data)
    }

    public var isEvent: Bool { opcode >= Self.firstEvent }
    /// The code of the message in the declarations: service in the upper octet.
    public var code: Int { Int(service.rawValue) << 8 | Int(opcode) }

    public var bytes: [UInt8] {
        var writer = ByteWriter(reserving: Self.headerLength + data.count)
        writer.u8(service.rawValue)
        writer.u8(opcode)
        writer.u8(index)
        writer.u16(UInt16(truncatingIfNeeded: data.count))
        writer.bytes(data)
        return writer.bytes
    }
}

/// Reason in an error response.
public enum BTPError: UInt8, Sendable, Hashable, CaseIterable {
    case fail = 1
    case unknownCommand = 2
    case notReady = 3
    case invalidIndex = 4
}

extension BTPFrame {
    /// A command, a response with data or an event by its declaration; nil if there is none of that name.
    ///
    /// - Parameter index: nil for the usual one: none for the core service, otherwise controller 0.
    public init?(_ layer: Layer, named name: String, data: [UInt8], index: UInt8? = nil) {
        guard let code = PDUCatalog.declaration(layer: layer, name: name)?.code else { return nil }
        let service = BTPService(rawValue: UInt8(truncatingIfNeeded: code >> 8))
        self.init(service, UInt8(truncatingIfNeeded: code), index: index ?? (service == .core ? Self.noController : 0), data: data)
    }

    /// Response without data to a command.
    public init(success command: BTPFrame, data: [UInt8] = []) {
        self.init(command.service, command.opcode, index: command.index, data: data)
    }

    public init(_ error: BTPError, to command: BTPFrame) {
        self.init(command.service, Self.errorOpcode, index: command.index, data: [error.rawValue])
    }

    /// The reason of an error response; nil for other messages and for undefined reasons.
    public var error: BTPError? { opcode == Self.errorOpcode ? data.first.flatMap(BTPError.init) : nil }

    /// Describes the message for people.
    public var text: String {
        if opcode == Self.errorOpcode {
            return "BTP error of service \(service): \(error.map { "\($0)" } ?? "reason \(Hex.octets(data))")"
        }
        return DecodedLayer(btp: self, isResponse: false).name
    }
}

extension DecodedLayer {
    /// Decodes the data of a message with the names of its declaration.
    public init(btp frame: BTPFrame, isResponse: Bool) {
        let layer: Layer = frame.isEvent ? .btpEvents : isResponse ? .btpResponses : .btpCommands
        if let declaration = PDUCatalog.declaration(layer: layer, code: frame.code) {
            self.init(declaration, frame.data, 0..<frame.data.count)
        } else {
            let name =
                PDUCatalog.declaration(layer: .btpCommands, code: frame.code)?.name ?? "BTP_Message_\(Hex.number(frame.code, bits: 16))"
            self.init(named: name, of: layer, frame.data, 0..<frame.data.count)
        }
    }
}
