import Packets

/// What became of a value that was to be sent without waiting.
public enum SendResult: Sendable, Hashable {
    case sent
    /// The queue is full; `Link.onWritable` will be called.
    case full
    /// The client has not asked for values of this characteristic.
    case notSubscribed
    /// The value does not fit ATT_MTU.
    case tooLong
    case disconnected
}

extension Link {
    /// ATT_MTU, 23 until exchanged.
    public var mtu: Int { bearer.mtu }

    /// The client's Client Characteristic Configuration: bit 0 notifications, bit 1 indications.
    public func configuration(of characteristic: UInt16) -> UInt16 { bearer.server.configuration(of: characteristic) }

    /// Notifies a value at once or not at all: the way for many packets, which allocates nothing.
    public func tryNotify(_ characteristic: UInt16, _ value: RawSpan) -> SendResult {
        guard isConnected else { return .disconnected }
        guard value.byteCount + 3 <= bearer.mtu else { return .tooLong }
        guard bearer.server.configuration(of: characteristic) & 1 != 0 || path.quirks.notifiesUnasked else { return .notSubscribed }
        guard path.scheduler.hasRoom(slot) else { return .full }
        transmit(opcode: ATT.HandleValueNtf.opcode, attribute: characteristic, value)
        if path.quirks.duplicatesNotifications { transmit(opcode: ATT.HandleValueNtf.opcode, attribute: characteristic, value) }
        return .sent
    }

    public func tryNotify(_ characteristic: UInt16, _ value: [UInt8]) -> SendResult { tryNotify(characteristic, value.span.bytes) }

    /// Notifies a value, waiting for room in the queue.
    ///
    /// - Throws: `HostError.misuse(.tooLong)`, `.misuse(.notSubscribed)` if the client has not subscribed, `.peer(.disconnected)`.
    public func notify(_ characteristic: UInt16, _ value: [UInt8]) async throws {
        try await room()
        try check(tryNotify(characteristic, value), value.count)
    }

    /// Indicates a value and waits for the client's confirmation. Core Vol 3, Part F, 3.4.7.2.
    ///
    /// - Throws: as `notify`, and `HostError.peer(.timedOut)` after 30 s.
    public func indicate(_ characteristic: UInt16, _ value: [UInt8]) async throws {
        guard isConnected else { throw HostError.misuse(.notConnected) }
        guard value.count + 3 <= mtu else { throw HostError.misuse(.tooLong(octets: value.count, limit: mtu - 3)) }
        guard configuration(of: characteristic) & 2 != 0 || path.quirks.notifiesUnasked else {
            throw HostError.misuse(.notSubscribed(.indication))
        }
        try await bearer.indicate(characteristic, value)
    }

    /// Notifies several values in one PDU. Core Vol 3, Part F, 3.4.7.4.
    public func notify(_ values: [(characteristic: UInt16, value: [UInt8])]) async throws {
        try await room()
        let list = values.map {
            ATT.MultipleHandleValueNtf.HandleLengthValueTupleList(attributeHandle: $0.characteristic, attributeValue: $0.value)
        }
        let pdu = ATT.MultipleHandleValueNtf(handleLengthValueTupleList: list).bytes
        guard pdu.count <= mtu else { throw HostError.misuse(.tooLong(octets: pdu.count, limit: mtu)) }
        transmit(cid: L2CAP.attCID, pdu)
    }

    /// Tells a client that has asked for it that attributes have changed. Core Vol 3, Part G, 7.1.
    ///
    /// - Returns: false if the client has not asked, or the database has no such characteristic.
    @discardableResult
    public func indicateServiceChanged(from start: UInt16 = 1, to end: UInt16 = 0xFFFF) async throws -> Bool {
        let all = path.database.services.lazy.flatMap(\.characteristics)
        guard let handle = all.first(where: { $0.uuid == .serviceChanged })?.value, configuration(of: handle) & 2 != 0 else { return false }
        var writer = ByteWriter()
        writer.u16(start)
        writer.u16(end)
        try await indicate(handle, writer.bytes)
        return true
    }

    func check(_ result: SendResult, _ count: Int) throws {
        switch result {
        case .sent: return
        case .full: throw HostError.misuse(.busy(.sending))
        case .notSubscribed: throw HostError.misuse(.notSubscribed(.notification))
        case .tooLong: throw HostError.misuse(.tooLong(octets: count, limit: mtu - 3))
        case .disconnected: throw HostError.peer(.disconnected(disconnectReason ?? .success))
        }
    }
}

extension Host {
    /// The ATT_MTU that the server offers and that `GATTClient.exchangeMTU` asks for by default, 23...517.
    public func setOfferedMTU(_ mtu: Int) { path.offeredMTU = min(max(mtu, ATTBearer.defaultMTU), ATTBearer.maximumMTU) }
}
