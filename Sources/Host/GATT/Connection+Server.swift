import BBPackets
import BBTiming

extension Connection {
    /// Sends notifications and indications to the peer.
    public var values: GATTValues { GATTValues(bearer, enhanced) }
    /// Notifications alone, without the bearers for indications.
    private var notifications: GATTValues { GATTValues(bearer) }
    /// ATT_MTU; 23 until exchanged.
    public var mtu: Int { bearer.mtu }
    /// Called when values can be sent again after `SendResult.full`.
    public var writable: Listeners<() -> Void> { channel(CID.att).writable }

    /// The client's Client Characteristic Configuration: bit 0 notifications, bit 1 indications.
    public func configuration(of characteristic: UInt16) -> UInt16 { values.configuration(of: characteristic) }

    public func tryNotify(_ characteristic: UInt16, _ value: RawSpan) -> SendResult { notifications.tryNotify(characteristic, value) }

    public func tryNotify(_ characteristic: UInt16, _ value: [UInt8]) -> SendResult { tryNotify(characteristic, value.span.bytes) }

    public func notify(_ characteristic: UInt16, _ value: [UInt8]) async throws { try await values.notify(characteristic, value) }

    public func indicate(_ characteristic: UInt16, _ value: [UInt8]) async throws { try await values.indicate(characteristic, value) }

    public func notify(_ values: [(characteristic: UInt16, value: [UInt8])]) async throws { try await self.values.notify(values) }

    /// True if the client is change-aware. Core Vol 3, Part G, 2.5.2.1.
    public var isChangeAware: Bool { values.isChangeAware }
}

extension Host {
    /// Sets the server Rx MTU, which is also the default of `GATTClient.exchangeMTU`, 23...65535. It may exceed what the longest attribute
    /// needs. Core Vol 3, Part F, 3.4.2.2.
    public func setOfferedMTU(_ mtu: Int) {
        context.server.offeredMTU = min(max(mtu, ATTBearer.defaultMTU), Int(UInt16.max))
    }
}
