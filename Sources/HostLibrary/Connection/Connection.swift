import BBHost
public import BBPackets
import BBTiming

/// An LE connection to a peer.
public final class Connection {
    /// Role of this host. Core Vol 6, Part B, 1.1.
    public enum Role: Sendable, Hashable {
        case central
        case peripheral
    }

    /// A physical layer. Core Vol 6, Part A, 1.
    public enum PHY: Sendable, Hashable {
        case le1M
        case le2M
        case leCoded
    }

    public let host: BluetoothHost
    /// Called once, with the reason, when the connection has ended.
    public var onDisconnection: ((ErrorCode) -> Void)?
    let inner: BBHost.Connection

    init(_ inner: BBHost.Connection, of host: BluetoothHost) {
        (self.inner, self.host) = (inner, host)
        inner.events.add { [weak self] event in if case .disconnected(let reason) = event { self?.onDisconnection?(reason) } }
    }

    public var role: Role { inner.isCentral ? .central : .peripheral }
    /// The identity address of the peer if it is bonded, otherwise the address with which it connected.
    public var peer: DeviceAddress { inner.peer.address }
    public var isConnected: Bool { inner.isConnected }
    /// ATT_MTU; 23 until it is exchanged. Core Vol 3, Part F, 3.2.8.
    public var mtu: Int { inner.mtu }
    /// Connection interval. Core Vol 6, Part B, 4.5.1.
    public var interval: Duration { inner.parameters.intervalTime.duration }
    public var security: SecurityLevel { SecurityLevel(inner.security) }
    /// PHYs in use for transmission and reception.
    public var phys: (tx: PHY, rx: PHY) { (PHY(inner.phys.tx), PHY(inner.phys.rx)) }

    // MARK: The link

    /// Ends the connection; does nothing if it has ended.
    public func disconnect() async throws {
        guard inner.isConnected else { return }
        try await BluetoothError.translating { _ = try await inner.disconnect() }
    }

    /// Waits until the connection has ended.
    ///
    /// - Returns: the reason. Core Vol 1, Part F.
    @discardableResult
    public func ended(within limit: Duration? = nil) async throws -> ErrorCode {
        try await BluetoothError.translating { try await inner.ended(within: limit.map { Microseconds($0) }) }
    }

    /// Changes interval, latency and supervision timeout. Core Vol 4, Part E, 7.8.18.
    ///
    /// - Parameters:
    ///   - interval: 7.5 ms...4 s.
    ///   - latency: connection events that the peripheral may skip, 0...499.
    ///   - supervisionTimeout: 100 ms...32 s, more than (1 + latency) x interval x 2.
    public func updateParameters(
        interval: ClosedRange<Duration>, latency: Int = 0, supervisionTimeout: Duration = .seconds(2)
    ) async throws {
        let request = ConnectionParameterRequest(
            intervalMin: UInt16(interval.lowerBound.units(of: 1_250, in: 6...3_200)),
            intervalMax: UInt16(interval.upperBound.units(of: 1_250, in: 6...3_200)), latency: UInt16(clamping: latency),
            supervisionTimeout: UInt16(supervisionTimeout.units(of: 10_000, in: 10...3_200)))
        try await BluetoothError.translating { _ = try await inner.updateParameters(request) }
    }

    /// Requests a PHY for both directions. The peer may decline it: `phys` has the result. Core Vol 4, Part E, 7.8.49.
    public func updatePHY(_ phy: PHY) async throws {
        try await BluetoothError.translating { _ = try await inner.updatePHY(tx: phy.mask, rx: phy.mask) }
    }

    /// Suggests the longest payload of packets that this device sends, 27...251 octets. Core Vol 4, Part E, 7.8.33.
    public func updateDataLength(_ octets: Int = 251) async throws {
        try await BluetoothError.translating { _ = try await inner.updateDataLength(txOctets: UInt16(clamping: octets)) }
    }

    /// RSSI in dBm; 127 if it is not available. Core Vol 4, Part E, 7.5.4.
    public func readRSSI() async throws -> Int {
        try await BluetoothError.translating { Int(try await inner.readRSSI()) }
    }
}

extension Connection.PHY {
    init(_ phy: BBPackets.PHY) {
        switch phy {
        case .le1M: self = .le1M
        case .le2M: self = .le2M
        case .leCoded: self = .leCoded
        }
    }

    var mask: PHYs {
        switch self {
        case .le1M: .le1M
        case .le2M: .le2M
        case .leCoded: .leCoded
        }
    }
}
