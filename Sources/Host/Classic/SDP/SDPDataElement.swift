import BBPackets

/// A data element: a value with its type and size. Core Vol 3, Part B, 3.
public indirect enum SDPDataElement: Sendable, Hashable {
    case none
    /// An unsigned integer of 1, 2, 4, 8 or 16 octets.
    case unsigned(UInt128, octets: Int)
    /// A signed integer of 1, 2, 4, 8 or 16 octets.
    case signed(Int128, octets: Int)
    case uuid(BluetoothUUID)
    case text([UInt8])
    case boolean(Bool)
    case sequence([SDPDataElement])
    case alternative([SDPDataElement])
    case url([UInt8])

    /// Maximum nesting depth of sequences; records need at most five.
    public static let depthLimit = 32

    public static func u8(_ value: UInt8) -> SDPDataElement { .unsigned(UInt128(value), octets: 1) }
    public static func u16(_ value: UInt16) -> SDPDataElement { .unsigned(UInt128(value), octets: 2) }
    public static func u32(_ value: UInt32) -> SDPDataElement { .unsigned(UInt128(value), octets: 4) }
    public static func text(_ value: String) -> SDPDataElement { .text([UInt8](value.utf8)) }

    /// The elements of a sequence or an alternative.
    public var elements: [SDPDataElement]? {
        switch self {
        case .sequence(let elements), .alternative(let elements): elements
        case .none, .unsigned, .signed, .uuid, .text, .boolean, .url: nil
        }
    }

    /// An unsigned integer, if it fits.
    public func number<Value: FixedWidthInteger>(_: Value.Type = Value.self) -> Value? {
        if case .unsigned(let value, _) = self { Value(exactly: value) } else { nil }
    }

    public var uuid: BluetoothUUID? { if case .uuid(let uuid) = self { uuid } else { nil } }

    /// True if this element is or contains the UUID. Core Vol 3, Part B, 2.7.1.
    public func contains(_ wanted: BluetoothUUID) -> Bool {
        if case .uuid(let uuid) = self { return uuid == wanted }
        return elements?.contains { $0.contains(wanted) } ?? false
    }
}

// MARK: Codec

extension SDPDataElement: WireValue {
    /// Type descriptor: the five high bits of the first octet. Core Vol 3, Part B, 3.2.
    private enum TypeDescriptor: UInt8 {
        case none = 0
        case unsigned, signed, uuid, text, boolean, sequence, alternative, url
    }

    public init(from reader: inout ByteReader) throws(PDUError) { self = try Self.read(&reader, depth: 0) }

    private static func read(_ reader: inout ByteReader, depth: Int) throws(PDUError) -> SDPDataElement {
        let offset = reader.offset
        let header = try reader.u8("Data Element Header")
        guard let type = TypeDescriptor(rawValue: header >> 3), depth <= depthLimit else {
            throw PDUError(field: "Data Element Header", offset: offset, problem: .value("type \(header >> 3) at depth \(depth)"))
        }
        let index = header & 7
        let count = try size(type, index, &reader)
        guard let count, isLegal(count, of: type, index) else {
            throw PDUError(field: "Data Element Header", offset: offset, problem: .value("size index \(index) for type \(type)"))
        }
        switch type {
        case .none: return .none
        case .unsigned: return .unsigned(try number(count, &reader), octets: count)
        case .signed:
            let shift = 128 - 8 * count
            return .signed((Int128(truncatingIfNeeded: try number(count, &reader)) << Int128(shift)) >> Int128(shift), octets: count)
        case .uuid:
            let octets = try reader.bytes(count, "UUID")
            guard let uuid = BluetoothUUID(octets: octets.reversed()) else {
                throw PDUError(field: "UUID", offset: offset, problem: .value("\(count) octets"))
            }
            return .uuid(uuid)
        case .text: return .text(try reader.bytes(count, "Text"))
        case .boolean: return .boolean(try reader.u8("Boolean") != 0)
        case .sequence: return .sequence(try list(count, &reader, depth))
        case .alternative: return .alternative(try list(count, &reader, depth))
        case .url: return .url(try reader.bytes(count, "URL"))
        }
    }

    /// Data size for the size index. Core Vol 3, Part B, 3.3.
    private static func size(_ type: TypeDescriptor, _ index: UInt8, _ reader: inout ByteReader) throws(PDUError) -> Int? {
        switch index {
        case 0: type == .none ? 0 : 1
        case 1...4: 1 << Int(index)
        case 5: Int(try reader.u8("Data Size"))
        case 6: Int(try reader.u16be("Data Size"))
        default: Int(try reader.u32be("Data Size"))
        }
    }

    private static func isLegal(_ count: Int, of type: TypeDescriptor, _ index: UInt8) -> Bool {
        switch type {
        case .none, .boolean: index == 0
        case .unsigned, .signed: index <= 4
        case .uuid: index == 1 || index == 2 || index == 4
        case .text, .sequence, .alternative, .url: index >= 5
        }
    }

    private static func number(_ count: Int, _ reader: inout ByteReader) throws(PDUError) -> UInt128 {
        try reader.bytes(count, "Integer").reduce(0) { $0 << 8 | UInt128($1) }
    }

    private static func list(_ count: Int, _ reader: inout ByteReader, _ depth: Int) throws(PDUError) -> [SDPDataElement] {
        guard count > 0 else { return [] }
        let outer = try reader.enter(count, "Data Element Sequence")
        var elements: [SDPDataElement] = []
        while reader.remaining > 0 { elements.append(try read(&reader, depth: depth + 1)) }
        try reader.leave(outer, "Data Element Sequence")
        return elements
    }

    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .none: writer.u8(0)
        case .unsigned(let value, let octets): Self.encode(value, octets, .unsigned, &writer)
        case .signed(let value, let octets): Self.encode(UInt128(truncatingIfNeeded: value), octets, .signed, &writer)
        case .uuid(let uuid):
            let octets = uuid.octets
            writer.u8(Self.header(.uuid, octets.count))
            writer.bytes(octets.reversed())
        case .text(let octets): Self.encode(octets, .text, &writer)
        case .boolean(let isTrue):
            writer.u8(TypeDescriptor.boolean.rawValue << 3)
            writer.u8(isTrue ? 1 : 0)
        case .sequence(let elements): Self.encode(elements.flatMap(\.octets), .sequence, &writer)
        case .alternative(let elements): Self.encode(elements.flatMap(\.octets), .alternative, &writer)
        case .url(let octets): Self.encode(octets, .url, &writer)
        }
    }

    /// The element with its header.
    public var octets: [UInt8] { parameters }

    private static func header(_ type: TypeDescriptor, _ octets: Int) -> UInt8 {
        type.rawValue << 3 | UInt8(octets.trailingZeroBitCount & 7)
    }

    private static func encode(_ value: UInt128, _ octets: Int, _ type: TypeDescriptor, _ writer: inout ByteWriter) {
        writer.u8(header(type, octets))
        for index in (0..<octets).reversed() { writer.u8(UInt8(truncatingIfNeeded: value >> UInt128(8 * index))) }
    }

    private static func encode(_ octets: [UInt8], _ type: TypeDescriptor, _ writer: inout ByteWriter) {
        switch octets.count {
        case ...0xFF:
            writer.u8(type.rawValue << 3 | 5)
            writer.u8(UInt8(octets.count))
        case ...0xFFFF:
            writer.u8(type.rawValue << 3 | 6)
            writer.u16be(UInt16(octets.count))
        default:
            writer.u8(type.rawValue << 3 | 7)
            writer.u32be(UInt32(truncatingIfNeeded: octets.count))
        }
        writer.bytes(octets)
    }
}
