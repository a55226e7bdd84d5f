import L2CAP
import Packets

/// Names of the attributes of both ends of a connection, as service discovery shows them. Core Vol 3, Part G, 4.
struct AttributeNames {
    /// The attributes of one end.
    private struct Server {
        /// The UUID of each service, by its first handle.
        var services: [Int: BluetoothUUID] = [:]
        /// The UUID of each characteristic, by the handle of its value.
        var characteristics: [Int: BluetoothUUID] = [:]
        var descriptors: [Int: BluetoothUUID] = [:]
        /// Handles with their names, as they were needed before; an empty text stands for no name.
        var texts: [Int: String] = [:]
        /// UUID in the last request for types or values.
        var requested: BluetoothUUID?

        mutating func add(_ uuid: BluetoothUUID, at handle: Int, to list: WritableKeyPath<Server, [Int: BluetoothUUID]>) {
            guard self[keyPath: list].count < AttributeNames.most || self[keyPath: list][handle] != nil else { return }
            self[keyPath: list][handle] = uuid
            texts.removeAll()
        }
    }

    private var near = Server()
    private var far = Server()
    /// Of both ends, in a sniffer's capture without directions.
    private var either = Server()
    /// The peer's Device Name, if it was read.
    private(set) var deviceName: String?

    private static let most = 4_096
    private static let primaryService = BluetoothUUID(0x2800)
    private static let secondaryService = BluetoothUUID(0x2801)
    private static let characteristic = BluetoothUUID(0x2803)
    private static let deviceName = BluetoothUUID(0x2A00)
    private static let fields = ["Attribute_Handle", "Attribute_Handle_In_Error"]
    /// Requests and responses of discovery: their meaning depends on earlier PDUs. Core Vol 3, Part F, 3.4.3 and 3.4.4.
    private static let discovery: Set<UInt8> = [0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x10, 0x11]

    static func isDiscovery(_ opcode: UInt8) -> Bool { discovery.contains(opcode) }

    /// Learns from an ATT PDU, and names its handles.
    mutating func name(_ pdu: inout DecodedLayer, _ way: LinkDirection) {
        guard pdu.declaration != nil else { return }
        // What a client sends has an even opcode. Core Vol 3, Part F, 3.4.8.
        let side = pdu.code.isMultiple(of: 2) ? way.other : way
        if Self.isDiscovery(UInt8(truncatingIfNeeded: pdu.code)) { note(pdu, side) }
        switch side {
        case .forth: Self.label(&pdu, &near)
        case .back: Self.label(&pdu, &far)
        case .unknown: Self.label(&pdu, &either)
        }
    }

    private subscript(side: LinkDirection) -> Server {
        get {
            switch side {
            case .forth: near
            case .back: far
            case .unknown: either
            }
        }
        set {
            switch side {
            case .forth: near = newValue
            case .back: far = newValue
            case .unknown: either = newValue
            }
        }
    }

    private static func label(_ pdu: inout DecodedLayer, _ server: inout Server) {
        for field in fields {
            guard let handle = pdu.fields.named(field)?.int, let text = text(handle, &server) else { continue }
            pdu.label(field, as: text)
        }
    }

    /// The attributes of the peer, to be known in its next connection.
    var ofPeer: AttributeNames {
        var kept = AttributeNames()
        kept.far = far
        kept.deviceName = deviceName
        return kept
    }

    // MARK: Texts

    private static func text(_ handle: Int, _ server: inout Server) -> String? {
        if let known = server.texts[handle] { return known.isEmpty ? nil : known }
        let text = makeText(handle, server).map { "\(Hex.number(UInt16(truncatingIfNeeded: handle), bits: 16)) (\($0))" }
        server.texts[handle] = text ?? ""
        return text
    }

    private static func makeText(_ handle: Int, _ server: Server) -> String? {
        if let uuid = server.characteristics[handle] { return name(uuid) }
        if let uuid = server.services[handle] { return name(uuid) + " service" }
        if let uuid = server.characteristics[handle + 1] { return name(uuid) + " declaration" }
        guard let uuid = server.descriptors[handle] else { return nil }
        let owner = server.characteristics.keys.filter { $0 < handle }.max().flatMap { server.characteristics[$0] }
        return name(uuid) + (owner.map { " of " + name($0) } ?? "")
    }

    private static func name(_ uuid: BluetoothUUID) -> String { uuid.short.flatMap { AssignedNumbers.name(uuid: $0) } ?? "\(uuid)" }

    // MARK: Discovery

    private mutating func note(_ pdu: DecodedLayer, _ side: LinkDirection) {
        var server = self[side]
        defer { self[side] = server }
        switch pdu.name {
        case "ATT_READ_BY_TYPE_REQ": server.requested = pdu.fields.named("Attribute_Type")?.octets.flatMap { BluetoothUUID(octets: $0) }
        case "ATT_READ_BY_GROUP_TYPE_REQ":
            server.requested = pdu.fields.named("Attribute_Group_Type")?.octets.flatMap { BluetoothUUID(octets: $0) }
        case "ATT_FIND_BY_TYPE_VALUE_REQ":
            let isService = pdu.fields.named("Attribute_Type")?.int == Self.primaryService.short.map(Int.init)
            server.requested = isService ? pdu.fields.named("Attribute_Value")?.octets.flatMap { BluetoothUUID(octets: $0) } : nil
        case "ATT_READ_BY_GROUP_TYPE_RSP":
            guard server.requested == Self.primaryService || server.requested == Self.secondaryService else { break }
            for (handle, value) in Self.rows(pdu, "Attribute_Data_List", "Attribute_Handle", "Attribute_Value") {
                if let uuid = BluetoothUUID(octets: value) { server.add(uuid, at: handle, to: \.services) }
            }
        case "ATT_FIND_BY_TYPE_VALUE_RSP":
            guard let uuid = server.requested else { break }
            for row in pdu.fields.named("Handles_Information_List")?.children ?? [] {
                if let handle = row.children.named("Found_Attribute_Handle")?.int { server.add(uuid, at: handle, to: \.services) }
            }
        case "ATT_READ_BY_TYPE_RSP": noteTypes(pdu, side, &server)
        case "ATT_FIND_INFORMATION_RSP":
            for (handle, value) in Self.rows(pdu, "Information_Data", "Handle", "UUID") {
                if let uuid = BluetoothUUID(octets: value) { server.add(uuid, at: handle, to: \.descriptors) }
            }
        default: break
        }
    }

    private mutating func noteTypes(_ pdu: DecodedLayer, _ side: LinkDirection, _ server: inout Server) {
        let rows = Self.rows(pdu, "Attribute_Data_List", "Attribute_Handle", "Attribute_Value")
        switch server.requested {
        case Self.characteristic:
            // Properties, handle of the value, UUID. Core Vol 3, Part G, 3.3.1.
            for (_, value) in rows where value.count >= 5 {
                guard let uuid = BluetoothUUID(octets: Array(value[3...])) else { continue }
                server.add(uuid, at: Int(value[1]) | Int(value[2]) << 8, to: \.characteristics)
            }
        case Self.deviceName where side != .forth:
            if let value = rows.first?.value { deviceName = PeerNames.text(value) }
        default: break
        }
    }

    private static func rows(_ pdu: DecodedLayer, _ list: String, _ handle: String, _ value: String) -> [(handle: Int, value: [UInt8])] {
        (pdu.fields.named(list)?.children ?? []).compactMap { row in
            guard let handle = row.children.named(handle)?.int, let value = row.children.named(value)?.octets else { return nil }
            return (handle, value)
        }
    }
}
