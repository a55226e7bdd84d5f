import BBPackets

/// The types of a server's attributes as far as a client has discovered them, to replace values and keep what describes the server.
struct AttributeTypes {
    private var types: [UInt16: UInt16] = [:]
    /// Type of the last Read By Type request.
    private var requested: UInt16?
    /// Handle of the last request that reads a value.
    private var read: UInt16?

    private static let most = 8_192
    private static let declarations: ClosedRange<UInt16> = 0x2800...0x2803
    private static let characteristic: UInt16 = 0x2803
    /// Characteristic descriptors, but for the user description; features and hashes of GATT, parameters and appearance of GAP.
    private static let described: Set<UInt16> = [
        0x2900, 0x2902, 0x2903, 0x2904, 0x2905, 0x2A01, 0x2A04, 0x2A05, 0x2AA6, 0x2B29, 0x2B2A, 0x2B3A,
    ]

    /// Replaces the values of a PDU of the attribute protocol.
    mutating func replace(_ layer: DecodedLayer, isOut: Bool?, _ fields: inout PrivateFields) {
        note(layer)
        switch layer.id {
        // A service is found by its UUID; group types are those of services.
        case ATT.FindByTypeValueReq.id, ATT.ReadByGroupTypeRsp.id: return
        case ATT.ReadByTypeRsp.id where requested.map(Self.isDescription) == true: return
        default: break
        }
        let handle = layer.fields.named("Attribute_Handle")?.int.map { UInt16(truncatingIfNeeded: $0) }
        for field in layer.fields { replace(field, layer.bytes, handle ?? (Self.isAnswer(layer.id) ? read : nil), &fields) }
    }

    private static func isDescription(_ type: UInt16) -> Bool { declarations.contains(type) || described.contains(type) }
    private static func isAnswer(_ id: PDUID?) -> Bool { id == ATT.ReadRsp.id || id == ATT.ReadBlobRsp.id }

    private func replace(_ field: DecodedField, _ bytes: [UInt8], _ handle: UInt16?, _ fields: inout PrivateFields) {
        if !field.children.isEmpty {
            let own = field.children.named("Attribute_Handle")?.int.map { UInt16(truncatingIfNeeded: $0) }
            for child in field.children { replace(child, bytes, own ?? handle, &fields) }
            return
        }
        guard field.isPlainOctets, !field.range.isEmpty, handle.flatMap({ types[$0] }).map(Self.isDescription) != true else { return }
        fields.replace(value: field.range, bytes)
    }

    private mutating func note(_ layer: DecodedLayer) {
        switch layer.id {
        case ATT.ReadByTypeReq.id: requested = layer.fields.named("Attribute_Type").flatMap { Self.short($0, layer.bytes) }
        case ATT.ReadReq.id, ATT.ReadBlobReq.id:
            read = layer.fields.named("Attribute_Handle")?.int.map { UInt16(truncatingIfNeeded: $0) }
        case ATT.ReadByTypeRsp.id where requested == Self.characteristic:
            for entry in layer.fields.flatMap(\.children) { learn(characteristic: entry, layer.bytes) }
        case ATT.FindInformationRsp.id:
            for entry in layer.fields.flatMap(\.children) {
                guard let handle = entry.children.first?.int, let type = entry.children.last.flatMap({ Self.short($0, layer.bytes) }) else {
                    continue
                }
                add(UInt16(truncatingIfNeeded: handle), type)
            }
        default: break
        }
    }

    /// Properties, handle of the value, UUID. Core Vol 3, Part G, 3.3.1.
    private mutating func learn(characteristic entry: DecodedField, _ bytes: [UInt8]) {
        guard let value = entry.children.last(where: { $0.isPlainOctets }), value.range.count == 5, value.range.upperBound <= bytes.count
        else { return }
        let octets = bytes[value.range]
        guard let handle: UInt16 = octets.number(at: 1, big: false), let type: UInt16 = octets.number(at: 3, big: false) else { return }
        add(handle, type)
    }

    private mutating func add(_ handle: UInt16, _ type: UInt16) { if types.count < Self.most { types[handle] = type } }

    /// A UUID of 16 bits.
    private static func short(_ field: DecodedField, _ bytes: [UInt8]) -> UInt16? {
        field.range.count == 2 && field.range.upperBound <= bytes.count ? bytes[field.range].number(at: 0, big: false) : nil
    }
}
