import BluetoothCrypto
import Packets
import Timing

/// A service as a client found it.
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

/// A characteristic as a client found it.
public struct RemoteCharacteristic: Sendable, Hashable {
    public var uuid: BluetoothUUID
    public var properties: CharacteristicProperties
    public var declaration: UInt16
    public var value: UInt16
    /// The last handle that may hold one of its descriptors.
    public var endHandle: UInt16
}

/// A descriptor as a client found it.
public struct RemoteDescriptor: Sendable, Hashable {
    public var uuid: BluetoothUUID
    public var handle: UInt16
}

/// The client's procedures on one bearer. Core Vol 3, Part G, 4.
///
/// Requests wait for one another; each fails with `HostError.peer(.timedOut)` after 30 s, after which the bearer takes no more.
public struct GATTClient {
    let bearer: ATTBearer
    /// ATT_MTU, as agreed so far.
    public var mtu: Int { bearer.mtu }

    init(_ bearer: ATTBearer) {
        self.bearer = bearer
    }

    /// Sends any request PDU, legal or not, and returns the response PDU.
    ///
    /// - Throws: `HostError.peer(.att)` for ATT_ERROR_RSP, `.peer(.malformed)` for a response to something else.
    public func request(_ pdu: [UInt8]) async throws -> [UInt8] { try await bearer.request(pdu) }

    func request<Request: ATTPDU, Response: ATTPDU>(_ request: Request, _ type: Response.Type = Response.self) async throws -> Response {
        let pdu = try await bearer.request(request.bytes)
        do throws(PDUError) { return try Response(bytes: pdu) } catch { throw HostError.peer(.malformed(.pdu(error))) }
    }

    /// Agrees on ATT_MTU; to be done once per bearer. Over BR/EDR, where L2CAP's configuration does that, nothing is asked. Core Vol 3, Part G, 4.3.1.
    @discardableResult
    public func exchangeMTU(_ mtu: Int = 517) async throws -> Int {
        guard bearer.exchangesMTU else { return bearer.mtu }
        let _: ATT.ExchangeMTURsp = try await request(ATT.ExchangeMTUReq(clientRxMTU: UInt16(clamping: mtu)))
        return bearer.mtu
    }

    // MARK: Reading

    /// Core Vol 3, Part G, 4.8.1. At most ATT_MTU - 1 octets come.
    public func read(_ handle: UInt16) async throws -> [UInt8] {
        let response: ATT.ReadRsp = try await request(ATT.ReadReq(attributeHandle: handle))
        return response.attributeValue
    }

    public func readBlob(_ handle: UInt16, offset: Int) async throws -> [UInt8] {
        let response: ATT.ReadBlobRsp = try await request(
            ATT.ReadBlobReq(attributeHandle: handle, valueOffset: UInt16(clamping: offset)))
        return response.partAttributeValue
    }

    /// The whole value, in as many requests as it takes. Core Vol 3, Part G, 4.8.3.
    public func readLong(_ handle: UInt16) async throws -> [UInt8] {
        var value = try await read(handle)
        var last = value.count
        while last == bearer.mtu - 1, value.count < 512 {
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

    /// Core Vol 3, Part G, 4.8.2. One response's worth of handles and values.
    public func read(
        uuid: BluetoothUUID, from start: UInt16 = 1, to end: UInt16 = 0xFFFF
    ) async throws -> [(handle: UInt16, value: [UInt8])] {
        let response: ATT.ReadByTypeRsp = try await request(
            ATT.ReadByTypeReq(startingHandle: start, endingHandle: end, attributeType: uuid))
        return response.attributeDataList.map { ($0.attributeHandle, $0.attributeValue) }
    }

    /// The values, one after another. Core Vol 3, Part G, 4.8.4.
    public func readMultiple(_ handles: [UInt16]) async throws -> [UInt8] {
        let response: ATT.ReadMultipleRsp = try await request(ATT.ReadMultipleReq(setOfHandles: handles))
        return response.setOfValues
    }

    /// Core Vol 3, Part G, 4.8.5. The last value may be cut.
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

    /// Core Vol 3, Part G, 4.9.3.
    public func write(_ handle: UInt16, _ value: [UInt8]) async throws {
        guard value.count + 3 <= bearer.mtu else { throw HostError.misuse(.tooLong(octets: value.count, limit: bearer.mtu - 3)) }
        let _: ATT.WriteRsp = try await request(ATT.WriteReq(attributeHandle: handle, attributeValue: value))
    }

    /// Writes without response at once or not at all: the way for many packets. Core Vol 3, Part G, 4.9.1.
    public func tryWriteCommand(_ handle: UInt16, _ value: RawSpan) -> SendResult {
        bearer.trySend(opcode: ATT.WriteCmd.opcode, attribute: handle, value)
    }

    public func tryWriteCommand(_ handle: UInt16, _ value: [UInt8]) -> SendResult { tryWriteCommand(handle, value.span.bytes) }

    /// Writes without response, waiting for room in the queue.
    public func writeCommand(_ handle: UInt16, _ value: [UInt8]) async throws {
        try await bearer.waitForRoom()
        try bearer.check(tryWriteCommand(handle, value), octets: value.count)
    }

    /// Core Vol 3, Part G, 4.9.2.
    public func signedWrite(_ handle: UInt16, _ value: [UInt8], csrk: UInt128, counter: UInt32) async throws {
        try await bearer.waitForRoom()
        let message = [ATT.SignedWriteCmd.opcode, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)] + value
        let pdu = message + AttributeHashes.signature(csrk: csrk, message: message, counter: counter)
        guard pdu.count <= bearer.mtu else { throw HostError.misuse(.tooLong(octets: value.count, limit: bearer.mtu - 15)) }
        bearer.channel.transmit(pdu)
    }

    /// A value of any length, prepared in parts and executed. Core Vol 3, Part G, 4.9.4.
    public func writeLong(_ handle: UInt16, _ value: [UInt8]) async throws {
        try await prepare([(handle, value)], verify: false)
    }

    /// Several values, each part checked on its way back, written together or not at all. Core Vol 3, Part G, 4.9.5.
    ///
    /// - Throws: `HostError.peer(.malformed)` if the server echoes other octets; nothing is written then.
    public func reliableWrite(_ values: [(handle: UInt16, value: [UInt8])]) async throws {
        try await prepare(values, verify: true)
    }

    private func prepare(_ values: [(handle: UInt16, value: [UInt8])], verify: Bool) async throws {
        do {
            for (handle, value) in values { try await prepareParts(handle, value, verify: verify) }
        } catch let HostError.peer(fault) {
            await cancelPrepared()
            throw HostError.peer(fault)
        }
        try await execute(true)
    }

    /// Cancels prepared writes, also for a cancelled caller.
    private func cancelPrepared() async {
        guard bearer.channel.isOpen else { return }
        await bearer.loop.cleanUp(within: ATTBearer.transactionTimeOut + .seconds(1)) { try await execute(false) }
    }

    private func prepareParts(_ handle: UInt16, _ value: [UInt8], verify: Bool) async throws {
        var offset = 0
        repeat {
            let part = [UInt8](value[offset...].prefix(bearer.mtu - 5))
            let echo = try await prepareWrite(handle, offset: offset, part)
            guard !verify || echo == part else {
                throw HostError.peer(.malformed(.preparedValueDiffers(handle: handle)))
            }
            offset += part.count
        } while offset < value.count
    }

    /// Queues one part; returns what the server says it has queued.
    @discardableResult
    public func prepareWrite(_ handle: UInt16, offset: Int, _ part: [UInt8]) async throws -> [UInt8] {
        let response: ATT.PrepareWriteRsp = try await request(
            ATT.PrepareWriteReq(attributeHandle: handle, valueOffset: UInt16(clamping: offset), partAttributeValue: part))
        return response.partAttributeValue
    }

    /// Writes or cancels what has been prepared.
    public func execute(_ write: Bool) async throws {
        let _: ATT.ExecuteWriteRsp = try await request(ATT.ExecuteWriteReq(flags: write ? 1 : 0))
    }

    // MARK: Values from the server

    /// Told of the values of one characteristic. Indications are confirmed whether or not anybody listens.
    public func values(of characteristic: UInt16) -> Listeners<AttributeValueHandler> { bearer.listeners(of: characteristic) }
    /// Told of values of characteristics that have no listener of their own.
    public var otherValues: Listeners<AttributeValueHandler> { bearer.otherValues }

    /// Listens to a characteristic and writes its Client Characteristic Configuration, after finding it. Core Vol 3, Part G, 4.10 and 4.11.
    ///
    /// - Returns: the listener's token in `values(of:)`.
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
