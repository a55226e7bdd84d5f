import BBPackets

/// Sends notifications and indications to the client. Core Vol 3, Part G, 4.10 and 4.11.
///
/// Notifications go on one bearer, in order. Each indication goes on the Enhanced ATT bearer with the fewest pending ones, if the link has any.
public struct GATTValues {
    let bearer: ATTBearer
    /// The Enhanced ATT bearers of the link; nil for values on `bearer` alone.
    private let others: EnhancedBearers?

    init(_ bearer: ATTBearer, _ others: EnhancedBearers? = nil) {
        self.bearer = bearer
        self.others = others
    }

    /// ATT_MTU of the client's bearer.
    public var mtu: Int { bearer.mtu }
    /// Octets of the longest value that can be notified or indicated.
    public var longest: Int { bearer.longestValue }

    /// The client's Client Characteristic Configuration: bit 0 notifications, bit 1 indications.
    public func configuration(of characteristic: UInt16) -> UInt16 { bearer.client.configurations[characteristic] }

    /// Notifies a value at once or not at all; the fast path for many packets, without allocation.
    public func tryNotify(_ characteristic: UInt16, _ value: RawSpan) -> SendResult {
        guard bearer.isOpen else { return .disconnected }
        if let impediment = impediment(to: characteristic) { return impediment }
        let result = bearer.trySend(opcode: ATT.HandleValueNtf.opcode, attribute: characteristic, value)
        if result == .sent, bearer.context.quirks.duplicatesNotifications {
            bearer.transmit(opcode: ATT.HandleValueNtf.opcode, attribute: characteristic, value)
        }
        if result == .sent, bearer.context.quirks.clients.notifiesAll {
            for other in bearer.client.others {
                other.link?.attributeBearer?.transmit(opcode: ATT.HandleValueNtf.opcode, attribute: characteristic, value)
            }
        }
        return result
    }

    /// Reason for not notifying the client of a characteristic; nil if there is none.
    private func impediment(to characteristic: UInt16) -> SendResult? {
        guard configuration(of: characteristic) & 1 != 0 || bearer.context.quirks.notifiesUnasked else { return .notSubscribed }
        guard !bearer.client.isOutOfSync else { return .outOfSync }
        return bearer.client.maySend(characteristic) ? nil : .notEncrypted
    }

    public func tryNotify(_ characteristic: UInt16, _ value: [UInt8]) -> SendResult { tryNotify(characteristic, value.span.bytes) }

    /// Notifies a value after waiting for queue space.
    ///
    /// - Throws: `HostError.misuse(.tooLong)`, `.misuse(.notSubscribed)`, `.peer(.disconnected)`, `.peer(.timedOut)` on a bearer with a
    ///   timed-out transaction.
    public func notify(_ characteristic: UInt16, _ value: [UInt8]) async throws {
        try await bearer.waitForRoom()
        try bearer.check(tryNotify(characteristic, value), octets: value.count)
    }

    /// Indicates a value and waits for the client's confirmation. Core Vol 3, Part F, 3.4.7.2.
    ///
    /// - Throws: as `notify`, and `HostError.peer(.timedOut)` after 30 s.
    public func indicate(_ characteristic: UInt16, _ value: [UInt8]) async throws {
        let bearer = others?.nextForIndications ?? bearer
        guard bearer.isOpen else { throw HostError.misuse(.notConnected) }
        guard value.count <= bearer.longestValue else {
            throw HostError.misuse(.tooLong(octets: value.count, limit: bearer.longestValue))
        }
        guard configuration(of: characteristic) & 2 != 0 || bearer.context.quirks.notifiesUnasked else {
            throw HostError.misuse(.notSubscribed(.indication))
        }
        guard !bearer.client.isOutOfSync else { throw HostError.misuse(.outOfSync) }
        guard bearer.client.maySend(characteristic) else { throw HostError.misuse(.notEncrypted) }
        try await bearer.indicate(characteristic, value)
    }

    /// Notifies several values in one PDU. The client must support Multiple Handle Value Notifications and have subscribed to each. Core
    /// Vol 3, Part F, 3.4.7.4; Part G, 7.2.
    ///
    /// - Throws: as `notify`; `.misuse(.notSubscribed)` also if the client does not support such PDUs.
    public func notify(_ values: [(characteristic: UInt16, value: [UInt8])]) async throws {
        try await bearer.waitForRoom()
        guard bearer.client.features.contains(.multipleNotifications) || bearer.context.quirks.notifiesUnasked else {
            throw HostError.misuse(.notSubscribed(.notification))
        }
        for value in values {
            guard value.value.count <= AttributeValueLength.longest else {
                throw HostError.misuse(.tooLong(octets: value.value.count, limit: AttributeValueLength.longest))
            }
            if let impediment = impediment(to: value.characteristic) { try bearer.check(impediment, octets: value.value.count) }
        }
        let list = values.map {
            ATT.MultipleHandleValueNtf.HandleLengthValueTupleList(attributeHandle: $0.characteristic, attributeValue: $0.value)
        }
        let pdu = ATT.MultipleHandleValueNtf(handleLengthValueTupleList: list).bytes
        guard pdu.count <= mtu else { throw HostError.misuse(.tooLong(octets: pdu.count, limit: mtu)) }
        bearer.transmit(pdu)
    }

    /// Resumes the request for which the application chose to answer later, if there is one.
    public func answer() { bearer.answer() }

    /// True if the client is change-aware. Core Vol 3, Part G, 2.5.2.1.
    public var isChangeAware: Bool { bearer.client.awareness.isAware }
}
