import BBHost
import BBPackets
import BBTiming
import Foundation

/// The connections of a phone as central, shared by its managers.
final class PhoneConnecting {
    private var peers: [UUID: PhonePeer] = [:]
    /// Devices to which a connection is wanted, in the order of the requests.
    private var wanted: [UUID] = []
    private var attempt: (identifier: UUID, activity: Activity<Void>)?
    /// Links that this phone is ending: they serve no further request.
    private var ending: Set<ObjectIdentifier> = []
    private unowned let phone: CBPhone

    /// A controller initiates one connection at a time: with several requests each has a turn.
    private static let turn = Microseconds.seconds(1)
    /// A day, in seconds.
    private static let longestDelay: TimeInterval = 86_400
    private static let wait = Microseconds.milliseconds(50)

    init(_ phone: CBPhone) { self.phone = phone }

    func peer(_ identifier: UUID) -> PhonePeer? { peers[identifier] }

    // MARK: Requests

    func connect(_ identifier: UUID, _ wish: ConnectionWish, for port: CentralPort) {
        let peer = peers[identifier] ?? PhonePeer(identifier, phone)
        peers[identifier] = peer
        peer.users.removeAll { $0 === port }
        peer.users.append(port)
        peer.reconnecting.removeAll { $0 === port }
        if wish.reconnects { peer.reconnecting.append(port) }
        peer.needingNotifications.removeAll { $0 === port }
        if wish.requiresNotifications { peer.needingNotifications.append(port) }
        if peer.isReady {
            peer.tellConnected(port)
            return peer.pairForNotifications()
        }
        guard wish.delay > 0 else { return want(peer) }
        let delay = Microseconds.seconds(min(wish.delay, Self.longestDelay))
        phone.loop.schedule(after: delay) { [self] in
            if peers[identifier] === peer { want(peer) }
        }
    }

    private func want(_ peer: PhonePeer) {
        guard peer.link == nil, !peer.users.isEmpty, !wanted.contains(peer.identifier) else { return }
        wanted.append(peer.identifier)
        next()
    }

    /// Ends the use of a connection by one manager; the last one ends the link.
    ///
    /// The manager is told in any case, as it ignores everything else until then.
    func cancel(_ identifier: UUID, for port: CentralPort) {
        let peer = peers[identifier].flatMap { peer in peer.users.contains { $0 === port } ? peer : nil }
        peer?.users.removeAll { $0 === port }
        let time = Self.now
        port.deliver { $0.cancelled(identifier, at: time) }
        guard let peer, peer.users.isEmpty else { return }
        forget(identifier)
        // Another request makes another connection, while this one ends.
        peers[identifier] = nil
        peer.close()
    }

    /// A manager was released.
    func leave(_ port: CentralPort) {
        for identifier in peers.keys { cancel(identifier, for: port) }
    }

    func stop() {
        for (identifier, peer) in peers {
            forget(identifier)
            peer.users.removeAll()
            peer.close()
        }
        peers.removeAll()
    }

    func end(_ link: PhoneLink) async {
        let identifier = ObjectIdentifier(link.link.acl)
        ending.insert(identifier)
        _ = try? await link.link.disconnect()
        ending.remove(identifier)
    }

    /// Ends the connection to a device, whoever uses it.
    func drop(_ identifier: UUID) {
        guard let peer = peers[identifier], let link = peer.link else { return }
        peer.reconnecting.removeAll()
        _ = phone.loop.start { _ = try? await link.link.disconnect() }
    }

    private func forget(_ identifier: UUID) {
        wanted.removeAll { $0 == identifier }
        if attempt?.identifier == identifier { attempt?.activity.cancel() }
    }

    // MARK: Initiating

    private func next() {
        guard attempt == nil, let identifier = wanted.first, let peer = peers[identifier] else { return }
        let activity = phone.loop.start { [self] in
            let pause = await connect(peer)
            attempt = nil
            // The next device has its turn.
            if wanted.first == identifier { wanted.append(wanted.removeFirst()) }
            phone.loop.schedule(after: pause) { [self] in next() }
        }
        attempt = (identifier, activity)
    }

    /// A link over LE or, to a device with a public address that does not answer there, over BR/EDR. An open link is used.
    private func open(_ identity: PeerIdentity, _ identifier: UUID, _ settings: ConnectSettings) async throws -> PhoneLink {
        if phone.scanning.isOn, phone.host.keys[identity]?.identityResolvingKey != nil, phone.host.links(to: identity).isEmpty {
            // The host looks for a private address only while nobody else scans.
            guard let address = phone.scanning.address(of: identifier) else { throw CBError(.connectionFailed) }
            return PhoneLink(try await phone.host.connect(to: address, settings))
        }
        let isEnding = phone.host.links(to: identity).contains { ending.contains(ObjectIdentifier($0.acl)) }
        // Once it has ended.
        guard !isEnding else { throw CBError(.connectionFailed) }
        // A program in the background pages no device.
        switch try await phone.host.connect(to: identity, over: phone.isInBackground ? .le : nil, settings) {
        case .le(let connection): return PhoneLink(connection)
        case .classic(let connection):
            // Only a device that the phone is paired with has attributes for programs.
            try await connection.secure(to: .unauthenticated)
            return try await PhoneLink(connection)
        }
    }

    /// One turn of one device.
    ///
    /// - Returns: the time until the next turn.
    private func connect(_ peer: PhonePeer) async -> Microseconds {
        guard let identity = phone.directory.identity(of: peer.identifier) else { return Self.wait }
        var settings = ConnectSettings()
        settings.limit = wanted.count > 1 ? Self.turn : .seconds(30)
        settings.parameters = phone.persona.connection
        if phone.directory.isExtended(peer.identifier) { settings.phys = [.le1M, .le2M] }
        do {
            let link = try await open(identity, peer.identifier, settings)
            guard peers[peer.identifier] === peer, wanted.contains(peer.identifier) else {
                await phone.loop.cleanUp(within: .seconds(5)) { _ = try await link.link.disconnect() }
                return .zero
            }
            wanted.removeAll { $0 == peer.identifier }
            peer.opened(link)
        } catch HostError.peer(.timedOut) {
            return .zero
        } catch is CancellationError {
            return .zero
        } catch HostError.environment {
            failed(peer, CBError(.connectionFailed))
        } catch {
            // Busy, or the controller cannot initiate at present: the request stays.
            return Self.wait
        }
        return .zero
    }

    private func failed(_ peer: PhonePeer, _ error: any Error) {
        wanted.removeAll { $0 == peer.identifier }
        peers[peer.identifier] = nil
        let identifier = peer.identifier
        for port in peer.users { port.deliver { $0.failed(identifier, error) } }
    }

    /// The link of a peer has ended.
    func ended(_ peer: PhonePeer, _ reason: ErrorCode) {
        guard peers[peer.identifier] === peer else { return }
        // The device did not answer on the link: the request goes on.
        if reason == .connectionFailedToBeEstablished, !peer.isReady, !peer.users.isEmpty {
            peer.link = nil
            wanted.append(peer.identifier)
            return next()
        }
        peers[peer.identifier] = nil
        let (identifier, time, error) = (peer.identifier, Self.now, peer.failure ?? CoreBluetooth.Failure.error(reason))
        let again = peer.isReady && error != nil ? peer.users.filter { user in peer.reconnecting.contains { $0 === user } } : []
        for port in again { connect(identifier, ConnectionWish(reconnects: true), for: port) }
        for port in peer.users {
            if peer.isReady {
                let isReconnecting = again.contains { $0 === port }
                port.deliver { $0.disconnected(identifier, at: time, error, isReconnecting: isReconnecting) }
            } else {
                port.deliver { $0.failed(identifier, error ?? CBError(.connectionFailed)) }
            }
        }
    }

    private static var now: CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }
}
