import BBBluetoothCrypto
import BBPackets
import BBTiming

/// A discovered service.
public struct RemoteService: Sendable, Hashable {
    public var uuid: BluetoothUUID
    public var handle: UInt16
    public var endHandle: UInt16
    public var isPrimary: Bool

    public init(uuid: BluetoothUUID, handle: UInt16, endHandle: UInt16, isPrimary: Bool = true) {
        self.uuid = uuid
        self.handle = handle
        self.endHandle = endHandle
        self.isPrimary = isPrimary
    }
}

/// A discovered characteristic.
public struct RemoteCharacteristic: Sendable, Hashable {
    public var uuid: BluetoothUUID
    public var properties: CharacteristicProperties
    public var declaration: UInt16
    public var value: UInt16
    /// The last handle that may be a descriptor of the characteristic.
    public var endHandle: UInt16
}

/// A discovered descriptor.
public struct RemoteDescriptor: Sendable, Hashable {
    public var uuid: BluetoothUUID
    public var handle: UInt16
}

/// GATT client procedures on one bearer. Core Vol 3, Part G, 4.
///
/// Requests are queued. A request fails with `HostError.peer(.timedOut)` after 30 s; the bearer then accepts no more requests.
public struct GATTClient {
    let bearer: ATTBearer
    /// Current ATT_MTU.
    public var mtu: Int { bearer.mtu }

    init(_ bearer: ATTBearer) {
        self.bearer = bearer
    }

    /// Sends any request PDU, valid or not, and returns the response PDU.
    ///
    /// - Throws: `HostError.peer(.att)` for ATT_ERROR_RSP, `.peer(.malformed)` for a response to another request.
    public func request(_ pdu: [UInt8]) async throws -> [UInt8] { try await bearer.request(pdu) }

    func request<Request: ATTPDU, Response: ATTPDU>(_ request: Request, _ type: Response.Type = Response.self) async throws -> Response {
        let pdu = try await bearer.request(request.bytes)
        do throws(PDUError) { return try Response(bytes: pdu) } catch { throw HostError.peer(.malformed(.pdu(error))) }
    }

    /// Exchanges ATT_MTU; allowed once, on the fixed channel of LE. Elsewhere nothing is sent, since ATT_MTU follows from the L2CAP channel.
    /// Core Vol 3, Part G, 4.2 and 4.3.1.
    @discardableResult
    public func exchangeMTU(_ mtu: Int = 517) async throws -> Int {
        guard bearer.exchangesMTU else { return bearer.mtu }
        let _: ATT.ExchangeMTURsp = try await request(ATT.ExchangeMTUReq(clientRxMTU: UInt16(clamping: mtu)))
        return bearer.mtu
    }

    // MARK: Reading

    /// Read Characteristic Value. Returns at most ATT_MTU - 1 octets. Core Vol 3, Part G, 4.8.1.
    public func read(_ handle: UInt16) async throws -> [UInt8] {
        let response: ATT.ReadRsp = try await request(ATT.ReadReq(attributeHandle: handle))
        return response.attributeValue
    }

    public func readBlob(_ handle: UInt16, offset: Int) async throws -> [UInt8] {
        let response: ATT.ReadBlobRsp = try await request(
            ATT.ReadBlobReq(attributeHandle: handle, valueOffset: UInt16(clamping: offset)))
        return response.partAttributeValue
    }

    /// Read Long Characteristic Values: the complete value, in several requests if needed. Core Vol 3, Part G, 4.8.3.
    public func readLong(_ handle: UInt16) async throws -> [UInt8] {
        var value = try await read(handle)
        var last = value.count
        while last == bearer.mtu - 1, value.count < AttributeValueLength.longest {
            do {
                let part = try await readBlob(handle, offset: value.count)
                value += part
                last = part.count
            } catch HostError.peer(.att(_, _, .attributeNotLong)) {
                break
            } catch HostError.peer(.att(_, _, .invalidOffset)) where value.count == bearer.mtu - 1 {
                break
            }
        }
        return value
    }

    /// Read Using Characteristic UUID: handles and values of one response. Core Vol 3, Part G, 4.8.2.
    public func read(
        uuid: BluetoothUUID, from start: UInt16 = 1, to end: UInt16 = 0xFFFF
    ) async throws -> [(handle: UInt16, value: [UInt8])] {
        if uuid == .databaseHash { try await settleOtherBearers() }
        let response: ATT.ReadByTypeRsp = try await request(
            ATT.ReadByTypeReq(startingHandle: start, endingHandle: end, attributeType: uuid))
        if uuid == .databaseHash { bearer.remote.hashRead() }
        return response.attributeDataList.map { ($0.attributeHandle, $0.attributeValue) }
    }

    /// After Database Out Of Sync, waits until no request on another bearer is left without a response: the server would take it for one of
    /// a client that is aware of the change. Core Vol 3, Part G, 2.5.2.1.
    private func settleOtherBearers() async throws {
        guard bearer.remote.isOutOfSync, !bearer.context.quirks.bearers.readsHashAtOnce, let link = bearer.client.link else { return }
        let isPending = { [bearer] (other: ATTBearer) in other !== bearer && other.pendingRequests > 0 }
        while (link.attributeBearer.map { [$0] } ?? []).contains(where: isPending)
            || link.enhancedAttributeBearers.contains(where: isPending)
        {
            try await bearer.remote.nextAnswer()
        }
    }

    /// Read Multiple Characteristic Values: the concatenated values. Core Vol 3, Part G, 4.8.4.
    public func readMultiple(_ handles: [UInt16]) async throws -> [UInt8] {
        let response: ATT.ReadMultipleRsp = try await request(ATT.ReadMultipleReq(setOfHandles: handles))
        return response.setOfValues
    }

    /// Read Multiple Variable Length Characteristic Values. The last value may be truncated. Core Vol 3, Part G, 4.8.5.
    public func readMultipleVariable(_ handles: [UInt16]) async throws -> [[UInt8]] {
        let pdu = try await request(ATT.ReadMultipleVariableReq(setOfHandles: handles).bytes)
        var values: [[UInt8]] = []
        var position = 1
        while position + 2 <= pdu.count {
            let length = Int(pdu[position]) | Int(pdu[position + 1]) << 8
            values.append([UInt8](pdu[(position + 2)...].prefix(length)))
            position += 2 + length
        }
        return values
    }

    // MARK: Writing

    /// Write Characteristic Value. Core Vol 3, Part G, 4.9.3.
    ///
    /// A server refuses a value of more than 512 octets. Core Vol 3, Part F, 3.2.9.
    public func write(_ handle: UInt16, _ value: [UInt8]) async throws {
        guard value.count + 3 <= bearer.mtu else { throw HostError.misuse(.tooLong(octets: value.count, limit: bearer.mtu - 3)) }
        let _: ATT.WriteRsp = try await request(ATT.WriteReq(attributeHandle: handle, attributeValue: value))
    }

    /// Writes at most 512 octets without response, at once or not at all; the fast path for many packets. Core Vol 3, Part G, 4.9.1.
    public func tryWriteCommand(_ handle: UInt16, _ value: RawSpan) -> SendResult {
        bearer.trySend(opcode: ATT.WriteCmd.opcode, attribute: handle, value)
    }

    public func tryWriteCommand(_ handle: UInt16, _ value: [UInt8]) -> SendResult { tryWriteCommand(handle, value.span.bytes) }

    /// Writes without response after waiting for queue space.
    public func writeCommand(_ handle: UInt16, _ value: [UInt8]) async throws {
        try await bearer.waitForRoom()
        try bearer.check(tryWriteCommand(handle, value), octets: value.count)
    }

    /// Signed Write Without Response. Core Vol 3, Part G, 4.9.2.
    public func signedWrite(_ handle: UInt16, _ value: [UInt8], csrk: UInt128, counter: UInt32) async throws {
        try await bearer.waitForRoom()
        try bearer.checkSigned(value)
        let message = [ATT.SignedWriteCmd.opcode, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)] + value
        let pdu = message + AttributeHashes.signature(csrk: csrk, message: message, counter: counter)
        bearer.transmit(pdu)
    }

    /// Write Long Characteristic Values: prepares a value in parts and executes the write. Core Vol 3, Part G, 4.9.4.
    ///
    /// - Parameter offset: octets of the present value that stay before `value`.
    public func writeLong(_ handle: UInt16, _ value: [UInt8], offset: Int = 0) async throws {
        try await prepare([(handle, value)], offset: offset, verify: false)
    }

    /// Reliable Writes: several values, with each echoed part checked, written together or not at all. Core Vol 3, Part G, 4.9.5.
    ///
    /// - Throws: `HostError.peer(.malformed)` if the server echoes other octets; nothing is written then.
    public func reliableWrite(_ values: [(handle: UInt16, value: [UInt8])]) async throws {
        try await prepare(values, verify: true)
    }

    private func prepare(_ values: [(handle: UInt16, value: [UInt8])], offset: Int = 0, verify: Bool) async throws {
        try await bearer.remote.queueWrites {
            do {
                for (handle, value) in values { try await prepareParts(handle, value, offset: offset, verify: verify) }
            } catch let HostError.peer(fault) {
                await cancelPrepared()
                throw HostError.peer(fault)
            }
            try await execute(true)
        }
    }

    /// Cancels prepared writes, even if the caller was cancelled.
    private func cancelPrepared() async {
        guard bearer.isUsable else { return }
        await bearer.loop.cleanUp(within: ATTBearer.transactionTimeOut + .seconds(1)) { try await execute(false) }
    }

    private func prepareParts(_ handle: UInt16, _ value: [UInt8], offset: Int, verify: Bool) async throws {
        var position = 0
        repeat {
            let part = [UInt8](value[position...].prefix(bearer.mtu - 5))
            let echo = try await prepare(handle, offset: offset + position, part)
            let isSame = echo.attributeHandle == handle && Int(echo.valueOffset) == offset + position && echo.partAttributeValue == part
            guard !verify || isSame else {
                throw HostError.peer(.malformed(.preparedValueDiffers(handle: handle)))
            }
            position += part.count
        } while position < value.count
    }

    /// Queues one part; returns the part echoed by the server.
    @discardableResult
    public func prepareWrite(_ handle: UInt16, offset: Int, _ part: [UInt8]) async throws -> [UInt8] {
        try await prepare(handle, offset: offset, part).partAttributeValue
    }

    private func prepare(_ handle: UInt16, offset: Int, _ part: [UInt8]) async throws -> ATT.PrepareWriteRsp {
        try await request(ATT.PrepareWriteReq(attributeHandle: handle, valueOffset: UInt16(clamping: offset), partAttributeValue: part))
    }

    /// Executes or cancels the prepared writes.
    public func execute(_ write: Bool) async throws {
        let _: ATT.ExecuteWriteRsp = try await request(ATT.ExecuteWriteReq(flags: write ? 1 : 0))
    }

    // MARK: Notifications and indications

    /// Listeners for the values of one characteristic. Indications are confirmed even without a listener.
    public func values(of characteristic: UInt16) -> Listeners<AttributeValueHandler> { bearer.remote.listeners(of: characteristic) }
    /// Listeners for values of characteristics without a listener of their own.
    public var otherValues: Listeners<AttributeValueHandler> { bearer.remote.otherValues }

    /// Adds a listener to a characteristic and writes its Client Characteristic Configuration, after discovering it. Core Vol 3, Part G,
    /// 4.10 and 4.11.
    ///
    /// - Returns: the token of the listener in `values(of:)`.
    @discardableResult
    public func subscribe(
        _ characteristic: RemoteCharacteristic, _ kind: AttributeValueKind = .notification, _ handler: @escaping AttributeValueHandler
    ) async throws -> Listeners<AttributeValueHandler>.Token {
        let descriptors = try await discoverDescriptors(of: characteristic)
        guard let configuration = descriptors.first(where: { $0.uuid == .clientConfiguration }) else {
            throw HostError.peer(.malformed(.noClientConfiguration(characteristic: characteristic.value)))
        }
        let token = values(of: characteristic.value).add(handler)
        do {
            try await write(configuration.handle, kind == .notification ? [1, 0] : [2, 0])
        } catch {
            values(of: characteristic.value).remove(token)
            throw error
        }
        return token
    }
}
