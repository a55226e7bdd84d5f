/// The text format of a field's values.
enum FieldFormat: Sendable {
    case decimal
    case pattern(bits: Int)
    case address
    /// An address whose kind is in the field of that name.
    case typedAddress(kind: String)
    case randomAddress
    case named(NamedType, bits: Int)
    case flags(NamedType, bits: Int)
    case labels(bits: Int)
    case opcode
    case company
    case appearance
    case quantity(factor: Double?, unit: String)
    case uuid
    case octets
    case text
    case advertisingData
    /// All pages of LE features in order.
    case features

    /// 64 features on page 0, and 192 on each of ten further pages. Core Vol 6, Part B, 4.6.
    static let featureOctets = 248

    init(
        name: String, shape: FieldDeclaration.Shape, type: NamedType?, unit: String?, scale: String?, labels: [(value: Int, name: String)]
    ) {
        let bits: Int
        switch shape {
        case .integer(_, _, _, "BDADDR"):
            self = .address
            return
        case .integer(let octets, _, _, let named):
            bits = octets * 8
            if named == "ConnectionHandle" {
                self = .pattern(bits: bits)
                return
            }
        case .bit(let width, let named):
            bits = width
            if named == "ConnectionHandle" {
                self = .pattern(bits: 16)
                return
            }
        case .uuid:
            self = .uuid
            return
        case .bytes(.fixed(Self.featureOctets)) where name == "LE_Features":
            self = .features
            return
        default:
            self = .octets
            return
        }
        if let type {
            self = type.isFlags ? .flags(type, bits: bits) : .named(type, bits: bits)
        } else if !labels.isEmpty {
            self = .labels(bits: bits)
        } else if let unit {
            self = .quantity(factor: scale.flatMap(Double.init), unit: unit)
        } else {
            self = Self.isPattern(name) || bits > 32 ? .pattern(bits: bits) : .decimal
        }
    }

    /// Returns the format determined by the names of the field and its PDU.
    ///
    /// - Parameter hasSibling: returns true if there is a field of that name beside it.
    init?(name: String, of pdu: String, hasSibling: (String) -> Bool) {
        if let known = Self.byName[name] {
            self = known
        } else if name == "Data", pdu.contains("Advertising_Report") {
            self = .advertisingData
        } else if name.hasSuffix("Address"), hasSibling(name + "_Type") {
            self = .typedAddress(kind: name + "_Type")
        } else {
            return nil
        }
    }

    private static let byName: [String: FieldFormat] = [
        "Command_Opcode": .opcode, "Company_Identifier": .company, "Company_ID": .company, "Local_Name": .text, "Remote_Name": .text,
        "Advertising_Data": .advertisingData, "AdvData": .advertisingData, "Scan_Response_Data": .advertisingData,
        "ScanRspData": .advertisingData, "Extended_Inquiry_Response": .advertisingData, "ACAD": .advertisingData,
        "Random_Address": .randomAddress, "Advertising_Random_Address": .randomAddress, "Peer_Resolvable_Private_Address": .randomAddress,
        "Local_Resolvable_Private_Address": .randomAddress, "Peer_Resolvable_Address": .randomAddress,
        "Local_Resolvable_Address": .randomAddress,
    ]

    /// Returns true if the last word of the name indicates a bit pattern instead of a quantity.
    private static func isPattern(_ name: String) -> Bool {
        let word = name.utf8.lastIndex(of: UInt8(ascii: "_")).map { name[name.utf8.index(after: $0)...] } ?? name[...]
        return patterns.contains(word) || name.hasSuffix("Handle_In_Error")
    }

    private static let patterns: Set<Substring> = [
        "Handle", "Opcode", "Map", "Mask", "Flags", "CID", "PSM", "AA", "CRCInit", "ChM", "Type", "Channel", "Device", "LAP", "EDIV",
        "Diversifier",
    ]
}
