import BBCapture
import BBCases
import BBPackets

/// The declared PDUs for cases: by name, with values of `CaseValue`.
enum PDUCodec {
    struct Failure: Error {
        var text: String
    }

    // MARK: Names

    static func opcode(of command: String) -> UInt16? {
        PDUCatalog.declaration(layer: .hciCommands, name: command).map { UInt16(truncatingIfNeeded: $0.code) }
    }

    /// The layer of a PDU that is sent on a channel of L2CAP.
    static func layer(of name: String) -> Layer? {
        if name == L2CAPFrame.name || RetransmissionFrames.fields[name] != nil { return .l2cap }
        if name == RFCOMMFrames.name { return .rfcommFrames }
        return onChannels.first { PDUCatalog.declaration(layer: $0, name: name) != nil }
    }

    private static let onChannels: [Layer] = [
        .att, .l2capSignaling, .smp, .sdp, .rfcomm, .avdtp, .avctp, .avrcpCommands, .avrcpResponses,
    ]

    /// True if a PDU of that name is observed on the air instead of an HCI.
    static func layerIsAir(_ name: String) -> Bool {
        name == LinkLayerData.name || name == BasebandPacket.name || PDUCatalog.declaration(layer: .llControl, name: name) != nil
            || name.hasPrefix("LMP_") && PDUCatalog.declaration(layer: .lmp, name: name) != nil
            || PDUCatalog.declaration(layer: .advertising, name: name) != nil
    }

    /// True for PDUs of ATT, SMP and L2CAP signalling.
    static func isUpper(_ name: String) -> Bool {
        Set<Layer>.fixedChannels.contains { PDUCatalog.declaration(layer: $0, name: name) != nil }
    }

    static func name(of packet: HCIPacket) -> String {
        guard let code = packet.eventCode else { return "data" }
        return PDUCatalog.declaration(layer: .hciEvents, code: Int(code), subevent: packet.leSubevent.map(Int.init))?.name
            ?? "event \(code)"
    }

    static func name(of payload: [UInt8], in content: ChannelContent) -> String {
        switch content.layer {
        case .l2cap: return content.hasCheck == nil ? L2CAPFrame.name : RetransmissionFrames.name(of: payload)
        case .rfcommFrames: return RFCOMMFrames.name
        case .att, .smp, .l2capSignaling:
            guard let code = payload.first else { return "empty frame" }
            return PDUCatalog.declaration(layer: content.layer, code: Int(code))?.name ?? "PDU \(code)"
        default: return content.layer.decode(sdu: payload, 0..<payload.count)?.name ?? L2CAPFrame.name
        }
    }

    /// A message of RFCOMM's multiplexer.
    static func name(ofMessage message: [UInt8]) -> String { DecodedLayer(layer: .rfcomm, message, 0..<message.count).name }

    // MARK: Decoding

    /// Returns the fields of the innermost PDU for predicates.
    static func record(of observation: Observation) -> CaseRecord {
        switch observation.content {
        case .upper(let content, let bytes, let handle) where observation.name == L2CAPFrame.name:
            return L2CAPFrame.record(of: bytes, content.channel, handle)
        case .upper(let content, let bytes, let handle) where content.layer == .l2cap:
            return RetransmissionFrames.record(of: bytes, content, handle)
        case .upper(let content, let bytes, let handle) where content.layer == .rfcommFrames:
            return RFCOMMFrames.record(of: bytes, content.channel, handle)
        case .air(let frame) where observation.name == LinkLayerData.name: return LinkLayerData.record(of: frame)
        case .baseband(let packet) where observation.name == BasebandPacket.name: return packet.record
        case .voice(let bytes): return SynchronousPacket.record(of: bytes)
        case .event, .upper, .air, .baseband, .upperTester: break
        }
        guard let pdu = observation.decoded.pdu else { return CaseRecord() }
        var record = pdu.caseRecord
        if case .upper(let content, _, let handle) = observation.content {
            if !content.isFixed || content.layer == .att { record[L2CAPFrame.channel] = .number(Int(content.channel)) }
            record["Connection_Handle"] = .number(Int(handle))
            if let identifier = pdu.identifier { record["Identifier"] = .number(Int(identifier)) }
        }
        return record
    }

    /// Returns the return parameters of a command by name.
    static func returns(_ reply: Endpoint.Reply) -> CaseRecord {
        if reply.isStatus { return CaseRecord([("Status", .number(Int(reply.parameters.first ?? 0)))]) }
        let event = DecodedLayer(hci: reply.event)
        if event.fields.named("Return_Parameters")?.isStructure == true { return CaseRecord(event.returns) }
        return CaseRecord(reply.parameters.first.map { [("Status", .number(Int($0))), ("octets", .octets(reply.parameters))] } ?? [])
    }

    /// A whole PDU of a layer whose PDUs begin with their code.
    static func record(layer: Layer, bytes: [UInt8]) -> CaseRecord { DecodedLayer(layer: layer, bytes, 0..<bytes.count).caseRecord }

    private static func nested(_ type: String) -> [FieldDeclaration] {
        PDUCatalog.declaration(layer: .structures, name: type)?.fields ?? []
    }

    // MARK: Encoding

    /// Encodes the parameters of a command, or a complete PDU of a layer above HCI.
    static func encode(_ name: String, _ fields: CaseRecord) throws(Failure) -> [UInt8] {
        if name == L2CAPFrame.name { return fields["Information_Payload"]?.asOctets ?? [] }
        if name == SynchronousPacket.name { return SynchronousPacket.octets(fields) }
        if RetransmissionFrames.fields[name] != nil { return RetransmissionFrames.encode(name, fields) }
        if name == RFCOMMFrames.name { return RFCOMMFrames.encode(fields, given: Set(fields.names)) }
        let layers = [.hciCommands, .llControl, .lmp, .btpCommands] + onChannels
        guard let declaration = layers.lazy.compactMap({ PDUCatalog.declaration(layer: $0, name: name) }).first else {
            throw Failure(text: "it is not declared")
        }
        var fields = fields
        let identifier = fields["Identifier"]?.asNumber
        fields["Identifier"] = nil
        // The channel of a frame is no field of its PDU; commands of an upper tester have one of that name.
        if declaration.layer != .btpCommands { fields[L2CAPFrame.channel] = nil }
        do {
            var pdu = try DynamicPDU(layer: declaration.layer, name: name, try dynamic(fields, declaration.fields))
            pdu.identifier = identifier.map { UInt16(truncatingIfNeeded: $0) }
            if Set<Layer>.answered.contains(declaration.layer) { return try pdu.parameters() }
            return declaration.layer == .rfcomm ? RFCOMMFrames.carrying(try pdu.bytes()) : try pdu.bytes()
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(text: "\(error)")
        }
    }

    /// Encodes a complete event.
    static func event(_ name: String, _ fields: CaseRecord) throws -> [UInt8] {
        guard let declaration = PDUCatalog.declaration(layer: .hciEvents, name: name) else { throw Failure(text: "it is not an event") }
        return try DynamicPDU(layer: declaration.layer, name: name, try dynamic(fields, declaration.fields)).bytes()
    }

    static func dynamic(_ record: CaseRecord, _ declarations: [FieldDeclaration]) throws(Failure) -> [DynamicField] {
        let known = declarations.flat
        var fields: [DynamicField] = []
        for (name, value) in zip(record.names, record.values) {
            fields.append(DynamicField(name, try dynamic(value, known.first { $0.name == name }?.shape, name)))
        }
        return fields
    }

    private static func dynamic(_ value: CaseValue, _ shape: FieldDeclaration.Shape?, _ name: String) throws(Failure) -> FieldValue {
        switch shape {
        case .integer?, .bit?:
            if case .number(let number) = value { return .integer(Int128(number)) }
            if let address = value.asAddress { return .integer(Int128(address)) }
            if case .octets(let octets) = value, octets.count == 8 { return .integer(octets.reversed().reduce(0) { $0 << 8 | Int128($1) }) }
            if let number = value.asNumber { return .integer(Int128(number)) }
            throw Failure(text: "\(name) is a number, not \(value)")
        case .uuid?:
            if case .text(let text) = value, let uuid = BluetoothUUID(text) { return .octets(uuid.octets) }
            if case .number(let number) = value, let short = UInt16(exactly: number) { return .octets(BluetoothUUID(short).octets) }
            if let octets = value.asOctets { return .octets(octets) }
            throw Failure(text: "\(name) is a UUID, not \(value)")
        case .array(_, let element)?:
            guard case .list(let list) = value else { throw Failure(text: "\(name) is a list") }
            var values: [FieldValue] = []
            for item in list { values.append(try dynamic(item, element, name)) }
            return .list(values)
        case .rows(_, let inner)?:
            guard case .list(let list) = value else { throw Failure(text: "\(name) is a list of records") }
            var rows: [FieldValue] = []
            for case .record(let row) in list { rows.append(.structure(try dynamic(row, inner))) }
            return .list(rows)
        case .nested(let type)?:
            guard case .record(let record) = value else { throw Failure(text: "\(name) is a record") }
            return .structure(try dynamic(record, nested(type)))
        case .bytes?, .reserved?, .bits?, .block?, nil:
            guard let octets = value.asOctets else { throw Failure(text: "\(name) is octets, not \(value)") }
            return .octets(octets)
        }
    }
}
