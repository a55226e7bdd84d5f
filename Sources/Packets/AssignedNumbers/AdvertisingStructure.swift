/// The structures of advertising data: length, type, data. Core Vol 3, Part C, 11 and the Supplement, Part A.
enum AdvertisingStructure {
    /// Decodes structures up to the end of the data or up to zeros that fill it; invalid octets follow as a last field.
    static func fields(_ bytes: [UInt8], _ range: Range<Int>) -> [DecodedField] {
        var fields: [DecodedField] = []
        var position = range.lowerBound
        while position < range.upperBound, bytes[position] != 0 {
            let end = position + 1 + Int(bytes[position])
            guard end <= range.upperBound else {
                let rest = position..<range.upperBound
                fields.append(DecodedField(cut, .octets(Array(bytes[rest])), rest))
                break
            }
            fields.append(field(bytes[position + 1], bytes, position + 2..<end))
            position = end
        }
        return fields
    }

    private static func field(_ type: UInt8, _ bytes: [UInt8], _ data: Range<Int>) -> DecodedField {
        guard let declarations = declared[type] else {
            return DecodedField(
                FieldDeclaration(name: "AD_Type_\(Hex.number(type))", shape: .bytes(.rest)), .octets(Array(bytes[data])), data)
        }
        var decoder = FieldDecoder(bytes, data)
        let inner = decoder.fields(declarations.fields)
        guard decoder.problem == nil, decoder.remaining == 0 else {
            return DecodedField(declarations.raw, .octets(Array(bytes[data])), data)
        }
        if inner.count == 1, let only = inner.first, only.name == declarations.raw.name { return only }
        return DecodedField(declarations.raw, .structure, data, children: inner)
    }

    private struct Declared {
        /// The octets of a structure whose data are invalid.
        var raw: FieldDeclaration
        var fields: [FieldDeclaration]
    }

    private static let cut = FieldDeclaration(name: "Incomplete_AD_Structure", shape: .bytes(.rest))

    private static let declared: [UInt8: Declared] = {
        var table: [UInt8: Declared] = [:]
        func add(_ type: UInt8, _ name: String, _ fields: [FieldDeclaration]) {
            table[type] = Declared(raw: FieldDeclaration(name: name, shape: .bytes(.rest)), fields: fields)
        }
        func add(_ type: UInt8, _ name: String, _ shape: FieldDeclaration.Shape, _ format: FieldFormat? = nil) {
            add(type, name, [FieldDeclaration(name: name, shape: shape, hint: format)])
        }
        for (type, width) in [(UInt8(0x02), 2), (0x04, 4), (0x06, 16)] {
            let bits = width * 8
            add(type, "Incomplete_List_Of_\(bits)_Bit_Service_UUIDs", .array(.rest, .uuid(.fixed(width))))
            add(type + 1, "Complete_List_Of_\(bits)_Bit_Service_UUIDs", .array(.rest, .uuid(.fixed(width))))
        }
        for (type, width) in [(UInt8(0x14), 2), (0x15, 16), (0x1F, 4)] {
            add(type, "List_Of_\(width * 8)_Bit_Service_Solicitation_UUIDs", .array(.rest, .uuid(.fixed(width))))
        }
        for (type, width) in [(UInt8(0x16), 2), (0x20, 4), (0x21, 16)] {
            add(
                type, "Service_Data_\(width * 8)_Bit_UUID",
                [FieldDeclaration(name: "UUID", shape: .uuid(.fixed(width))), FieldDeclaration(name: "Data", shape: .bytes(.rest))])
        }
        add(0x01, "Flags", [flags])
        add(0x08, "Shortened_Local_Name", .bytes(.rest), .text)
        add(0x09, "Complete_Local_Name", .bytes(.rest), .text)
        add(0x0A, "TX_Power_Level", [FieldDeclaration(name: "TX_Power_Level", shape: signed(1), unit: "dBm")])
        add(0x0D, "Class_Of_Device", .integer(octets: 3, signed: false, bigEndian: false, type: nil), .pattern(bits: 24))
        add(0x12, "Peripheral_Connection_Interval_Range", [milliseconds("Min"), milliseconds("Max")])
        add(0x17, "Public_Target_Address", .array(.rest, address))
        add(0x18, "Random_Target_Address", .array(.rest, address))
        add(0x19, "Appearance", unsigned(2), .appearance)
        add(0x1A, "Advertising_Interval", [FieldDeclaration(name: "Advertising_Interval", shape: unsigned(2), unit: "ms", scale: "0.625")])
        add(
            0x1B, "LE_Bluetooth_Device_Address",
            [FieldDeclaration(name: "Address", shape: address), FieldDeclaration(name: "Type", shape: unsigned(1), labels: kinds)])
        add(0x1C, "LE_Role", [FieldDeclaration(name: "LE_Role", shape: unsigned(1), labels: roles)])
        add(
            0xFF, "Manufacturer_Specific_Data",
            [
                FieldDeclaration(name: "Company", shape: unsigned(2), hint: .company),
                FieldDeclaration(name: "Data", shape: .bytes(.rest)),
            ])
        add(0x30, "Broadcast_Name", .bytes(.rest), .text)
        add(
            0x31, "Encrypted_Advertising_Data",
            [
                FieldDeclaration(name: "Randomizer", shape: .bytes(.fixed(5))),
                FieldDeclaration(name: "Encrypted_Payload", shape: .bytes(.restLeaving(4))),
                FieldDeclaration(name: "MIC", shape: .bytes(.fixed(4))),
            ])
        for (type, name) in plain { add(type, name, .bytes(.rest)) }
        return table
    }()

    /// The named AD types.
    fileprivate static let types = declared.map { (value: Int($0.key), name: $0.value.raw.name) }.sorted { $0.value < $1.value }

    private static let plain: [(UInt8, String)] = [
        (0x10, "Security_Manager_TK_Value"), (0x11, "Security_Manager_Out_Of_Band_Flags"), (0x22, "LE_Secure_Connections_Confirmation"),
        (0x23, "LE_Secure_Connections_Random"), (0x24, "URI"), (0x25, "Indoor_Positioning"), (0x26, "Transport_Discovery_Data"),
        (0x27, "LE_Supported_Features"), (0x28, "Channel_Map_Update_Indication"), (0x29, "PB_ADV"), (0x2A, "Mesh_Message"),
        (0x2B, "Mesh_Beacon"), (0x2C, "BIGInfo"), (0x2D, "Broadcast_Code"), (0x2E, "Resolvable_Set_Identifier"),
        (0x2F, "Advertising_Interval_Long"), (0x34, "Electronic_Shelf_Label"),
        (0x3D, "3D_Information"),
    ]

    private static let address = FieldDeclaration.Shape.integer(octets: 6, signed: false, bigEndian: false, type: "BDADDR")
    private static let kinds = [(value: 0, name: "Public"), (value: 1, name: "Random")]
    private static let roles = [
        (value: 0, name: "Only_Peripheral"), (value: 1, name: "Only_Central"), (value: 2, name: "Peripheral_Preferred"),
        (value: 3, name: "Central_Preferred"),
    ]
    private static let flags = FieldDeclaration(
        name: "Flags", shape: unsigned(1),
        hint: .flags(
            NamedType(
                name: "AdvertisingFlags", octets: 1, isFlags: true,
                values: [
                    (0, "LE_Limited_Discoverable"), (1, "LE_General_Discoverable"), (2, "BR_EDR_Not_Supported"),
                    (3, "Simultaneous_LE_And_BR_EDR"),
                ]), bits: 8))

    private static func unsigned(_ octets: Int) -> FieldDeclaration.Shape {
        .integer(octets: octets, signed: false, bigEndian: false, type: nil)
    }
    private static func signed(_ octets: Int) -> FieldDeclaration.Shape {
        .integer(octets: octets, signed: true, bigEndian: false, type: nil)
    }
    private static func milliseconds(_ name: String) -> FieldDeclaration {
        FieldDeclaration(name: name, shape: unsigned(2), unit: "ms", scale: "1.25")
    }
}

extension FieldDeclaration {
    /// A field, or a list, of AD types. Core Supplement, Part A, 1.
    public static func advertisingType(named name: String) -> FieldDeclaration {
        FieldDeclaration(
            name: name, shape: .integer(octets: 1, signed: false, bigEndian: false, type: nil), labels: AdvertisingStructure.types)
    }
}
