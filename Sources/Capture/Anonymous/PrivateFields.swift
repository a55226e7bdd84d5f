import BBPackets

/// Finds what a decoded layer tells of people and devices, and replaces it.
struct PrivateFields {
    /// New octets for a range of a layer's octets.
    struct Edit {
        var range: Range<Int>
        var octets: [UInt8]
    }

    var pseudonyms: Pseudonyms
    private(set) var edits: [Edit] = []
    /// Number of replacements of octets of which nothing is known.
    private(set) var unknown = 0

    /// Octets that tell what a device can do, or how it is configured.
    private static let kept: Set<String> = [
        "Supported_Commands", "LMP_Features", "Extended_LMP_Features", "LE_Features", "LE_States", "Event_Mask", "LE_Event_Mask",
        "Event_Mask_Page_2", "Channel_Map", "AFH_Channel_Map", "Channel_Classification", "Codec_Configuration", "Codec_Capability",
        "Override_Parameters_Data", "Remote_FAE_Table", "ChM", "FeatureSet", "Features", "FeaturePage",
    ]
    private static let resolvingKeys: Set<String> = ["Peer_IRK", "Local_IRK", "Identity_Resolving_Key"]
    private static let names: Set<String> = ["Local_Name", "Remote_Name", "Device_Name"]
    private static let passkeys: Set<String> = ["Passkey", "Numeric_Value"]
    private static let randomNumbers: Set<String> = ["Random_Number", "Rand"]

    init(_ pseudonyms: Pseudonyms) { self.pseudonyms = pseudonyms }

    mutating func takeEdits() -> [Edit] {
        defer { edits = [] }
        return edits
    }

    /// Notes addresses and identity resolving keys of a layer.
    mutating func learn(_ layer: DecodedLayer) {
        for field in layer.fields { learn(field, layer.bytes) }
    }

    private mutating func learn(_ field: DecodedField, _ bytes: [UInt8]) {
        for child in field.children { learn(child, bytes) }
        guard field.range.upperBound <= bytes.count else { return }
        if Self.isAddress(field) { pseudonyms.learn(address: Array(bytes[field.range])) }
        if Self.resolvingKeys.contains(field.name) { pseudonyms.learn(resolvingKey: Array(bytes[field.range])) }
    }

    private static func isAddress(_ field: DecodedField) -> Bool {
        field.children.isEmpty && field.range.count == 6 && (field.addressKind != nil || field.declaration.width == 48)
    }

    /// Replaces the private fields of a layer that is not of the attribute protocol.
    mutating func replace(_ layer: DecodedLayer) {
        switch layer.layer {
        // The first octet tells signals of AVDTP from its media.
        case .l2cap where layer.summary != "": replace(layer.range.dropFirst(1), layer.bytes)
        case .l2capFragment: replace(layer.range.dropFirst(5), layer.bytes)
        case .llIsochronous: replace(layer.range.dropFirst(2), layer.bytes)
        case .rfcommFrames: replaceSerialData(layer)
        case .sdp: replaceElements(layer)
        case .hciData: replaceStreams(layer)
        case .l2cap, .l2capSignaling, .avdtp, .air, .linkLayerHeaders, .rfcomm, .llData: break
        default:
            for field in layer.fields { replace(field, layer.bytes) }
            // The first octet of a vendor event is its own event code.
            replace(layer.trailing.dropFirst(layer.declaration == nil ? 1 : 0), layer.bytes)
        }
    }

    /// Audio. The data of ACL are in layers of their own.
    private mutating func replaceStreams(_ layer: DecodedLayer) {
        let name = layer.code == Int(HCIPacket.Kind.sco.rawValue) ? "Data" : "ISO_Data_Load"
        let hasLayer = layer.code == Int(HCIPacket.Kind.iso.rawValue) && layer.summary != nil
        guard layer.code != Int(HCIPacket.Kind.acl.rawValue), !hasLayer, let data = layer.fields.named(name) else { return }
        replace(data.range, layer.bytes)
    }

    private mutating func replace(_ field: DecodedField, _ bytes: [UInt8]) {
        guard field.children.isEmpty else {
            for child in field.children { replace(child, bytes) }
            return
        }
        guard !field.range.isEmpty, field.range.upperBound <= bytes.count else { return }
        let octets = Array(bytes[field.range])
        if Self.isAddress(field) { return add(field.range, pseudonyms.address(octets)) }
        if Self.passkeys.contains(field.name) { return add(field.range, pseudonyms.passkey(octets)) }
        if Self.randomNumbers.contains(field.name) { return add(field.range, pseudonyms.octets(octets, .key)) }
        guard field.octets != nil, !Self.kept.contains(field.name) else { return }
        if case .uuid = field.declaration.shape { return }
        if !field.isPlainOctets || Self.names.contains(field.name) {
            add(field.range, pseudonyms.text(octets))
        } else {
            if octets.count >= 3 { add(field.range, pseudonyms.octets(octets, octets.count >= 8 && octets.count % 8 == 0 ? .key : .value)) }
        }
    }

    /// Replaces a value of an attribute.
    mutating func replace(value range: Range<Int>, _ bytes: [UInt8]) {
        guard range.upperBound <= bytes.count else { return }
        add(range, pseudonyms.value(Array(bytes[range])))
    }

    /// Replaces octets of which nothing is known.
    mutating func replace(_ range: Range<Int>, _ bytes: [UInt8]) {
        guard !range.isEmpty, range.upperBound <= bytes.count else { return }
        unknown += 1
        add(range, pseudonyms.octets(Array(bytes[range]), .data))
    }

    private mutating func add(_ range: Range<Int>, _ octets: [UInt8]) { edits.append(Edit(range: range, octets: octets)) }

    // MARK: Profiles

    /// Data of a serial port: of AT commands only the texts and long numbers in them.
    private mutating func replaceSerialData(_ layer: DecodedLayer) {
        guard let frame = RFCOMMFrameView(layer.bytes[layer.range]), !frame.isMultiplexer else { return }
        let data = layer.bytes[frame.information]
        guard data.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 13 || $0 == 10 }), data.contains(13) else {
            return replace(frame.information, layer.bytes)
        }
        var at = data.startIndex
        while at < data.endIndex {
            let quoted = data[at] == UInt8(ascii: "\"") ? data[(at + 1)...].firstIndex(of: UInt8(ascii: "\"")) : nil
            let digits = data[at...].prefix { (48...57).contains($0) }
            if let quoted {
                add(at + 1..<quoted, pseudonyms.text(Array(data[(at + 1)..<quoted])))
                at = quoted + 1
            } else if digits.count >= 5 {
                add(digits.indices, pseudonyms.octets(Array(digits), .value).map { 48 + $0 % 10 })
                at = digits.endIndex
            } else {
                at += max(1, digits.count)
            }
        }
    }

    /// Texts and addresses of the web in the data elements of SDP. Core Vol 3, Part B, 3.
    private mutating func replaceElements(_ layer: DecodedLayer) {
        for field in layer.fields where field.octets != nil { replaceElements(field.range, layer.bytes, depth: 0) }
    }

    private mutating func replaceElements(_ range: Range<Int>, _ bytes: [UInt8], depth: Int) {
        var at = range.lowerBound
        while at < range.upperBound, depth < 16 {
            let (type, index) = (bytes[at] >> 3, Int(bytes[at] & 7))
            let lengthOctets = index < 5 ? 0 : 1 << (index - 5)
            let start = at + 1 + lengthOctets
            guard start <= range.upperBound else { return }
            let length = index < 5 ? (type == 0 ? 0 : 1 << index) : bytes[(at + 1)..<start].reduce(0) { $0 << 8 | Int($1) }
            let end = min(range.upperBound, start + length)
            switch type {
            case 4, 8: add(start..<end, pseudonyms.text(Array(bytes[start..<end])))
            case 6, 7: replaceElements(start..<end, bytes, depth: depth + 1)
            default: break
            }
            at = max(start + length, at + 1)
        }
    }
}
