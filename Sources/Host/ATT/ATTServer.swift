import BBPackets

/// The server role of one bearer: requests in, responses out. Core Vol 3, Part F, 3.4.
///
/// A class, since handlers may query it about their client while it calls them.
final class ATTServer {
    /// A rejected request: handle and error code of ATT_ERROR_RSP.
    struct Refusal: Error {
        var handle: UInt16
        var code: ATTErrorCode
        /// No rejection: the application has not answered yet.
        var isLater = false

        static let later = Refusal(handle: 0, code: .unlikelyError, isLater: true)
    }

    typealias Prepared = GATTServerSession.PreparedWrite

    var database: GATTDatabase { client.database }
    let client: GATTServerSession
    /// ATT_MTU of the bearer.
    var mtu = ATTBearer.defaultMTU
    /// Server Rx MTU of ATT_EXCHANGE_MTU_RSP.
    var offeredMTU = ATTBearer.maximumMTU
    /// True on LE; ATT_MTU is not exchanged on BR/EDR. Core Vol 3, Part G, 4.3.1.
    var exchangesMTU = true
    /// True on the fixed channel; signed writes on other bearers are ignored. Core Vol 3, Part G, 4.2.
    var takesSignedWrites = true
    var quirks = HostQuirks()
    /// The request that waits for the application; no other one follows until its response. Core Vol 3, Part F, 3.3.2.
    private(set) var waiting: [UInt8]?
    /// A queue of this bearer alone, as an injected fault.
    private var separate: [Prepared] = []
    /// The client's queue. Core Vol 3, Part F, 3.4.6.
    private var prepared: [Prepared] {
        get {
            if quirks.clients.sharesPreparedWrites { return client.server?.commonQueue ?? [] }
            return quirks.bearers.separatesPreparedWrites ? separate : client.prepared
        }
        set {
            if quirks.clients.sharesPreparedWrites {
                client.server?.commonQueue = newValue
            } else if quirks.bearers.separatesPreparedWrites {
                separate = newValue
            } else {
                client.prepared = newValue
            }
        }
    }
    /// Number of the bearer among those of its client.
    private let bearer: Int
    /// Number of ATT_READ_REQ received.
    var reads = 0
    static let preparedLimit = 64
    static let preparedOctetsLimit = 4096

    init(client: GATTServerSession) {
        self.client = client
        bearer = client.addBearer()
    }

    /// Client Characteristic Configuration: bit 0 notifications, bit 1 indications.
    func configuration(of value: UInt16) -> UInt16 { client.configurations[value] }

    /// Handles a request; nil for commands and other PDUs without a response.
    func receive(_ pdu: RawSpan, from access: AttributeAccess) -> [UInt8]? {
        let opcode = pdu.u8(at: 0)
        if opcode == ATT.WriteCmd.opcode {
            if pdu.byteCount >= 3, !client.isOutOfSync { writeCommand(pdu.u16(at: 1), pdu.extracting(3...), access) }
            return nil
        }
        if opcode == ATT.SignedWriteCmd.opcode {
            let isForThisBearer = takesSignedWrites || quirks.bearers.takesSignedWrites
            if isForThisBearer, !client.isOutOfSync { signedWriteCommand(pdu, access) }
            return nil
        }
        if opcode & 0x40 != 0, !quirks.answersUnknownCommands { return nil }
        return answer(pdu.octets, access)
    }

    /// The response to a request; nil if the application answers later.
    func answer(_ request: [UInt8], _ access: AttributeAccess) -> [UInt8]? {
        let opcode = request[0]
        waiting = nil
        do throws(Refusal) {
            // Longer than any valid PDU (3.2.8); its response might not fit either.
            guard request.count <= mtu else { throw Refusal(handle: 0, code: .invalidPDU) }
            if isOutOfSync(opcode, request) {
                throw Refusal(handle: Self.firstHandle(request), code: .databaseOutOfSync)
            }
            return try respond(opcode, request, access)
        } catch {
            if error.isLater {
                waiting = request
                return nil
            }
            let code = quirks.errorCode ?? error.code
            return ATT.ErrorRsp(
                requestOpcodeInError: ATTOpcode(rawValue: opcode), attributeHandleInError: error.handle, errorCode: code
            ).bytes
        }
    }

    private func isOutOfSync(_ opcode: UInt8, _ request: [UInt8]) -> Bool {
        client.awareness.received(
            on: quirks.bearers.informsOneBearer ? 0 : bearer, isOnly: client.bearers == 1 || quirks.bearers.informsOneBearer,
            needsHandles: Self.needsHandles(opcode, request), isRobust: client.isRobust)
    }

    private func respond(_ opcode: UInt8, _ request: [UInt8], _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        guard !database.choices.withoutRequests.contains(opcode) else { throw Refusal(handle: 0, code: .requestNotSupported) }
        return switch opcode {
        case ATT.ExchangeMTUReq.opcode where exchangesMTU: try exchangeMTU(try Self.parse(request))
        case ATT.FindInformationReq.opcode: try findInformation(try Self.parse(request))
        case ATT.FindByTypeValueReq.opcode: try findByTypeValue(try Self.parse(request), access)
        case ATT.ReadByTypeReq.opcode: try readByType(try Self.parse(request), access)
        case ATT.ReadByGroupTypeReq.opcode: try readByGroupType(try Self.parse(request), access)
        case ATT.ReadReq.opcode: try read(try Self.parse(request), access)
        case ATT.ReadBlobReq.opcode: try readBlob(try Self.parse(request), access)
        case ATT.ReadMultipleReq.opcode: try readMultiple(try Self.parse(request), access)
        case ATT.ReadMultipleVariableReq.opcode: try readMultipleVariable(try Self.parse(request), access)
        case ATT.WriteReq.opcode: try write(try Self.parse(request), access)
        case ATT.PrepareWriteReq.opcode: try prepareWrite(try Self.parse(request), access)
        case ATT.ExecuteWriteReq.opcode: try executeWrite(try Self.parse(request), access)
        default: throw Refusal(handle: 0, code: .requestNotSupported)
        }
    }

    private static func parse<Request: ATTPDU>(_ bytes: [UInt8]) throws(Refusal) -> Request {
        do { return try Request(bytes: bytes) } catch { throw Refusal(handle: 0, code: .invalidPDU) }
    }

    private func exchangeMTU(_ request: ATT.ExchangeMTUReq) throws(Refusal) -> [UInt8] {
        mtu = max(ATTBearer.defaultMTU, min(offeredMTU, Int(request.clientRxMTU)))
        return ATT.ExchangeMTURsp(serverRxMTU: UInt16(offeredMTU)).bytes
    }

    // MARK: Writing

    private func writeCommand(_ handle: UInt16, _ value: RawSpan, _ access: AttributeAccess) {
        guard let attribute = database[attribute: handle] else { return }
        var access = access
        access.handle = handle
        access.isCommand = true
        guard mayWrite(attribute, access) == nil else { return }
        if case .value = attribute.role, let decides = database.decides {
            guard decides(access, [AttributeWrite(handle: handle, value: value.octets)]) == .proceed else { return }
        }
        _ = store(value, attribute, access)
    }

    /// Executes a signed write if its signature is valid. That counts as encryption with the bond's key if the attribute accepts
    /// signatures instead of encryption. Core Vol 3, Part F, 3.4.5.4.
    private func signedWriteCommand(_ pdu: RawSpan, _ access: AttributeAccess) {
        guard let command = try? ATT.SignedWriteCmd(bytes: pdu.octets), let level = client.verify(pdu.octets, quirks) else { return }
        var access = access
        if let attribute = database[attribute: command.attributeHandle], attribute.permissions.contains(.writeSigned) {
            access.security = max(access.security, level)
            access.keySize = LongTermKeySize.maximum
        }
        writeCommand(command.attributeHandle, command.attributeValue.span.bytes, access)
    }

    private func write(_ request: ATT.WriteReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        let handle = request.attributeHandle
        let (attribute, access) = try writable(handle, access)
        try decide(access, [AttributeWrite(handle: handle, value: request.attributeValue)])
        if let code = store(request.attributeValue.span.bytes, attribute, access) { throw Refusal(handle: handle, code: code) }
        return ATT.WriteRsp().bytes
    }

    /// Asks the application about values, not about configurations and features, which the server keeps itself.
    private func decide(_ access: AttributeAccess, _ values: [AttributeWrite]) throws(Refusal) {
        guard let decides = database.decides else { return }
        let writes = values.filter { if case .value? = database[attribute: $0.handle]?.role { true } else { false } }
        guard !writes.isEmpty else { return }
        switch decides(access, writes) {
        case .proceed: return
        case .refuse(let handle, let code): throw Refusal(handle: handle, code: code)
        case .later: throw .later
        }
    }

    private func writable(_ handle: UInt16, _ access: AttributeAccess) throws(Refusal) -> (GATTDatabase.Attribute, AttributeAccess) {
        guard let attribute = database[attribute: handle] else { throw Refusal(handle: handle, code: .invalidHandle) }
        var access = access
        access.handle = handle
        if let refusal = mayWrite(attribute, access) { throw refusal }
        return (attribute, access)
    }

    private func mayWrite(_ attribute: GATTDatabase.Attribute, _ access: AttributeAccess) -> Refusal? {
        if quirks.ignoresPermissions { return nil }
        guard attribute.permissions.contains(.write) else { return Refusal(handle: access.handle, code: .writeNotPermitted) }
        return attribute.permissions.protectionForWriting(keySize: quirks.ignoresKeySize ? 0 : attribute.keySize)
            .refusal(of: access, in: database)
    }

    private func store(_ value: RawSpan, _ attribute: GATTDatabase.Attribute, _ access: AttributeAccess) -> ATTErrorCode? {
        if case .configuration(let characteristic, let properties) = attribute.role {
            return configure(characteristic, properties, value, attribute, access)
        }
        if case .clientFeatures = attribute.role { return client.declare(value) }
        guard value.byteCount <= attribute.maximumLength else { return .invalidAttributeValueLength }
        if let onWrite = attribute.onWrite { return onWrite(access, value) }
        database[access.handle] = value.octets
        return nil
    }

    private func configure(
        _ characteristic: UInt16, _ properties: CharacteristicProperties, _ value: RawSpan, _ attribute: GATTDatabase.Attribute,
        _ access: AttributeAccess
    ) -> ATTErrorCode? {
        guard value.byteCount == 2 else { return .invalidAttributeValueLength }
        let bits = value.u16(at: 0)
        guard bits & ~properties.configurable == 0 else { return .valueNotAllowed }
        client.configure(characteristic, bits)
        attribute.onSubscribe?(access, bits)
        return nil
    }

    private func prepareWrite(_ request: ATT.PrepareWriteReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        let handle = request.attributeHandle
        let part = request.partAttributeValue
        _ = try writable(handle, access)
        let octets = prepared.reduce(0) { $0 + $1.value.count }
        guard prepared.count < Self.preparedLimit, octets + part.count <= Self.preparedOctetsLimit else {
            throw Refusal(handle: handle, code: .prepareQueueFull)
        }
        if !quirks.forgetsPreparedWrites {
            prepared.append(Prepared(handle: handle, offset: Int(request.valueOffset), value: part))
        }
        return ATT.PrepareWriteRsp(attributeHandle: handle, valueOffset: request.valueOffset, partAttributeValue: part).bytes
    }

    private func executeWrite(_ request: ATT.ExecuteWriteReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        var parts = prepared
        prepared.removeAll()
        if quirks.losesFirstPart { parts = Array(parts.dropFirst()) }
        if quirks.ignoresPartOffsets { parts = Self.shuffled(parts) }
        guard request.flags <= 1 else { throw Refusal(handle: 0, code: .invalidPDU) }
        guard request.flags == 1 else { return ATT.ExecuteWriteRsp().bytes }
        let apart = parts.filter { database[attribute: $0.handle]?.takesParts == true }
        for part in apart where part.offset + part.value.count > database[attribute: part.handle]?.maximumLength ?? 0 {
            throw Refusal(handle: part.handle, code: .invalidAttributeValueLength)
        }
        let values = try assemble(parts.filter { database[attribute: $0.handle]?.takesParts != true })
        let writes = apart.map { AttributeWrite(handle: $0.handle, value: $0.value, offset: $0.offset) }
        do { try decide(access, writes + values.map { AttributeWrite(handle: $0.handle, value: $0.value) }) } catch {
            if error.isLater { prepared = parts }
            throw error
        }
        for (handle, value) in values {
            let (attribute, access) = try writable(handle, access)
            if let code = store(value.span.bytes, attribute, access) { throw Refusal(handle: handle, code: code) }
        }
        return ATT.ExecuteWriteRsp().bytes
    }

    /// The order of parts for a server that ignores offsets, as an injected fault.
    private static func shuffled(_ parts: [Prepared]) -> [Prepared] {
        var offset = 0
        return parts.reversed().map { part in
            defer { offset += part.value.count }
            return Prepared(handle: part.handle, offset: offset, value: part.value)
        }
    }

    /// Complete values assembled from prepared parts; all are checked before the first is written. An attribute that has been removed since
    /// its part was prepared is a change of the database. Core Vol 3, Part F, 3.4.6.3.
    private func assemble(_ parts: [Prepared]) throws(Refusal) -> [(handle: UInt16, value: [UInt8])] {
        var values: [(handle: UInt16, value: [UInt8])] = []
        for part in parts {
            guard let attribute = database[attribute: part.handle] else { throw Refusal(handle: part.handle, code: .databaseOutOfSync) }
            let last = values.lastIndex { $0.handle == part.handle }
            var value = last.map { values[$0].value } ?? (part.offset == 0 ? [] : attribute.value)
            guard part.offset <= value.count else { throw Refusal(handle: part.handle, code: .invalidOffset) }
            let end = part.offset + part.value.count
            guard end <= attribute.maximumLength else { throw Refusal(handle: part.handle, code: .invalidAttributeValueLength) }
            value.replaceSubrange(part.offset..<min(end, value.count), with: part.value)
            if let last { values[last].value = value } else { values.append((part.handle, value)) }
        }
        return values
    }
}
