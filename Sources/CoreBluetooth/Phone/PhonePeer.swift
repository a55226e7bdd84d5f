import BBHost
import BBPackets
import BBTiming
import Foundation

/// A device to which a phone has, or wants, a connection.
final class PhonePeer {
    /// The place of a characteristic in the database of its server.
    struct CharacteristicHandles {
        var value: UInt16
        /// Last handle that may be a descriptor.
        var end: UInt16
        var properties: CharacteristicProperties
    }

    /// Something to do on the link, after what came before.
    private struct Job {
        /// The attribute that it is about.
        var handle: UInt16?
        /// The attribute has ended meanwhile.
        var isStale = false
        var body: (_ isStale: Bool) async -> Void
    }

    let identifier: UUID
    /// The managers that use the connection.
    var users: [CentralPort] = []
    /// Those that want the connection again when it is lost.
    var reconnecting: [CentralPort] = []
    /// Those that require that the device reads notifications.
    var needingNotifications: [CentralPort] = []
    var link: PhoneLink?
    /// The connection has been reported to the programs.
    private(set) var isReady = false
    /// The reason for which this phone has ended the link; nil for the reason of the disconnection.
    private(set) var failure: (any Error)?
    let phone: CBPhone
    private var jobs: [Job] = []
    private var isWorking = false
    private var commands: [(handle: UInt16, value: [UInt8], port: CentralPort)] = []
    /// Subscribed managers by value handle.
    private var subscribers: [UInt16: [CentralPort]] = [:]
    /// Handles whose values are received on this link.
    private var listeners: Set<UInt16> = []
    /// Handle of the values that report changes of the database.
    var changeHandle: UInt16?
    var cache = AttributeCache()

    init(_ identifier: UUID, _ phone: CBPhone) {
        self.identifier = identifier
        self.phone = phone
    }

    // MARK: The link

    /// Exchanges the MTU, after what the phone does before it, and reports the connection.
    func opened(_ link: PhoneLink) {
        self.link = link
        (listeners, subscribers, changeHandle) = ([], [:], nil)
        cache = phone.caches.cache(of: identifier, isBonded: link.bond != nil)
        link.observe({ [weak self] event in self?.happened(event) }, room: { [weak self] in self?.sendCommands() })
        // A bonded device reports a change as soon as the link is encrypted.
        listenForChanges(link)
        watchParameters(link)
        add { [self] in
            let steps = phone.persona.start
            for step in steps.prefix(while: { $0 != .mtu }) { await take(step, link) }
            _ = try? await link.gatt.exchangeMTU(phone.persona.mtu(octets: link.octets))
            guard await protect(link), link.isConnected else { return }
            isReady = true
            phone.connection(of: identifier, isUp: true)
            for port in users { tellConnected(port) }
            _ = phone.loop.start { [self] in
                for step in steps.drop(while: { $0 != .mtu }).dropFirst() { await take(step, link) }
            }
        }
        pairForNotifications()
        add { [self] in await watchChanges(link) }
        add { [self] in await readName(link) }
    }

    /// Reads the Device Name, which programs see in place of the advertised name. Core Vol 3, Part C, 12.1.
    private func readName(_ link: PhoneLink) async {
        guard let value = try? await link.gatt.read(uuid: .deviceName).first?.value, !value.isEmpty else { return }
        let name = String(decoding: value, as: UTF8.self)
        phone.directory.deviceNamed(name, identifier)
        for port in users { port.deliver(to: identifier) { $0.renamed(name) } }
    }

    /// Encrypts the link to a bonded device, which is otherwise not the one that the bond is with.
    private func protect(_ link: PhoneLink) async -> Bool {
        guard link.bond != nil, !link.isEncrypted else { return true }
        do { try await link.encrypt() } catch {
            failure = CoreBluetooth.Failure.error(error)
            _ = try? await link.link.disconnect()
            return false
        }
        return true
    }

    private func take(_ step: CBPhonePersona.Step, _ link: PhoneLink) async {
        guard let link = link.le, link.isConnected else { return }
        switch step {
        case .length: _ = try? await link.updateDataLength(txOctets: 251)
        case .phy: _ = try? await link.updatePHY(tx: .le2M, rx: .le2M)
        case .mtu: break
        }
    }

    /// Pairs with a device that is to read notifications, then asks the user for permission.
    func pairForNotifications() {
        guard !needingNotifications.isEmpty else { return }
        add { [self] in
            guard let link, link.isConnected else { return }
            // A new pairing reports itself.
            if link.isEncrypted { phone.notifications.paired(self) } else { try? await secure(link) }
        }
    }

    func tellConnected(_ port: CentralPort) {
        guard let mtu = link?.mtu else { return }
        let identifier = identifier
        port.deliver { $0.connected(identifier, mtu: mtu) }
    }

    private func happened(_ event: PhoneLink.Event) {
        switch event {
        case .mtuChanged(let mtu):
            for port in users { port.deliver(to: identifier) { $0.mtu = mtu } }
        case .paired(let result):
            if result.isBonded { phone.directory.paired(identifier, as: result.peer) }
            phone.notifications.paired(self)
        case .disconnected(let reason):
            // The programs get the state first.
            if phone.host.failure != nil { phone.lostDevice() }
            ended(reason)
        }
    }

    private func ended(_ reason: ErrorCode) {
        jobs.removeAll()
        commands.removeAll()
        phone.caches.keep(cache, of: identifier)
        phone.connection(of: identifier, isUp: false)
        phone.connecting.ended(self, reason)
    }

    func close() {
        guard let link else { return }
        self.link = nil
        jobs.removeAll()
        _ = phone.loop.start { [self] in
            await phone.connecting.end(link)
            // Keeps this object until it has processed the disconnection.
            withExtendedLifetime(self) {}
        }
    }

    // MARK: Procedures

    /// Runs a procedure after those that were asked for before, pairs if the device demands it, and reports the result.
    ///
    /// - Parameter handle: the attribute of the procedure, which fails if the attribute has ended by then.
    func run<Value>(
        for port: CentralPort, of handle: UInt16? = nil, _ procedure: @escaping (PhoneLink) async throws -> Value,
        done: @escaping (CBPeripheral, Result<Value, any Error>) -> Void
    ) {
        let program = port.program
        add(of: handle) { [self] isStale in
            guard let link else { return }
            let result = isStale ? .failure(CBError(.invalidHandle)) : await outcome(of: procedure, over: link)
            guard link.isConnected, port.program == program else { return }
            let carried = Carried((result: result, done: done))
            port.deliver(to: identifier) { carried.value.done($0, carried.value.result) }
        }
    }

    private func outcome<Value>(of procedure: (PhoneLink) async throws -> Value, over link: PhoneLink) async -> Result<Value, any Error> {
        do {
            return .success(try await procedure(link))
        } catch let refusal as HostError where refusal.asksForSecurity {
            do {
                try await secure(link)
                return .success(try await procedure(link))
            } catch {
                return .failure(error)
            }
        } catch {
            return .failure(error)
        }
    }

    /// Raises the security of the link. The user is asked before the phone pairs, even if the pairing itself asks no question.
    private func secure(_ link: PhoneLink) async throws {
        let isBonded = phone.directory.identity(of: identifier).map { phone.host.keys[$0] != nil } ?? false
        guard isBonded || phone.acceptsPairings else { throw HostError.peer(.pairingRefused(.unspecifiedReason)) }
        try await link.secure()
    }

    func add(_ body: @escaping () async -> Void) { add(of: nil) { _ in await body() } }

    private func add(of handle: UInt16?, _ body: @escaping (_ isStale: Bool) async -> Void) {
        jobs.append(Job(handle: handle, body: body))
        guard !isWorking else { return }
        isWorking = true
        _ = phone.loop.start { [self] in
            while !jobs.isEmpty {
                let job = jobs.removeFirst()
                await job.body(job.isStale)
            }
            isWorking = false
        }
    }

    // MARK: Values

    /// The configuration is written when the first manager subscribes and when the last one ends its subscription.
    func setNotify(
        _ isOn: Bool, _ characteristic: CharacteristicHandles, for port: CentralPort,
        done: @escaping (CBPeripheral, Result<Void, any Error>) -> Void
    ) {
        let handle = characteristic.value
        run(for: port, of: handle) { [self] link in
            let before = subscribers[handle] ?? []
            let after = before.filter { $0 !== port } + (isOn ? [port] : [])
            // A value may follow the response at once, and a change of the database may end the subscription before it.
            if isOn { subscribers[handle] = after }
            do {
                if before.isEmpty != after.isEmpty { try await configure(characteristic, isOn, over: link) }
            } catch {
                if isOn { subscribers[handle] = before }
                throw error
            }
            if !isOn { subscribers[handle]?.removeAll { $0 === port } }
        } done: {
            done($0, $1)
        }
    }

    /// Subscriptions to attributes in these ranges have ended with the attributes, and so has what waits for its turn.
    func endUse(of ranges: [ClosedRange<UInt16>]) {
        func hasEnded(_ handle: UInt16) -> Bool { ranges.contains { $0.contains(handle) } }
        for handle in subscribers.keys where hasEnded(handle) { subscribers[handle] = nil }
        for index in jobs.indices { if let handle = jobs[index].handle, hasEnded(handle) { jobs[index].isStale = true } }
        let ended = commands.filter { hasEnded($0.handle) }
        commands.removeAll { hasEnded($0.handle) }
        for command in ended { command.port.deliver(to: identifier) { $0.commandLeft() } }
    }

    private func configure(_ characteristic: CharacteristicHandles, _ isOn: Bool, over link: PhoneLink) async throws {
        let handle = characteristic.value
        guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
            throw HostError.peer(.att(request: .attWriteReq, handle: handle, .requestNotSupported))
        }
        let descriptors = try await descriptors(of: characteristic, over: link)
        guard let configuration = descriptors.first(where: { $0.uuid == .clientConfiguration }) else {
            throw HostError.peer(.att(request: .attWriteReq, handle: handle, .attributeNotFound))
        }
        listen(to: handle, try link.gatt)
        let bits: UInt8 = !isOn ? 0 : characteristic.properties.contains(.notify) ? 1 : 2
        try await link.gatt.write(configuration.handle, [bits, 0])
    }

    /// Receives the values of a handle. Its meaning may change with the database.
    func listen(to handle: UInt16, _ gatt: GATTClient) {
        guard listeners.insert(handle).inserted else { return }
        gatt.values(of: handle).add { [weak self] _, _, value in
            guard let self else { return }
            if handle == changeHandle { databaseChanged(value) } else { received(handle, value.octets) }
        }
    }

    private func received(_ handle: UInt16, _ value: [UInt8]) {
        cache.values[handle] = value
        for port in subscribers[handle] ?? [] { port.deliver(to: identifier) { $0.received(handle, value) } }
    }

    func command(_ handle: UInt16, _ value: [UInt8], for port: CentralPort) {
        commands.append((handle, value, port))
        sendCommands()
    }

    private func sendCommands() {
        while let command = commands.first, let gatt = try? link?.gatt {
            let result = gatt.tryWriteCommand(command.handle, command.value)
            if result == .full { return }
            commands.removeFirst()
            command.port.deliver(to: identifier) { $0.commandLeft() }
        }
    }

    // MARK: Channels

    func openChannel(_ psm: CBL2CAPPSM, for port: CentralPort) {
        let phone = phone
        run(for: port) { link in
            guard let connection = link.le else { throw CBError(.operationNotSupported) }
            return try await connection.openChannel(psm, .phone)
        } done: { peripheral, result in
            let channel = (try? result.get()).map { CBL2CAPChannel($0, peer: peripheral, phone: phone) }
            peripheral.delegate?.peripheral(peripheral, didOpen: channel, error: result.failure)
        }
    }
}

extension HostError {
    /// The peer has refused an operation because the link is not encrypted, or its key not authenticated; a pairing may mend that. It mends
    /// neither a missing authorization nor a short key, as this side's keys are as long as they can be. Core Vol 3, Part A, 4.23; Part C,
    /// 10.3.2; Part F, 3.4.1.1.
    fileprivate var asksForSecurity: Bool {
        switch self {
        case .peer(.att(_, _, let code)): code == .insufficientAuthentication || code == .insufficientEncryption
        case .peer(.channel(.creditBasedRefused(let result))):
            result == .refusedInsufficientAuthentication || result == .refusedInsufficientEncryption
        default: false
        }
    }
}

extension CreditBasedChannelSettings {
    static let phone = CreditBasedChannelSettings(mtu: 2048, mps: 247, initialCredits: 16)
}
