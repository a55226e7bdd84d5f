import BBHost
import BBPackets
import BBTiming

/// GATT client procedures. Core Vol 3, Part G, 4. Requests are queued; one that is not answered within 30 s fails with the reason `timedOut`,
/// and ends the use of the bearer.
extension Connection {
    /// Exchanges ATT_MTU, once for a connection. Core Vol 3, Part G, 4.3.1.
    ///
    /// - Returns: the ATT_MTU in use.
    @discardableResult
    public func exchangeMTU(_ mtu: Int = 517) async throws -> Int {
        try await BluetoothError.translating { try await inner.gatt.exchangeMTU(mtu) }
    }

    /// Discovers services, characteristics and descriptors, or takes them from the bond if the peer's Database Hash is the same. Core Vol 3,
    /// Part G, 4.4 to 4.7.
    public func discover() async throws -> RemoteDatabase {
        try await BluetoothError.translating {
            RemoteDatabase(services: try await inner.gatt.discoverDatabase().services.map { RemoteService($0) })
        }
    }

    /// Reads a value of any length. Core Vol 3, Part G, 4.8.1 and 4.8.3.
    public func read(_ characteristic: RemoteCharacteristic) async throws -> [UInt8] { try await read(handle: characteristic.handle) }

    /// Reads a descriptor. Core Vol 3, Part G, 4.12.1.
    public func read(_ descriptor: RemoteDescriptor) async throws -> [UInt8] { try await read(handle: descriptor.handle) }

    /// Reads the value of an attribute by its handle.
    public func read(handle: UInt16) async throws -> [UInt8] {
        try await BluetoothError.translating { try await inner.gatt.readLong(handle) }
    }

    /// Writes a value with response, in parts if it exceeds ATT_MTU - 3. Core Vol 3, Part G, 4.9.3 and 4.9.4.
    public func write(_ value: [UInt8], to characteristic: RemoteCharacteristic) async throws {
        try await write(value, toHandle: characteristic.handle)
    }

    /// Writes a descriptor. Core Vol 3, Part G, 4.12.3.
    public func write(_ value: [UInt8], to descriptor: RemoteDescriptor) async throws {
        try await write(value, toHandle: descriptor.handle)
    }

    /// Writes the value of an attribute by its handle.
    public func write(_ value: [UInt8], toHandle handle: UInt16) async throws {
        try await BluetoothError.translating {
            if value.count <= mtu - 3 { try await inner.gatt.write(handle, value) } else { try await inner.gatt.writeLong(handle, value) }
        }
    }

    /// Writes a value of at most ATT_MTU - 3 octets without response, after waiting for room in the queue. Core Vol 3, Part G, 4.9.1.
    public func writeWithoutResponse(_ value: [UInt8], to characteristic: RemoteCharacteristic) async throws {
        try await BluetoothError.translating { try await inner.gatt.writeCommand(characteristic.handle, value) }
    }

    /// Subscribes to notifications, or to indications if the characteristic has no other. Core Vol 3, Part G, 4.10 and 4.11.
    ///
    /// - Parameters:
    ///   - characteristic: has to be from `discover()` on this connection.
    ///   - onValue: receives each value on arrival; nil to read them from `Subscription.next(within:)`.
    /// - Throws: `BluetoothError`, for example if the characteristic has no Client Characteristic Configuration.
    public func subscribe(
        to characteristic: RemoteCharacteristic, onValue: (([UInt8]) -> Void)? = nil
    ) async throws -> Subscription {
        let subscription = Subscription(to: characteristic, on: self, onValue)
        try await BluetoothError.translating {
            let kind: AttributeValueKind = characteristic.properties.contains(.notify) ? .notification : .indication
            subscription.token = try await inner.gatt.subscribe(characteristic.inner, kind) { _, _, value in
                subscription.received(value.octets)
            }
        }
        return subscription
    }
}

/// A subscription to the values of a characteristic.
public final class Subscription {
    public let characteristic: RemoteCharacteristic
    /// Values that were dropped because nobody had read the 1,024 before.
    public private(set) var dropped = 0
    private let connection: Connection
    private let onValue: (([UInt8]) -> Void)?
    private var values: [[UInt8]] = []
    private var waiting: Promise<Void>?
    fileprivate var token: Listeners<AttributeValueHandler>.Token?
    private static let limit = 1_024

    fileprivate init(to characteristic: RemoteCharacteristic, on connection: Connection, _ onValue: (([UInt8]) -> Void)?) {
        (self.characteristic, self.connection, self.onValue) = (characteristic, connection, onValue)
        connection.inner.events.add { [weak self] event in if case .disconnected = event { self?.wake() } }
    }

    fileprivate func received(_ value: [UInt8]) {
        if let onValue { return onValue(value) }
        if values.count < Self.limit { values.append(value) } else { dropped += 1 }
        wake()
    }

    private func wake() {
        let promise = waiting
        waiting = nil
        promise?.fulfil(())
    }

    /// Waits for the next value, in order. Values that have arrived before the end of the connection come first.
    ///
    /// - Throws: `BluetoothError`; reason `timedOut` after the limit, `disconnected` if no more can come.
    public func next(within limit: Duration = .seconds(30)) async throws -> [UInt8] {
        let deadline = connection.host.bench.loop.now + Microseconds(limit)
        while values.isEmpty {
            if let reason = connection.inner.disconnectReason { throw BluetoothError(.peer(.disconnected(reason))) }
            let promise = waiting ?? Promise<Void>(on: connection.host.bench.loop)
            waiting = promise
            do { try await promise.value(until: deadline) } catch is TimeOut {
                throw BluetoothError(.environment, .timedOut, "no value of \(characteristic.uuid) within \(limit)")
            }
        }
        return values.removeFirst()
    }

    /// Ends the subscription: writes the Client Characteristic Configuration. Core Vol 3, Part G, 3.3.3.3.
    public func cancel() async throws {
        guard let token else { return }
        self.token = nil
        connection.inner.gatt.values(of: characteristic.handle).remove(token)
        guard let configuration = characteristic.descriptors.first(where: { $0.uuid == .clientConfiguration }) else { return }
        try await connection.write([0, 0], to: configuration)
    }
}
