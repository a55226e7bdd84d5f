/// A layer's declarations as one YAML file holds them.
struct Layer {
    /// The Swift namespace, also the layer's name in the catalogue.
    var name: String
    /// The part of the Core Specification that the sections count in.
    var part: String
    var kind: LayerKind
    var inlinable: Bool
    /// Where the layer's words are stripped from names: `ATT_` in the namespace `ATT`.
    var prefix: String
    /// The generated files' stem.
    var stem: String
    var pdus: [Declaration]

    /// Where the Core Specification defines a PDU.
    func place(of pdu: Declaration) -> String { part.isEmpty ? pdu.section : "\(part), \(pdu.section)" }
}

/// What identifies a PDU of the layer on the wire.
enum LayerKind: String {
    case hciCommand, hciEvent, hciData, llControl, att, smp, lmp, l2capSignaling, channel, advertising, header, structure

    /// Layers of which a PDU begins with one octet of opcode.
    var hasOpcode: Bool { self == .llControl || self == .att || self == .smp }
    /// Layers for which an enumeration of all PDUs is generated.
    var hasMessage: Bool { hasOpcode || self == .lmp || self == .l2capSignaling }
    /// The type of a PDU's opcode: that of LMP has room for an escape opcode above an extended one, that of AVDTP for the message type.
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
    /// Octet and bit in the Supported_Commands mask, of a command.
    var supported: (octet: Int, bit: Int)?
    /// Which mask can hold the event back; nil where none can.
    var mask: MaskPosition?
    /// LE features of which one is needed; empty where none is.
    var needs: [String] = []
    var fields: [Field]
    var returns: [Field]?
}

/// The bit of an event in one of the three event masks.
struct MaskPosition {
    /// `page1`, `page2` or `le`.
    var mask: String
    var bit: Int

    /// The named type that holds the mask's bits.
    var typeName: String { mask == "page1" ? "EventMask" : mask == "page2" ? "EventMaskPage2" : "LEEventMask" }
}

/// One field, or a group of them.
struct Field {
    var name: String
    var shape: Shape
    var notes = Notes()
    /// Present when this bit of that field is set.
    var condition: (field: String, bit: Int)?
    /// Not stored in the struct: a count or a length that follows from another field.
    var derived = false
}

/// What is said about a field's values.
struct Notes {
    /// One count in `unit`s: `0.625`, `ms`.
    var scale: String?
    var unit: String?
    var low: Int?
    var high: Int?
    var labels: [(value: Int, name: String)] = []
    /// The values are limited only where other fields say so; whoever acts on the PDU checks them.
    var isConditional = false

    /// How many microseconds one count is, where the unit is one of time.
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
    /// Members of one little-endian word, least significant first.
    case bits(octets: Int, members: [Field])
    case bit(width: Int, named: String?)
    case reserved(octets: Int)
    case array(Count, Shape)
    case rows(Count, type: String, [Field])
    case nested(String)
    /// Fields inside a length that another field gives.
    case block(length: String, [Field])
}

enum Size {
    case fixed(Int)
    case rest
    /// All but so many octets of what remains.
    case restLeaving(Int)
    case field(String)
    /// One data element of service discovery, which tells its own length.
    case element
}

enum Count {
    case fixed(Int)
    case field(String)
    case popcount(String)
    case rest
    /// To the end; the octets of one element are given by a field, directly or by a table.
    case restSized(String, table: [(key: Int, octets: Int)])
}

/// A set of names for numbers: an open enumeration, or flags.
struct NamedType {
    var name: String
    var octets: Int
    var isFlags: Bool
    var section: String
    /// The bits are those that the events' declarations give.
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
