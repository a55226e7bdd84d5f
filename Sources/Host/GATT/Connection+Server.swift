import Packets
import Timing

extension Connection {
    /// ATT_MTU, 23 until exchanged.
    public var mtu: Int { bearer.mtu }
    /// Told when values can be sent again after `SendResult.full`.
    public var writable: Listeners<() -> Void> { bearer.channel.writable }

    /// The client's Client Characteristic Configuration: bit 0 notifications, bit 1 indications.
    public func configuration(of characteristic: UInt16) -> UInt16 { bearer.client.configurations[characteristic] }

    /// Notifies a value at once or not at all: the way for many packets, which allocates nothing.
    public func tryNotify(_ characteristic: UInt16, _ value: RawSpan) -> SendResult {
        guard isConnected else { return .disconnected }
        guard configuration(of: characteristic) & 1 != 0 || context.quirks.notifiesUnasked else { return .notSubscribed }
        guard !bearer.client.isOutOfSync else { return .outOfSync }
        guard bearer.client.maySend(characteristic, on: security) else { return .notEncrypted }
        let result = bearer.trySend(opcode: ATT.HandleValueNtf.opcode, attribute: characteristic, value)
        if result == .sent, context.quirks.duplicatesNotifications {
            bearer.channel.transmit(opcode: ATT.HandleValueNtf.opcode, attribute: characteristic, value)
        }
        return result
    }

    public func tryNotify(_ characteristic: UInt16, _ value: [UInt8]) -> SendResult { tryNotify(characteristic, value.span.bytes) }

    /// Notifies a value, waiting for room in the queue.
    ///
    /// - Throws: `HostError.misuse(.tooLong)`, `.misuse(.notSubscribed)`, `.peer(.disconnected)`, `.peer(.timedOut)` on a bearer whose transaction did.
    public func notify(_ characteristic: UInt16, _ value: [UInt8]) async throws {
        try await bearer.waitForRoom()
        try bearer.check(tryNotify(characteristic, value), octets: value.count)
    }

    /// Indicates a value and waits for the client's confirmation. Core Vol 3, Part F, 3.4.7.2.
    ///
    /// - Throws: as `notify`, and `HostError.peer(.timedOut)` after 30 s.
    public func indicate(_ characteristic: UInt16, _ value: [UInt8]) async throws {
        guard isConnected else { throw HostError.misuse(.notConnected) }
        guard value.count + 3 <= mtu else { throw HostError.misuse(.tooLong(octets: value.count, limit: mtu - 3)) }
        guard configuration(of: characteristic) & 2 != 0 || context.quirks.notifiesUnasked else {
            throw HostError.misuse(.notSubscribed(.indication))
        }
        guard !bearer.client.isOutOfSync else { throw HostError.misuse(.outOfSync) }
        guard bearer.client.maySend(characteristic, on: security) else { throw HostError.misuse(.notEncrypted) }
        try await bearer.indicate(characteristic, value)
    }

    /// Notifies several values in one PDU. Core Vol 3, Part F, 3.4.7.4.
    public func notify(_ values: [(characteristic: UInt16, value: [UInt8])]) async throws {
        try await bearer.waitForRoom()
        let list = values.map {
            ATT.MultipleHandleValueNtf.HandleLengthValueTupleList(attributeHandle: $0.characteristic, attributeValue: $0.value)
        }
        let pdu = ATT.MultipleHandleValueNtf(handleLengthValueTupleList: list).bytes
        guard pdu.count <= mtu else { throw HostError.misuse(.tooLong(octets: pdu.count, limit: mtu)) }
        bearer.channel.transmit(pdu)
    }

    /// Whether the client knows of all changes of the database. Core Vol 3, Part G, 2.5.2.1.
    public var isChangeAware: Bool { bearer.client.awareness.isAware }

    /// The keys that this device and the peer share; nil if they have not bonded.
    public var bond: Bond? { context.keys[peer] }

    /// Keeps what the client has configured with its bond, if it has one.
    func keep(_ record: ClientRecord) {
        if let bond { context.keys.keep(record, of: PeerIdentity(bond.identity)) }
    }
}

extension Host {
    /// The ATT_MTU that the server offers and that `GATTClient.exchangeMTU` asks for by default, 23...65535: a server may take more than
    /// the longest attribute needs. Core Vol 3, Part F, 3.4.2.2.
    public func setOfferedMTU(_ mtu: Int) {
        context.server.offeredMTU = min(max(mtu, ATTBearer.defaultMTU), Int(UInt16.max))
    }
}
