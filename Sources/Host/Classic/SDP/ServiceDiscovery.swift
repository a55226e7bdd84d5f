import Packets
import Timing

/// Service discovery between connected devices. Core Vol 3, Part B.
extension Host {
    /// Adds a service record that peers on BR/EDR can find.
    ///
    /// - Returns: its ServiceRecordHandle.
    @discardableResult
    public func addServiceRecord(_ record: SDPRecord) -> UInt32 { context.discovery.add(record) }

    /// Takes a service record away.
    public func removeServiceRecord(_ handle: UInt32) { context.discovery.remove(handle) }

    /// What peers can find.
    public var serviceRecords: [SDPRecord] { context.discovery.records }

    func listenForDiscovery() {
        listen(psm: ClassicPSM.sdp) { channel, connection in
            let context = connection.context
            channel.onReceive = { [unowned channel, unowned context] request in
                context.discovery.quirks = context.quirks.channels
                context.discovery.mostListOctets = context.classicChoices.mostListOctets
                guard let response = context.discovery.receive(request, mtu: Int(channel.terms.sendMTU)) else { return }
                // A client that sends requests faster than it takes answers goes without.
                channel.trySend(response)
            }
        }
    }
}

extension ClassicConnection {
    /// The peer's service records that hold each of the UUIDs, with the attributes in the ranges; those of all services by default.
    ///
    /// - Throws: `HostError.peer(.serviceDiscovery)`, `.peer(.channel)`, or why there is no connection.
    public func services(
        with pattern: [BluetoothUUID] = [.l2capProtocol], attributes: [SDPAttributeRange] = [.all]
    ) async throws -> [SDPRecord] {
        guard case .records(let records) = try await discover(.searchAttributes(pattern, attributes)) else { return [] }
        host.learned(records.flatMap(\.serviceClasses), of: peer)
        return records
    }

    /// Asks the peer's server one thing, on a channel of its own.
    public func discover(_ query: SDPQuery) async throws -> SDPResult {
        let channel = try await openChannel(ClassicPSM.sdp)
        defer { channel.disconnect() }
        var client = SDPClient()
        var actions = client.start(query, at: host.loop.now)
        while true {
            for action in actions {
                switch action {
                case .send(let request): try await channel.send(request)
                case .finished(.success(let result)): return result
                case .finished(.failure(let failure)): throw HostError.peer(.serviceDiscovery(failure))
                }
            }
            do {
                actions = client.receive(try await channel.receive(until: client.deadline), at: host.loop.now)
            } catch HostError.environment(.timedOut(.sdu)) {
                actions = client.expire()
            }
        }
    }
}
