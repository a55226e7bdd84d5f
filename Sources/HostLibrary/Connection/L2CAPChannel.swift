import BBHost
import BBPackets
import BBTiming

/// An L2CAP channel in LE credit-based flow control mode. Core Vol 3, Part A, 10.1.
///
/// What is not received keeps the peer's credits, so a sender is as fast as its receiver.
public final class L2CAPChannel {
    public let connection: Connection
    /// Called once, with the reason, when the channel has ended.
    public var onClose: ((BluetoothError) -> Void)?
    private let inner: CreditBasedChannel

    init(_ inner: CreditBasedChannel, on connection: Connection) {
        (self.inner, self.connection) = (inner, connection)
        inner.closed.add { [weak self] in self?.onClose?(BluetoothError($0)) }
    }

    /// SPSM of the service. Core Vol 3, Part A, 4.22.
    public var spsm: UInt16 { inner.spsm }
    public var isOpen: Bool { inner.isOpen }
    /// Octets of the longest SDU that the peer accepts.
    public var peerMTU: Int { inner.peerMTU }

    /// Called with each SDU on arrival, instead of `receive(within:)`; SDUs that wait are delivered at once.
    public var onReceive: (([UInt8]) -> Void)? {
        get { inner.onReceive }
        set { inner.onReceive = newValue }
    }

    /// Sends an SDU of at most `peerMTU` octets; waits until its last packet is queued, which needs the peer's credits.
    public func send(_ sdu: [UInt8]) async throws { try await BluetoothError.translating { try await inner.send(sdu) } }

    /// Waits for the next SDU. Those received before the channel ended come first.
    ///
    /// - Throws: `BluetoothError`; reason `timedOut` after the limit, `channelClosed` or `disconnected` if there are no more.
    public func receive(within limit: Duration? = nil) async throws -> [UInt8] {
        try await BluetoothError.translating { try await inner.receive(within: limit.map { Microseconds($0) }) }
    }

    /// Ends the channel once everything is sent, or after five seconds.
    public func close() { inner.close() }
}

extension Connection {
    /// Opens a channel to a service of the peer. Core Vol 3, Part A, 4.22.
    ///
    /// - Parameters:
    ///   - spsm: 0x0001...0x00FF.
    ///   - mtu: octets of the longest SDU to receive, 23...65535.
    /// - Throws: `BluetoothError`; reason `channelClosed` if the peer refuses, for example because the link has to be encrypted first.
    public func openChannel(_ spsm: UInt16, mtu: UInt16 = 512) async throws -> L2CAPChannel {
        try await BluetoothError.translating {
            L2CAPChannel(try await inner.openChannel(spsm, CreditBasedChannelSettings(mtu: mtu)), on: self)
        }
    }
}

extension BluetoothHost {
    /// Accepts channels to a service.
    ///
    /// - Parameters:
    ///   - spsm: 0x0080...0x00FF; 0x0001...0x007F are assigned by the Bluetooth SIG.
    ///   - mtu: octets of the longest SDU to receive, 23...65535.
    ///   - security: level that a link must have.
    ///   - onChannel: receives each channel before its first data.
    public func listen(
        _ spsm: UInt16, mtu: UInt16 = 512, security: SecurityLevel = .none, onChannel: @escaping (L2CAPChannel) -> Void
    ) {
        var settings = CreditBasedChannelSettings(mtu: mtu)
        settings.minimumSecurity = security.inner
        inner.listen(spsm, settings) { [weak self] (channel: CreditBasedChannel, link: BBHost.Connection) in
            if let self { onChannel(L2CAPChannel(channel, on: connection(of: link))) }
        }
    }

    /// Refuses new channels to a service; open ones remain.
    public func stopListening(_ spsm: UInt16) { inner.stopListening(spsm) }
}
