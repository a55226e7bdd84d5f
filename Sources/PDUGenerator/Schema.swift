/// A layer as `Layers.yaml` has it.
struct LayerInfo {
    /// The Swift namespace, which is also the layer's name in the catalogue.
    var name: String
    /// The layer in a sentence, with its place in the specification.
    var about: String
    var title: String
    var header: Header
    /// The prefix of names that is removed: `ATT_` in the namespace `ATT`.
    var prefix: String

    var caseName: String { Naming.caseName(name) }
}

/// Header before a PDU's parameters.
enum Header: String, CaseIterable {
    case command, event, data, advertising, opcode, lmp, signaling, sdp, rfcomm, avdtp, avrcp, none

    /// Layers for which an enumeration of all PDUs is generated.
    var hasMessage: Bool { [.opcode, .lmp, .signaling, .sdp].contains(self) }
    /// The type of a PDU's opcode: that of LMP has room for an escape opcode above an extended one, that of AVDTP for the message type.
    var opcodeType: (name: String, digits: Int) {
        switch self {
        case .lmp, .sdp, .rfcomm, .avdtp, .avrcp: ("UInt16", 4)
        case .command, .event, .data, .advertising, .opcode, .signaling, .none: ("UInt8", 2)
        }
    }

    var about: String {
        switch self {
        case .command: "Opcode, parameter length. Core Vol 4, Part E, 5.4.1."
        case .event: "Event code, parameter length; the subevent of an LE event. Core Vol 4, Part E, 5.4.4."
        case .data: "The header is part of what is declared; the kind of packet is told beside it."
        case .advertising: "Type with flags, length. Core Vol 6, Part B, 2.3."
        case .opcode: "One octet of opcode."
        case .lmp: "Transaction ID and opcode, or escape opcode and extended opcode. Core Vol 2, Part C, 2.3."
        case .signaling: "Code, identifier, length. Core Vol 3, Part A, 4."
        case .sdp: "PDU ID, transaction ID, parameter length. Core Vol 3, Part B, 4.2."
        case .rfcomm: "Type with EA and C/R, length with EA. TS 07.10, 5.4.6.1."
        case .avdtp: "Transaction label, packet type and message type; signal identifier. AVDTP 1.3, 8.4.1."
        case .avrcp:
            "Company, PDU ID, packet type, parameter length: the operands of a vendor dependent AV/C frame. AVRCP 1.6, 6.3.1."
        case .none: "No header."
        }
    }
}

/// A layer's declarations as one YAML file holds them.
struct DeclarationFile {
    var layer: LayerInfo
    /// The part of the Core Specification that contains the sections.
    var part: String
    var inlinable: Bool
    /// The base name of the generated files.
    var stem: String
    var path: String
    var pdus: [Declaration]

    var name: String { layer.name }
    var header: Header { layer.header }

    /// Returns the section of the Core Specification that defines a PDU.
    func place(of pdu: Declaration) -> String { part.isEmpty ? pdu.section : "\(part), \(pdu.section)" }

    /// The protocol of the layer's structs.
    var proto: String {
        switch header {
        case .command: "HCICommand"
        case .event: "HCIEvent"
        case .opcode, .lmp: name + "PDU"
        case .signaling: "L2CAPSignalingPDU"
        case .sdp, .rfcomm, .avdtp, .avrcp: "ChannelPDU"
        case .advertising, .data, .none: "PDU"
        }
    }
}

struct Declaration {
    var name: String
    /// The line of the name in its file.
    var line = 1
    var code: Int
    var subevent: Int?
    var section: String
    var endsInStatus = false
    var codec = Codec.generated
    /// The HCI version that introduced the command or event; nil if every controller may have it.
    var firstVersion: Int?
    /// A command's octet and bit in the Supported_Commands mask.
    var supported: (octet: Int, bit: Int)?
    /// The mask that can disable the event; nil if there is none.
    var mask: MaskPosition?
    /// The LE features of which one is required; empty if none is.
    var needs: [String] = []
    var relations = Relations()
    var fields: [Field]
    var returns: [Field]?
}

/// The origin of a PDU's struct.
enum Codec: String, CaseIterable {
    case generated
    /// The struct is written by hand.
    case hand
    /// There is no struct: the PDU is known by name only.
    case none
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
    /// The text format of the values: one of `formats`, or nil for the one that follows from the type.
    var format: String?
    /// The field that contains the kind of the address.
    var kindField: String?

    /// The words for `as(...)`; `FieldFormat` in Packets has the same.
    static let formats = [
        "hex", "text", "opcode", "company", "advertising-data", "random-address", "features",
    ]

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
