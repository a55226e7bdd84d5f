import Packets
import Timing

extension Connection {
    /// The server's values for the peer.
    public var values: GATTValues { GATTValues(bearer) }
    /// ATT_MTU, 23 until exchanged.
    public var mtu: Int { bearer.mtu }
    /// Told when values can be sent again after `SendResult.full`.
    public var writable: Listeners<() -> Void> { bearer.channel.writable }

    /// The client's Client Characteristic Configuration: bit 0 notifications, bit 1 indications.
    public func configuration(of characteristic: UInt16) -> UInt16 { values.configuration(of: characteristic) }

    public func tryNotify(_ characteristic: UInt16, _ value: RawSpan) -> SendResult { values.tryNotify(characteristic, value) }

    public func tryNotify(_ characteristic: UInt16, _ value: [UInt8]) -> SendResult { values.tryNotify(characteristic, value) }

    public func notify(_ characteristic: UInt16, _ value: [UInt8]) async throws { try await values.notify(characteristic, value) }

    public func indicate(_ characteristic: UInt16, _ value: [UInt8]) async throws { try await values.indicate(characteristic, value) }

    public func notify(_ values: [(characteristic: UInt16, value: [UInt8])]) async throws { try await self.values.notify(values) }

    /// Whether the client knows of all changes of the database. Core Vol 3, Part G, 2.5.2.1.
    public var isChangeAware: Bool { values.isChangeAware }

    /// The keys that this device and the peer share; nil if they have not bonded.
    public var bond: Bond? { context.keys[peer] }
}

extension Host {
    /// The ATT_MTU that the server offers and that `GATTClient.exchangeMTU` asks for by default, 23...65535: a server may take more than
    /// the longest attribute needs. Core Vol 3, Part F, 3.4.2.2.
    public func setOfferedMTU(_ mtu: Int) {
        context.server.offeredMTU = min(max(mtu, ATTBearer.defaultMTU), Int(UInt16.max))
    }
}
