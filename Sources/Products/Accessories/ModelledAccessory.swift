import BBHost
import BBPackets
import BBTiming

/// An accessory that serves an `AccessoryModel`.
final class ModelledAccessory: Accessory {
    private let host: Host
    private let loop: RunLoop
    private let model: AccessoryModel
    private let conduct: AccessoryConduct
    var responseDelay = Microseconds.zero
    private var handles: [BluetoothUUID: UInt16] = [:]
    private var tasks: [Activity<Void>] = []
    private var values: [UInt16: [UInt8]] = [:]
    private var listener: Listeners<(Connection) -> Void>.Token?

    init(_ host: Host, _ model: AccessoryModel, conduct: AccessoryConduct) {
        self.host = host
        self.model = model
        self.conduct = conduct
        loop = host.loop
    }

    func start() async {
        if let mtu = conduct.mtu { host.setOfferedMTU(mtu) }
        host.database.choices = conduct.server
        host.pairingSettings = conduct.pairing
        for service in model.services { publish(service) }
        host.database.decides = { [unowned self] access, _ in isLate(access) ? .later : .proceed }
        if let spsm = model.channel { host.listen(spsm) { [self] channel in tasks.append(loop.start { await Self.echo(channel) }) } }
        listener = host.newConnections.add { [self] link in
            if host.connections.count == 1 { for (handle, value) in values { host.database[handle] = value } }
            if conduct.asks { tasks.append(loop.start { [self] in try await conduct.ask(on: link, loop: loop) }) }
            for telling in model.tellings { tasks.append(loop.start { [self] in try await tell(telling, on: link) }) }
        }
        tasks.append(loop.start { [self] in try await serve() })
    }

    func stop() async {
        if let spsm = model.channel { host.stopListening(spsm) }
        for task in tasks { task.cancel() }
        for task in tasks { await task.ended() }
        tasks.removeAll()
        if let listener { host.newConnections.remove(listener) }
        listener = nil
    }

    private func publish(_ sketch: ServiceDefinition.Sketch) {
        let characteristics = sketch.entries.map { entry in
            var definition = CharacteristicDefinition(
                entry.uuid, properties: entry.properties, permissions: entry.permissions, value: entry.value,
                maximumLength: entry.maximumLength,
                descriptors: entry.descriptors.map { DescriptorDefinition($0.0, value: $0.1) })
            definition.configurationPermissions = entry.configurationPermissions
            if let accepts = entry.accepts { definition.onWrite = { _, value in accepts(value.octets) } }
            definition.minimumKeySize = entry.keySize
            definition.onRead = { [unowned self] access in
                isLate(access) ? .later : .value(host.database[access.handle] ?? [])
            }
            let reactions = model.reactions.filter { $0.stimulus.characteristic == entry.uuid }
            if !reactions.isEmpty {
                definition.onWrite = { [unowned self] access, value in
                    let octets = value.octets
                    for reaction in reactions where reaction.stimulus.value == octets { react(reaction, on: access.connection) }
                    return nil
                }
            }
            if let echo = model.echo, echo.from == entry.uuid {
                definition.onWrite = { [unowned self] access, value in
                    tellBack(value.octets, on: access.connection, by: echo.to)
                    return nil
                }
            }
            return definition
        }
        let published = host.database.add(ServiceDefinition(sketch.uuid, isPrimary: sketch.isPrimary, characteristics: characteristics))
        for (found, entry) in zip(published.characteristics, sketch.entries) {
            handles[found.uuid] = handles[found.uuid] ?? found.value
            if entry.properties.contains(.read) { values[found.value] = entry.value }
        }
    }

    /// True if the response to a request has to wait; it follows by itself.
    private func isLate(_ access: AttributeAccess) -> Bool {
        guard responseDelay > .zero, !access.isRepeated, !access.isCommand, let link = access.connection else { return false }
        loop.schedule(after: responseDelay) { if link.isConnected { link.values.answer() } }
        return true
    }

    private func react(_ reaction: AccessoryModel.Reaction, on link: Connection?) {
        guard let link, let handle = handles[reaction.characteristic] else { return }
        tasks.append(loop.start { [self] in await send(reaction.kind, handle, reaction.value, on: link) })
    }

    private func send(_ kind: AttributeValueKind, _ handle: UInt16, _ value: [UInt8], on link: Connection) async {
        switch kind {
        case .notification: _ = link.tryNotify(handle, Array(value.prefix(link.values.longest)))
        case .indication: try? await link.indicate(handle, Array(value.prefix(link.values.longest)))
        }
    }

    /// Returns each SDU as far as the peer's MTU allows, until the channel ends.
    private static func echo(_ channel: CreditBasedChannel) async {
        while let sdu = try? await channel.receive() {
            do { try await channel.send(Array(sdu.prefix(channel.peerMTU))) } catch { return }
        }
    }

    private func tellBack(_ octets: [UInt8], on link: Connection?, by uuid: BluetoothUUID) {
        guard let link, let handle = handles[uuid] else { return }
        _ = link.tryNotify(handle, Array(octets.prefix(link.values.longest)))
    }

    /// Notifies the value repeatedly while the link exists and the client has subscribed.
    private func tell(_ telling: AccessoryModel.Telling, on link: Connection) async throws {
        guard let handle = handles[telling.characteristic] else { return }
        var turn = 0
        while link.isConnected {
            try await loop.sleep(for: telling.period)
            guard link.isConnected else { return }
            await send(telling.kind, handle, telling.value(turn), on: link)
            turn += 1
        }
    }

    /// Advertises while it can take another connection.
    private func serve() async throws {
        var elements: [AdvertisingElement] = [.flags([.generalDiscoverable, .brEDRNotSupported])]
        if !model.advertised.isEmpty { elements.append(.services(model.advertised)) }
        elements += [.appearance(model.appearance)]
        let standard = (data: AdvertisingData(elements), response: AdvertisingData([.completeLocalName(model.name)]))
        let advertising = model.advertising ?? standard
        var settings = AdvertisingSettings(data: advertising.data, scanResponse: advertising.response)
        // 20 ms, unless the accessory's conduct has a slower interval.
        settings.intervalMin = 0x0020
        settings.intervalMax = 0x0020
        try await ConnectableAdvertising(host: host, settings: settings, most: conduct.links).run()
    }
}
