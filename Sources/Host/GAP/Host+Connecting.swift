import HCI
import Packets
import Timing

/// Parameters for connecting. Core Vol 4, Part E, 7.8.12 and 7.8.66.
public struct ConnectSettings: Sendable, Hashable {
    /// PHYs to scan and connect on.
    public var phys: PHYs = .le1M
    /// N x 0.625 ms.
    public var scanInterval: UInt16 = 0x0060
    /// N x 0.625 ms.
    public var scanWindow: UInt16 = 0x0060
    public var parameters = ConnectionParameterRequest(interval: 24)
    /// Nil for the type of the host's address.
    public var ownAddressType: OwnAddressType?
    /// Timeout for finding the device.
    public var limit = Microseconds.seconds(10)
    /// Use of the extended command; nil to use it if the controller supports it.
    public var usesExtendedCommands: Bool?

    public init() {}
}

extension Host {
    /// Connects to a device, or with nil to the first one in the filter accept list.
    ///
    /// - Throws: `HostError.peer(.timedOut)` after the limit, once the attempt is cancelled; `.peer(.rejected)` with the controller's
    ///   reason; `.misuse(.busy)`, since a controller initiates one connection at a time.
    public func connect(to device: DeviceAddress?, _ settings: ConnectSettings = ConnectSettings()) async throws -> Connection {
        guard isStarted else { throw failure ?? HostError.misuse(.notStarted) }
        guard connecting == nil else { throw HostError.misuse(.busy(.connecting)) }
        var settings = settings
        settings.phys = trusted(settings.phys)
        let promise = try await withFamily(settings.usesExtendedCommands, needsExtended: settings.phys != .le1M) { [settings] in
            try await initiate(device, settings, isExtended: $0)
        }
        return try await outcome(of: promise, within: settings.limit)
    }

    /// Starts connecting; the promise is fulfilled when the controller reports the connection.
    private func initiate(_ device: DeviceAddress?, _ settings: ConnectSettings, isExtended: Bool) async throws -> Promise<Connection> {
        guard isExtended || settings.phys == .le1M else { throw HostError.misuse(.unsupported(.connectingOnOtherPHYs)) }
        var device = device
        if let identity = device { device = try await currentAddress(of: identity, settings) }
        guard connecting == nil else { throw HostError.misuse(.busy(.connecting)) }
        let promise = Promise<Connection>(on: loop)
        connecting = promise
        let ownAddressType = settings.ownAddressType ?? self.ownAddressType
        initiatingAddress = ownAddress(ownAddressType, random: randomAddress)
        do {
            if isExtended {
                try await send(Self.extendedCommand(device, settings, ownAddressType))
            } else {
                try await send(legacyCommand(device, settings, ownAddressType))
            }
        } catch {
            if !promise.isSettled, connecting === promise { connecting = nil }
            throw error
        }
        return promise
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

    private func outcome(of promise: Promise<Connection>, within limit: Microseconds) async throws -> Connection {
        do {
            return try await promise.value(until: loop.now + limit)
        } catch is TimeOut {
            post(HCICommands.LECreateConnectionCancel())
            do {
                // The connection may have been reported first.
                return try await promise.value(until: loop.now + Self.commandTimeOut)
            } catch HostError.peer(.rejected(_, .unknownConnectionIdentifier)) {
                throw HostError.peer(.timedOut(.connection))
            } catch is TimeOut {
                connecting = nil
                throw HostError.environment(.timedOut(.endOfInitiating))
            }
        } catch is CancellationError {
            post(HCICommands.LECreateConnectionCancel())
            throw CancellationError()
        }
    }

    /// Peer address type: an identity address that the controller resolves has its own type, except in the extended command.
    private func peerAddressType(_ device: DeviceAddress?) -> AddressType {
        guard let device else { return .publicDevice }
        let isResolved = privacy?.resolved.contains(device) == true
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

    private static func extendedCommand(_ device: DeviceAddress?, _ settings: ConnectSettings, _ ownAddressType: OwnAddressType)
        -> HCICommands.LEExtendedCreateConnection
    {
        let row = HCICommands.LEExtendedCreateConnection.PHYParameter(
            scanInterval: settings.scanInterval, scanWindow: settings.scanWindow, connectionIntervalMin: settings.parameters.intervalMin,
            connectionIntervalMax: settings.parameters.intervalMax, maxLatency: settings.parameters.latency,
            supervisionTimeout: settings.parameters.supervisionTimeout, minCELength: settings.parameters.minCELength,
            maxCELength: settings.parameters.maxCELength)
        return HCICommands.LEExtendedCreateConnection(
            initiatorFilterPolicy: device == nil ? 1 : 0, ownAddressType: ownAddressType,
            peerAddressType: AddressType(rawValue: device?.kind.rawValue ?? 0), peerAddress: BDADDR(device?.value ?? 0),
            initiatingPHYs: settings.phys, phyParameters: Array(repeating: row, count: settings.phys.rawValue.nonzeroBitCount))
    }

    /// Waits for a connection initiated by another device, or returns one that is already there.
    ///
    /// - Throws: `HostError.environment(.timedOut)`.
    public func nextIncomingConnection(within limit: Microseconds = .seconds(30)) async throws -> Connection {
        if let failure { throw failure }
        while let connection = arrivals.popFirst() {
            if connection.isConnected { return connection }
        }
        let promise = arrival ?? Promise<Connection>(on: loop)
        arrival = promise
        do {
            return try await promise.value(until: loop.now + limit)
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.incomingConnection))
        }
    }

    // MARK: Events

    func opened(_ state: ConnectionState) {
        if let old = path.connection(state.handle) { end(old, .connectionTimeout) }
        let ownAddress = state.role == .central ? initiatingAddress : advertisedAddress
        let slot = context.scheduler.open(handle: state.handle.rawValue, pool: 0)
        guard let connection = Connection(state, host: self, context: context, slot: slot, ownAddress: ownAddress) else {
            return context.scheduler.close(handle: state.handle.rawValue)
        }
        if !connection.isCentral, !isKnown(connection.peer, by: connection.addresses.peer) {
            post(HCICommands.Disconnect(connectionHandle: connection.handle, reason: .authenticationFailure))
        }
        newConnections.tell { $0(connection) }
        path.add(connection, slot: slot)
        linkOpened(connection)
        if connection.isCentral {
            let waiting = connecting
            connecting = nil
            waiting?.fulfil(connection)
        } else {
            arrived(connection)
        }
    }

    private func arrived(_ connection: Connection) {
        if let set = advertisingSets[0], !set.isExtended {
            set.isRunning = false
            advertisingSets[0] = nil
        }
        if let waiting = arrival {
            arrival = nil
            waiting.fulfil(connection)
        } else {
            if arrivals.count >= 16 { arrivals.removeFirst() }
            arrivals.append(connection)
        }
    }

    func connectionFailed(_ status: ErrorCode) {
        if status == .advertisingTimeout {
            if let set = advertisingSets[0], !set.isExtended {
                set.isRunning = false
                advertisingSets[0] = nil
                set.end.fulfil(HCIEvents.LEAdvertisingSetTerminated(status: .advertisingTimeout))
            }
            return
        }
        let waiting = connecting
        connecting = nil
        waiting?.fail(HostError.peer(.rejected("LE_Connection_Complete", status)))
    }
}
