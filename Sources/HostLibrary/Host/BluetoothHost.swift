import BBHost
public import BBPackets
import BBTiming

/// A Bluetooth Low Energy host on one controller, from `Bench.simulated(_:address:)` or `Bench.open(_:named:bonds:)`.
///
/// It can advertise, scan, connect and serve a GATT database at the same time. Handlers are called on the bench's thread from within the
/// delivery of a packet; what the next packet must find is set there, not after an `await`.
public final class BluetoothHost {
    public let bench: Bench
    /// The Device Name in the GATT database, and the name of the host in a recording.
    public let name: String
    /// Called with each new connection before anything is received on it, whichever device initiated it.
    public var onConnection: ((Connection) -> Void)?
    let inner: Host
    private var known: [ObjectIdentifier: Connection] = [:]
    private var bondFile: BondFile?

    init(_ inner: Host, named name: String, on bench: Bench) {
        (self.inner, self.name, self.bench) = (inner, name, bench)
        inner.pairingSettings = PairingOptions().settings
        inner.newConnections.add { [weak self] link in
            guard let self else { return }
            let connection = connection(of: link)
            onConnection?(connection)
        }
    }

    /// The address in advertising and on connections: the public address of the controller, or a static random one if it has none.
    public var address: DeviceAddress { inner.address }

    /// Open connections, in no particular order.
    public var connections: [Connection] { inner.connections.map(connection) }

    /// Ends links, advertising and scans, and gives the device back; at most one second. `Bench.close()` does it for all hosts.
    public func close() async {
        await inner.leave()
        bench.hosts.removeAll { $0 === self }
    }

    /// The library's object for a link: the same one as long as it is connected.
    func connection(of link: BBHost.Connection) -> Connection {
        let id = ObjectIdentifier(link)
        if let connection = known[id] { return connection }
        let connection = Connection(link, of: self)
        guard link.isConnected else { return connection }
        known[id] = connection
        link.events.add { [weak self] event in if case .disconnected = event { self?.known[id] = nil } }
        return connection
    }

    // MARK: Connecting

    /// Connects to a device, as central.
    ///
    /// - Parameters:
    ///   - interval: 7.5 ms...4 s, rounded to a multiple of 1.25 ms.
    ///   - limit: time after which the attempt is cancelled.
    /// - Throws: `BluetoothError`; reason `timedOut` if the device was not found. A controller initiates one connection at a time.
    public func connect(
        to device: DeviceAddress, interval: Duration = .milliseconds(30), within limit: Duration = .seconds(10)
    ) async throws -> Connection {
        var settings = ConnectSettings()
        settings.limit = Microseconds(limit)
        settings.parameters = ConnectionParameterRequest(interval: UInt16(interval.units(of: 1_250, in: 6...3_200)))
        // A supervision timeout of more than two intervals, and of two seconds at least, in units of 10 ms.
        let (least, longest) = (Int64(200), Int64(3_200))
        settings.parameters.supervisionTimeout = UInt16((interval * 4).units(of: 10_000, in: least...longest))
        return try await BluetoothError.translating {
            connection(of: try await inner.connectAnswered(to: device, settings))
        }
    }

    /// Connects to the device of an advertisement.
    public func connect(
        to advertisement: Advertisement, interval: Duration = .milliseconds(30), within limit: Duration = .seconds(10)
    ) async throws -> Connection {
        try await connect(to: advertisement.address, interval: interval, within: limit)
    }

    // MARK: Bonds

    /// Identity addresses of the bonded peers.
    public var bonds: [DeviceAddress] { inner.keys.all.map(\.identity) }

    /// Removes the keys of a peer; false if it was not bonded.
    @discardableResult
    public func forget(_ peer: DeviceAddress) -> Bool { inner.keys.remove(PeerIdentity(peer)) }

    /// Uses the keys in a file, and keeps those of new bonds there. Keys of virtual time cannot be used in real time.
    func keepBonds(in path: String) throws {
        do {
            let file = try BondFile(changing: path)
            try file.keys.reserve(forVirtualTime: bench.time == .virtual)
            (bondFile, inner.keys) = (file, file.keys)
        } catch {
            throw BluetoothError(.environment, .other, "bonds in \(path): \(error)")
        }
    }
}
