import BBHost
import BBPackets
import BBTiming
import Foundation

struct Advertisement: Sendable, Hashable {
    var name: String?
    var services: [BluetoothUUID]
}

/// The peripheral role of a phone: the services, subscribers and advertising of its managers.
final class PhoneServer {
    /// The services that belong to the system.
    static let reserved: Set<BluetoothUUID> = [0x1800, 0x1801, 0x1812]

    private struct Published {
        let port: ServerPort
        let draft: ServiceDraft
        let service: PublishedService
    }

    private struct Update {
        let port: ServerPort
        let handle: UInt16
        let value: [UInt8]
        /// The centrals that have not got it yet.
        var waiting: [Connection]
    }

    let phone: CBPhone
    lazy var requests = PhoneRequests(self)
    lazy var channels = PhoneChannels(self)
    private var published: [Published] = []
    private var updates: [Update] = []
    private var centrals: [Connection] = []
    private var advertisements: [(port: ServerPort, advertisement: Advertisement)] = []
    private var set: AdvertisingSet?
    private var isChanging = false

    init(_ phone: CBPhone) { self.phone = phone }

    func identifier(of link: Connection) -> UUID { phone.directory.identifier(of: link.peer) }

    func listen() {
        phone.host.database.decides = { [unowned self] in requests.write($0, $1) }
        phone.host.newConnections.add { [unowned self] link in
            guard !link.isCentral else { return }
            // One that came up while Bluetooth was switched off.
            guard phone.state == .poweredOn else { return end(link) }
            centrals.append(link)
            link.writable.add { [unowned self] in sendUpdates() }
            link.events.add { [unowned self, unowned link] event in
                if case .paired(let result) = event { phone.directory.paired(identifier(of: link), as: result.peer) }
                if case .mtuChanged(let mtu) = event { changed(link, mtu: mtu) }
                if case .disconnected = event {
                    if phone.host.failure != nil { phone.lostDevice() }
                    left(link)
                }
            }
            // The phone goes on advertising; the set ended with the connection.
            set = nil
            apply()
        }
    }

    private func changed(_ link: Connection, mtu: Int) {
        let identifier = identifier(of: link)
        for port in ports { port.deliver { $0.changed(identifier, mtu: mtu) } }
    }

    private func left(_ link: Connection) {
        let identifier = identifier(of: link)
        centrals.removeAll { $0 === link }
        requests.left(link)
        for index in updates.indices { updates[index].waiting.removeAll { $0 === link } }
        for port in ports { port.deliver { $0.left(identifier) } }
        sendUpdates()
    }

    private var ports: [ServerPort] {
        var ports: [ServerPort] = []
        for row in published where !ports.contains(where: { $0 === row.port }) { ports.append(row.port) }
        return ports
    }

    /// Bluetooth is not powered on: advertising and links end. Services and advertising outlast a state of powered off, and no other.
    func stop() {
        refresh()
        if phone.state != .poweredOff {
            advertisements.removeAll()
            for row in published { phone.host.database.remove(row.service) }
            published.removeAll()
        }
        updates.removeAll()
        channels.stop()
        for link in centrals { end(link) }
    }

    private func end(_ link: Connection) { _ = phone.loop.start { _ = try? await link.disconnect() } }

    func leave(_ port: ServerPort) {
        advertise(nil, for: port)
        remove(published.filter { $0.port === port }.map(\.draft.identifier), for: port)
        channels.leave(port)
    }

    // MARK: Services

    func add(_ draft: ServiceDraft, including included: [ObjectIdentifier], for port: ServerPort) {
        let includes = included.compactMap { wanted in published.first { $0.draft.identifier == wanted }?.service }
        let service = phone.host.database.add(draft.definition(includes: includes, server: self, port: port))
        published.append(Published(port: port, draft: draft, service: service))
        port.deliver { $0.delegate?.peripheralManager($0, didAdd: draft.service, error: nil) }
    }

    func remove(_ identifiers: [ObjectIdentifier], for port: ServerPort) {
        for row in published where identifiers.contains(row.draft.identifier) { phone.host.database.remove(row.service) }
        published.removeAll { identifiers.contains($0.draft.identifier) }
    }

    /// The local characteristic with a value handle.
    func characteristic(_ handle: UInt16) -> (port: ServerPort, characteristic: CBMutableCharacteristic)? {
        for row in published {
            guard let index = row.service.characteristics.firstIndex(where: { $0.value == handle }) else { continue }
            return (row.port, row.draft.characteristics[index])
        }
        return nil
    }

    private func handle(of characteristic: ObjectIdentifier) -> UInt16? {
        for row in published {
            guard let index = row.draft.characteristics.firstIndex(where: { ObjectIdentifier($0) == characteristic }) else { continue }
            return row.service.characteristics[index].value
        }
        return nil
    }

    func subscribed(_ characteristic: CBMutableCharacteristic, _ access: AttributeAccess, isOn: Bool, _ port: ServerPort) {
        guard let link = access.connection else { return }
        let (identifier, mtu, carried) = (identifier(of: link), link.mtu, Carried(characteristic))
        port.deliver { $0.subscribed(identifier, mtu: mtu, to: carried.value, isOn: isOn) }
    }

    // MARK: Updates

    func update(_ characteristic: ObjectIdentifier, _ value: [UInt8], centrals chosen: Set<UUID>?, for port: ServerPort) {
        guard let handle = handle(of: characteristic) else { return port.deliver { $0.updateLeft() } }
        let receivers = centrals.filter { link in
            link.configuration(of: handle) != 0 && (chosen?.contains(identifier(of: link)) ?? true)
        }
        updates.append(Update(port: port, handle: handle, value: value, waiting: receivers))
        sendUpdates()
    }

    /// Sends updates in order, each to every subscriber, as far as there is room.
    private func sendUpdates() {
        while !updates.isEmpty {
            let next = updates[0]
            let waiting = next.waiting.filter { !send(next, to: $0) }
            updates[0].waiting = waiting
            guard waiting.isEmpty else { return }
            updates.removeFirst().port.deliver { $0.updateLeft() }
        }
    }

    /// True if nothing is left to do for this central.
    private func send(_ update: Update, to link: Connection) -> Bool {
        let value = [UInt8](update.value.prefix(link.values.longest))
        if link.configuration(of: update.handle) & 1 != 0 { return link.tryNotify(update.handle, value) != .full }
        _ = phone.loop.start { _ = try? await link.indicate(update.handle, value) }
        return true
    }

    func setLatency(_ latency: CBPeripheralManagerConnectionLatency, of central: UUID) {
        guard let link = centrals.first(where: { identifier(of: $0) == central }) else { return }
        let events: UInt16 =
            switch latency {
            case .low: 0
            case .medium: 2
            case .high: 6
            }
        let request = ConnectionParameterRequest(interval: 24, latency: events, supervisionTimeout: 200)
        _ = phone.loop.start { _ = try? await link.requestParameters(request) }
    }

    func answer(_ token: Int, _ value: [UInt8], _ result: CBATTError.Code) { requests.answer(token, value, result) }
    func publish(isEncrypted: Bool, for port: ServerPort) { channels.publish(isEncrypted: isEncrypted, for: port) }
    func unpublish(_ psm: CBL2CAPPSM, for port: ServerPort) { channels.unpublish(psm, for: port) }

    // MARK: Advertising

    /// Starts or, with nil, ends the advertising of a manager.
    func advertise(_ advertisement: Advertisement?, for port: ServerPort) {
        advertisements.removeAll { $0.port === port }
        if let advertisement { advertisements.append((port, advertisement)) }
        let running = set
        set = nil
        _ = phone.loop.start { [self] in
            try? await running?.stop()
            apply()
            if advertisement != nil { port.deliver { $0.advertised(nil) } }
        }
    }

    /// The program has moved to the background or back, where it advertises other data, or Bluetooth was switched on or off.
    func refresh() {
        let running = set
        set = nil
        _ = phone.loop.start { [self] in
            try? await running?.stop()
            apply()
        }
    }

    /// Advertises what all managers together ask for.
    private func apply() {
        let isSuspended = phone.state != .poweredOn || phone.isInBackground && !phone.backgroundModes.contains(.peripheral)
        guard !isChanging, set == nil, !advertisements.isEmpty, !isSuspended else { return }
        isChanging = true
        let settings = AdvertisingSettings(
            advertisements.map(\.advertisement), inBackground: phone.isInBackground, hasOverflow: phone.persona.hasOverflowArea)
        _ = phone.loop.start { [self] in
            do {
                let started = try await phone.host.advertise(settings) { [self] in set = $0 }
                if advertisements.isEmpty || phone.state != .poweredOn {
                    set = nil
                    try await started.stop()
                }
            } catch {
                let ports = advertisements.map(\.port)
                advertisements.removeAll()
                for port in ports { port.deliver { $0.advertisingFailed(CBError(.unknown)) } }
            }
            isChanging = false
            // A central that came with the controller's answer has ended the set.
            apply()
        }
    }
}
