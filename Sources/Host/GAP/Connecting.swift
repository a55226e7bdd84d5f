import BBPackets
import BBTiming
import BBTraffic
import DequeModule

/// Parameters for connecting. Core Vol 4, Part E, 7.8.12 and 7.8.66.
public struct ConnectSettings: Sendable, Hashable {
    /// PHYs to scan and connect on. With the extended command, LE 2M is added if the controller has it: a device may advertise on LE 1M and
    /// take connections on LE 2M.
    public var phys: PHYs = .le1M
    /// N x 0.625 ms.
    public var scanInterval: UInt16 = 0x0060
    /// N x 0.625 ms.
    public var scanWindow: UInt16 = 0x0060
    public var parameters = ConnectionParameterRequest(interval: 24)
    /// Own_Address_Type; nil for the type of the host's address.
    public var ownAddressType: OwnAddressType?
    /// Timeout for finding the device.
    public var limit = Microseconds.seconds(10)
    /// Use of the extended command; nil to use it if the controller supports it.
    public var usesExtendedCommands: Bool?

    public init() {}
}

/// LE connections initiated by this host and by others. Core Vol 3, Part C, 9.3.
final class Connecting {
    /// Connections that wait for `nextIncoming`.
    private static let mostArrivals = 16

    /// Called with each new LE connection before anything is received on it.
    let opened = Listeners<(Connection) -> Void>()
    private var attempt: Promise<Connection>?
    /// The caller of the attempt was cancelled: a connection that comes nevertheless is ended.
    private var isAbandoned = false
    /// The own address used for initiating, if known to the host.
    private var initiatingAddress: DeviceAddress?
    private var arrivals = Deque<Connection>()
    private var arrival: Promise<Connection>?
    /// The number of callers that wait for `arrival`.
    private var waiting = 0
    private unowned let host: Host

    init(_ host: Host) { self.host = host }

    var isIdle: Bool { attempt == nil }

    func connect(to device: DeviceAddress?, _ settings: ConnectSettings) async throws -> Connection {
        try host.setup.check()
        guard attempt == nil else { throw HostError.misuse(.busy(.connecting)) }
        var settings = settings
        settings.phys = host.context.trusted(settings.phys)
        let promise = try await host.family.choose(settings.usesExtendedCommands, needsExtended: settings.phys != .le1M) { [settings] in
            try await initiate(device, settings, isExtended: $0)
        }
        return try await outcome(of: promise, within: settings.limit)
    }

    /// Starts connecting; the promise is fulfilled when the controller reports the connection.
    private func initiate(_ device: DeviceAddress?, _ settings: ConnectSettings, isExtended: Bool) async throws -> Promise<Connection> {
        guard isExtended || settings.phys == .le1M else { throw HostError.misuse(.unsupported(.connectingOnOtherPHYs)) }
        var device = device
        if let identity = device { device = try await host.privacy.currentAddress(of: identity, settings) }
        guard attempt == nil else { throw HostError.misuse(.busy(.connecting)) }
        let promise = Promise<Connection>(on: host.loop)
        attempt = promise
        let ownAddressType = settings.ownAddressType ?? host.addresses.type
        initiatingAddress = host.addresses.onAir(ownAddressType, random: host.randomAddress, of: host.controller)
        // A cancellation of the caller ends the initiating, not the wait for the answer to a command that is on its way.
        let sending = host.loop.start { [self, device, settings] in
            if isExtended {
                try await host.send(extendedCommand(device, settings, ownAddressType))
            } else {
                try await host.send(legacyCommand(device, settings, ownAddressType))
            }
        }
        await sending.ended()
        do {
            _ = try sending.result?.get()
        } catch {
            if !promise.isSettled, attempt === promise { attempt = nil }
            throw error
        }
        return promise
    }

    private func outcome(of promise: Promise<Connection>, within limit: Microseconds) async throws -> Connection {
        do {
            do {
                return try await promise.value(until: host.loop.now + limit)
            } catch is TimeOut {
                host.commands.post(HCICommands.LECreateConnectionCancel())
                return try await lastOutcome(of: promise)
            }
        } catch is CancellationError {
            abandon(promise)
            throw CancellationError()
        }
    }

    /// The connection may have been reported before the end of the initiating.
    private func lastOutcome(of promise: Promise<Connection>) async throws -> Connection {
        do {
            return try await promise.value(until: host.loop.now + Host.commandTimeOut)
        } catch HostError.peer(.rejected(_, .unknownConnectionIdentifier)) {
            throw HostError.peer(.timedOut(.connection))
        } catch is TimeOut {
            attempt = nil
            throw HostError.environment(.timedOut(.endOfInitiating))
        }
    }

    /// Ends an attempt whose caller was cancelled, and its connection, which may have come already or may still come.
    private func abandon(_ promise: Promise<Connection>) {
        if attempt === promise {
            isAbandoned = true
            host.commands.post(HCICommands.LECreateConnectionCancel())
        } else if case .success(let connection)? = promise.result, connection.isConnected {
            end(connection)
        }
    }

    private func end(_ connection: Connection) {
        host.commands.post(HCICommands.Disconnect(connectionHandle: connection.handle, reason: .remoteUserTerminatedConnection))
    }

    /// Peer address type: an identity address that the controller resolves has its own type, except in the extended command.
    private func peerAddressType(_ device: DeviceAddress?) -> AddressType {
        guard let device else { return .publicDevice }
        let isResolved = host.privacy.isResolved(device)
        return device.kind == .public ? (isResolved ? .publicIdentity : .publicDevice) : isResolved ? .randomIdentity : .randomDevice
    }

    private func legacyCommand(_ device: DeviceAddress?, _ settings: ConnectSettings, _ ownAddressType: OwnAddressType)
        -> HCICommands.LECreateConnection
    {
        HCICommands.LECreateConnection(
            leScanInterval: settings.scanInterval, leScanWindow: settings.scanWindow, initiatorFilterPolicy: device == nil ? 1 : 0,
            peerAddressType: peerAddressType(device), peerAddress: BDADDR(device?.value ?? 0),
            ownAddressType: ownAddressType, connectionIntervalMin: settings.parameters.intervalMin,
            connectionIntervalMax: settings.parameters.intervalMax, maxLatency: settings.parameters.latency,
            supervisionTimeout: settings.parameters.supervisionTimeout, minCELength: settings.parameters.minCELength,
            maxCELength: settings.parameters.maxCELength)
    }

    private func extendedCommand(_ device: DeviceAddress?, _ settings: ConnectSettings, _ ownAddressType: OwnAddressType)
        -> HCICommands.LEExtendedCreateConnection
    {
        let row = HCICommands.LEExtendedCreateConnection.PHYParameter(
            scanInterval: settings.scanInterval, scanWindow: settings.scanWindow, connectionIntervalMin: settings.parameters.intervalMin,
            connectionIntervalMax: settings.parameters.intervalMax, maxLatency: settings.parameters.latency,
            supervisionTimeout: settings.parameters.supervisionTimeout, minCELength: settings.parameters.minCELength,
            maxCELength: settings.parameters.maxCELength)
        let phys = host.controller.leFeatures.contains(.le2MPHY) ? settings.phys.union(.le2M) : settings.phys
        return HCICommands.LEExtendedCreateConnection(
            initiatorFilterPolicy: device == nil ? 1 : 0, ownAddressType: ownAddressType,
            peerAddressType: AddressType(rawValue: device?.kind.rawValue ?? 0), peerAddress: BDADDR(device?.value ?? 0),
            initiatingPHYs: phys, phyParameters: Array(repeating: row, count: phys.rawValue.nonzeroBitCount))
    }

    func nextIncoming(within limit: Microseconds) async throws -> Connection {
        if let failure = host.failure { throw failure }
        while let connection = arrivals.popFirst() {
            if connection.isConnected { return connection }
        }
        let promise = arrival ?? Promise<Connection>(on: host.loop)
        arrival = promise
        waiting += 1
        defer { waiting -= 1 }
        do {
            return try await promise.value(until: host.loop.now + limit)
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.incomingConnection))
        }
    }

    // MARK: Events

    func opened(_ state: ConnectionState) {
        if let old = host.path.connection(state.handle) { host.end(old, .connectionTimeout) }
        let ownAddress = state.role == .central ? initiatingAddress : host.advertising.address
        let slot = host.context.scheduler.open(handle: state.handle.rawValue, pool: 0)
        guard let connection = Connection(state, host: host, slot: slot, ownAddress: ownAddress) else {
            return host.context.scheduler.close(handle: state.handle.rawValue)
        }
        if !connection.isCentral, !host.privacy.admits(connection.peer, by: connection.addresses.peer) {
            host.commands.post(HCICommands.Disconnect(connectionHandle: connection.handle, reason: .authenticationFailure))
        }
        opened.tell { $0(connection) }
        host.path.add(.le(connection), slot: slot)
        host.peers.opened(connection)
        guard connection.isCentral else { return arrived(connection) }
        if isAbandoned { end(connection) }
        take()?.fulfil(connection)
    }

    private func arrived(_ connection: Connection) {
        host.advertising.connected(connection)
        if waiting > 0, let arrival {
            self.arrival = nil
            arrival.fulfil(connection)
        } else {
            if arrivals.count >= Self.mostArrivals { arrivals.removeFirst() }
            arrivals.append(connection)
        }
    }

    func failed(_ status: ErrorCode) {
        if status == .advertisingTimeout { return host.advertising.legacyTimedOut(status) }
        take()?.fail(HostError.peer(.rejected(HCIEvents.LEConnectionComplete.name, status)))
    }

    private func take() -> Promise<Connection>? {
        defer { (attempt, isAbandoned) = (nil, false) }
        return attempt
    }

    /// The controller was reset.
    func ended(_ error: HostError) {
        take()?.fail(error)
        arrivals.removeAll()
    }

    /// The pipe has ended.
    func failed(_ error: HostError) {
        arrival?.fail(error)
        arrival = nil
    }
}

extension Host {
    /// Called with each new LE connection before anything is received on it.
    public var newConnections: Listeners<(Connection) -> Void> { connecting.opened }

    /// Connects to a device, or with nil to the first one in the filter accept list.
    ///
    /// - Throws: `HostError.peer(.timedOut)` after the limit, once the attempt is cancelled; `.peer(.rejected)` with the controller's
    ///   reason; `.misuse(.busy)`, since a controller initiates one connection at a time.
    public func connect(to device: DeviceAddress?, _ settings: ConnectSettings = ConnectSettings()) async throws -> Connection {
        try await connecting.connect(to: device, settings)
    }

    /// Waits for a connection initiated by another device, or returns one that is already there.
    ///
    /// - Throws: `HostError.environment(.timedOut)`.
    public func nextIncomingConnection(within limit: Microseconds = .seconds(30)) async throws -> Connection {
        try await connecting.nextIncoming(within: limit)
    }

    /// Connects and waits until the peer has responded on the connection. If the peer missed the CONNECT_IND, because of other radio
    /// activity or packet loss, connects again. Core Vol 6, Part B, 4.5; Vol 1, Part F, 2.62.
    ///
    /// - Parameter attempts: maximum number of connections; the last one is not awaited.
    /// - Throws: as `connect(to:_:)`.
    public func connectAnswered(to device: DeviceAddress, _ settings: ConnectSettings = ConnectSettings(), attempts: Int = 3) async throws
        -> Connection
    {
        for _ in 1..<max(1, attempts) {
            let link = try await connect(to: device, settings)
            if try await hasAnswered(link) { return link }
        }
        return try await connect(to: device, settings)
    }

    /// Reads the peer's features to see if it responds; the peer may also reject, as may the controller.
    private func hasAnswered(_ link: Connection) async throws -> Bool {
        do {
            _ = try await link.readRemoteFeatures()
        } catch HostError.peer(.disconnected(.connectionFailedToBeEstablished)) {
            return false
        } catch HostError.peer(.rejected(_, let reason)) {
            guard reason == .connectionFailedToBeEstablished else { return true }
            _ = try await link.ended(within: Self.commandTimeOut)
            return false
        }
        return true
    }
}
