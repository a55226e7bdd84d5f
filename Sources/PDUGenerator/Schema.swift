/// The declarations of a layer from a YAML file.
struct Layer {
    /// The Swift namespace, which is also the layer's name in the catalogue.
    var name: String
    /// The part of the Core Specification that contains the sections.
    var part: String
    var kind: LayerKind
    var inlinable: Bool
    /// The prefix of names that is removed: `ATT_` in the namespace `ATT`.
    var prefix: String
    /// The base name of the generated files.
    var stem: String
    var pdus: [Declaration]

    /// Returns the section of the Core Specification that defines a PDU.
    func place(of pdu: Declaration) -> String { part.isEmpty ? pdu.section : "\(part), \(pdu.section)" }
}

/// The kind of a layer, which determines how a PDU is identified.
enum LayerKind: String {
    case hciCommand, hciEvent, hciData, llControl, att, smp, lmp, l2capSignaling, channel, advertising, header, structure

    /// True for layers whose PDUs start with a one-octet opcode.
    var hasOpcode: Bool { self == .llControl || self == .att || self == .smp }
    /// True for layers with a generated enumeration of all PDUs.
    var hasMessage: Bool { hasOpcode || self == .lmp || self == .l2capSignaling }
    /// The type of a PDU's opcode: in LMP the escape opcode is above the extended one, in AVDTP it includes the message type.
    var opcodeType: (name: String, digits: Int) { self == .lmp || self == .channel ? ("UInt16", 4) : ("UInt8", 2) }

    var proto: String {
        switch self {
        case .hciCommand: "HCICommand"
        case .hciEvent: "HCIEvent"
        case .llControl: "LLControlPDU"
        case .att: "ATTPDU"
        case .smp: "SMPPDU"
        case .lmp: "LMPPDU"
        case .l2capSignaling: "L2CAPSignalingPDU"
        case .channel: "ChannelPDU"
        case .advertising, .header, .structure, .hciData: "PDU"
        }
    }
}

struct Declaration {
    var name: String
    var code: Int
    var subevent: Int?
    var section: String
    var endsInStatus = false
    var handWritten = false
    /// A command's octet and bit in the Supported_Commands mask.
    var supported: (octet: Int, bit: Int)?
    /// The mask that can disable the event; nil if there is none.
    var mask: MaskPosition?
    /// The LE features of which one is required; empty if none is.
    var needs: [String] = []
    var fields: [Field]
    var returns: [Field]?
}

/// The bit of an event in one of the three event masks.
struct MaskPosition {
    /// `page1`, `page2` or `le`.
    var mask: String
    var bit: Int

    /// The named type with the mask's bits.
    var typeName: String { mask == "page1" ? "EventMask" : mask == "page2" ? "EventMaskPage2" : "LEEventMask" }
}

/// A field or a group of fields.
struct Field {
    var name: String
    var shape: Shape
    var notes = Notes()
    /// The field is present if this bit of another field is set.
    var condition: (field: String, bit: Int)?
    /// True for a count or length that follows from another field and is not stored in the struct.
    var derived = false
}

/// The properties of a field's values.
struct Notes {
    /// The size of one count in `unit`s: `0.625`, `ms`.
    var scale: String?
    var unit: String?
    var low: Int?
    var high: Int?
    var labels: [(value: Int, name: String)] = []
    /// True if the limits of the values depend on other fields; the receiver of the PDU checks them.
    var isConditional = false

    /// The number of microseconds in a count, if the unit is one of time.
    var microsecondsPerCount: Int? {
        let unitLength: Double? =
            switch unit {
            case "us": 1
            case "ms": 1_000
            case "s": 1_000_000
            default: nil
            }
        return unitLength.map { Int(($0 * (scale.flatMap(Double.init) ?? 1)).rounded()) }
    }
}

indirect enum Shape {
    case integer(octets: Int, signed: Bool, bigEndian: Bool, named: String?)
    case bytes(Size)
    case uuid(Size)
    /// The members of a little-endian word, least significant first.
    case bits(octets: Int, members: [Field])
    case bit(width: Int, named: String?)
    case reserved(octets: Int)
    case array(Count, Shape)
    case rows(Count, type: String, [Field])
    case nested(String)
    /// Fields in a block whose length another field contains.
    case block(length: String, [Field])
}

enum Size {
    case fixed(Int)
    case rest
    /// The remaining octets except for the last ones.
    case restLeaving(Int)
    case field(String)
    /// A data element of service discovery, which contains its own length.
    case element
}

enum Count {
    case fixed(Int)
    case field(String)
    case popcount(String)
    case rest
    /// Elements to the end of the PDU; a field determines the octets of an element, directly or with a table.
    case restSized(String, table: [(key: Int, octets: Int)])
}

/// A named type for numbers: an open enumeration, or flags.
struct NamedType {
    var name: String
    var octets: Int
    var isFlags: Bool
    var section: String
    /// True if the bits come from the events' declarations.
    var isEventMask = false
    var values: [(value: Int, name: String)]
}

struct SchemaError: Error, CustomStringConvertible {
    var file: String
    var line: Int
    var column: Int
    var text: String

    var description: String { "\(file):\(line):\(column): error: \(text)" }
}
