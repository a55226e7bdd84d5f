import BBL2CAP
import BBPackets

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

        mutating func add(_ uuid: BluetoothUUID, at handle: UInt16, to list: WritableKeyPath<Server, [Int: BluetoothUUID]>) {
            let known = self[keyPath: list][Int(handle)]
            guard known != uuid, known != nil || self[keyPath: list].count < AttributeNames.most else { return }
            self[keyPath: list][Int(handle)] = uuid
            texts.removeAll()
        }

        /// A handle with its name; nil if it has none.
        mutating func text(_ handle: Int) -> String? {
            if let known = texts[handle] { return known.isEmpty ? nil : known }
            let text = makeText(handle).map { "\(Hex.number(UInt16(truncatingIfNeeded: handle), bits: 16)) (\($0))" }
            texts[handle] = text ?? ""
            return text
        }

        private func makeText(_ handle: Int) -> String? {
            if let uuid = characteristics[handle] { return Self.name(uuid) }
            if let uuid = services[handle] { return Self.name(uuid) + " service" }
            if let uuid = characteristics[handle + 1] { return Self.name(uuid) + " declaration" }
            guard let uuid = descriptors[handle] else { return nil }
            let owner = characteristics.keys.filter { $0 < handle }.max().flatMap { characteristics[$0] }
            return Self.name(uuid) + (owner.map { " of " + Self.name($0) } ?? "")
        }

        private static func name(_ uuid: BluetoothUUID) -> String { uuid.short.flatMap { AssignedNumbers.name(uuid: $0) } ?? "\(uuid)" }
    }

    /// The attributes of each end; of both in a sniffer's capture without directions.
    private var servers = ByDirection(Server())
    /// The peer's Device Name, if it was read.
    private(set) var deviceName: String?

    private static let most = 4_096
    private static let primaryService = BluetoothUUID(0x2800)
    private static let secondaryService = BluetoothUUID(0x2801)
    private static let characteristic = BluetoothUUID(0x2803)
    private static let deviceName = BluetoothUUID(0x2A00)
    private static let fields = ["Attribute_Handle", "Attribute_Handle_In_Error"]
    /// By opcode: the place of the handle that a PDU names.
    private static let places = (0...UInt8.max).map { opcode in
        let declaration = PDUCatalog.declaration(layer: .att, code: Int(opcode))
        return fields.lazy.compactMap { declaration?.offset(ofField: $0) }.first.map { $0 + 1 }
    }

    /// Names the handles of an ATT PDU.
    mutating func name(_ pdu: inout DecodedLayer, _ way: LinkDirection) {
        guard pdu.declaration != nil else { return }
        let side = Self.server(UInt8(truncatingIfNeeded: pdu.code), way)
        for field in Self.fields {
            guard let handle = pdu.fields.named(field)?.int, let text = servers[side].text(handle) else { continue }
            pdu.label(field, as: text)
        }
    }

    /// The name that an ATT PDU shows for its handle; nil if there is none.
    mutating func text(_ pdu: RawSpan, _ way: LinkDirection) -> String? {
        guard !pdu.isEmpty, let place = Self.places[Int(pdu.u8(at: 0))], pdu.byteCount >= place + 2 else { return nil }
        return servers[Self.server(pdu.u8(at: 0), way)].text(Int(pdu.u16(at: place)))
    }

    /// The end whose attributes a PDU means: what a client sends has an even opcode. Core Vol 3, Part F, 3.4.8.
    private static func server(_ opcode: UInt8, _ way: LinkDirection) -> LinkDirection { opcode.isMultiple(of: 2) ? way.other : way }

    /// The attributes of the peer, to be known in its next connection.
    var ofPeer: AttributeNames {
        var kept = AttributeNames()
        kept.servers[.back] = servers[.back]
        return kept
    }

    // MARK: Discovery

    /// Learns from requests and responses of discovery. Core Vol 3, Part F, 3.4.3 and 3.4.4.
    mutating func learn(from pdu: RawSpan, _ way: LinkDirection) {
        guard !pdu.isEmpty else { return }
        let opcode = pdu.u8(at: 0)
        let side = Self.server(opcode, way)
        var reader = ByteReader(pdu.extracting(1...))
        switch opcode {
        case ATT.ReadByTypeReq.opcode: servers[side].requested = (try? ATT.ReadByTypeReq(from: &reader))?.attributeType
        case ATT.ReadByGroupTypeReq.opcode: servers[side].requested = (try? ATT.ReadByGroupTypeReq(from: &reader))?.attributeGroupType
        case ATT.FindByTypeValueReq.opcode:
            let request = try? ATT.FindByTypeValueReq(from: &reader)
            let isService = request?.attributeType == Self.primaryService.short
            servers[side].requested = isService ? request.flatMap { BluetoothUUID(octets: $0.attributeValue) } : nil
        case ATT.ReadByGroupTypeRsp.opcode:
            guard servers[side].requested == Self.primaryService || servers[side].requested == Self.secondaryService else { break }
            for row in (try? ATT.ReadByGroupTypeRsp(from: &reader))?.attributeDataList ?? [] {
                if let uuid = BluetoothUUID(octets: row.attributeValue) { servers[side].add(uuid, at: row.attributeHandle, to: \.services) }
            }
        case ATT.FindByTypeValueRsp.opcode:
            guard let uuid = servers[side].requested else { break }
            for row in (try? ATT.FindByTypeValueRsp(from: &reader))?.handlesInformationList ?? [] {
                servers[side].add(uuid, at: row.foundAttributeHandle, to: \.services)
            }
        case ATT.ReadByTypeRsp.opcode:
            if let response = try? ATT.ReadByTypeRsp(from: &reader) { learn(from: response, side) }
        case ATT.FindInformationRsp.opcode:
            for row in (try? ATT.FindInformationRsp(from: &reader))?.informationData ?? [] {
                servers[side].add(row.uuid, at: row.handle, to: \.descriptors)
            }
        default: break
        }
    }

    private mutating func learn(from response: ATT.ReadByTypeRsp, _ side: LinkDirection) {
        switch servers[side].requested {
        case Self.characteristic:
            // Properties, handle of the value, UUID. Core Vol 3, Part G, 3.3.1.
            for value in response.attributeDataList.lazy.map(\.attributeValue) where value.count >= 5 {
                guard let uuid = BluetoothUUID(octets: Array(value[3...])) else { continue }
                servers[side].add(uuid, at: UInt16(value[1]) | UInt16(value[2]) << 8, to: \.characteristics)
            }
        case Self.deviceName where side != .forth:
            if let value = response.attributeDataList.first?.attributeValue { deviceName = PeerNames.text(value) }
        default: break
        }
    }
}
