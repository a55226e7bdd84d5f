import BBPackets
import BBTiming

/// Service discovery between connected devices. Core Vol 3, Part B.
extension Host {
    /// Adds a service record for peers on BR/EDR.
    ///
    /// - Returns: its ServiceRecordHandle.
    @discardableResult
    public func addServiceRecord(_ record: SDPRecord) -> UInt32 { context.discovery.add(record) }

    /// Removes a service record.
    public func removeServiceRecord(_ handle: UInt32) { context.discovery.remove(handle) }

    func listenForDiscovery() {
        listen(psm: PSM.sdp) { channel, connection in
            let context = connection.context
            channel.onReceive = { [unowned channel, unowned context] request in
                context.discovery.quirks = context.quirks.channels
                context.discovery.mostListOctets = context.classicChoices.mostListOctets
                guard let response = context.discovery.receive(request, mtu: Int(channel.terms.sendMTU)) else { return }
                // A client that does not read its responses gets no more.
                channel.trySend(response)
            }
        }
    }
}

extension ClassicConnection {
    /// The peer's service records that contain all the UUIDs, with the attributes in the ranges; all services by default.
    ///
    /// - Throws: `HostError.peer(.serviceDiscovery)`, `.peer(.channel)`, or the error of the connection.
    public func services(
        with pattern: [BluetoothUUID] = [.l2capProtocol], attributes: [SDPAttributeRange] = [.all]
    ) async throws -> [SDPRecord] {
        guard case .records(let records) = try await discover(.searchAttributes(pattern, attributes)) else { return [] }
        host.learned(records.flatMap(\.serviceClasses), of: peer)
        return records
    }

    /// Sends one query to the peer's server on a separate channel.
    public func discover(_ query: SDPQuery) async throws -> SDPResult {
        let channel = try await openChannel(PSM.sdp)
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
