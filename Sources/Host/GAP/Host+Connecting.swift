import HCI
import Packets
import Timing

/// How to connect. Core Vol 4, Part E, 7.8.12 and 7.8.66.
public struct ConnectSettings: Sendable, Hashable {
    /// PHYs to listen and connect on.
    public var phys: PHYs = .le1M
    /// N x 0.625 ms.
    public var scanInterval: UInt16 = 0x0060
    /// N x 0.625 ms.
    public var scanWindow: UInt16 = 0x0060
    public var parameters = ConnectionParameterRequest(interval: 24)
    /// Nil: of the address that the host goes by.
    public var ownAddressType: OwnAddressType?
    /// How long to wait for the device.
    public var limit = Microseconds.seconds(10)
    /// Whether to use the extended command; nil: if the controller has it.
    public var usesExtendedCommands: Bool?

    public init() {}
}

extension Host {
    /// Connects to a device, or with nil to the first of the filter accept list.
    ///
    /// - Throws: `HostError.peer(.timedOut)` after the limit, when the attempt has been cancelled; `.peer(.rejected)` with the controller's reason;
    ///   `.misuse(.busy)`, for a controller initiates one connection at a time.
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

    /// Begins to connect; the promise is kept when the controller tells of the connection.
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

    /// Connects, and waits until the peer has answered on the connection. It has not where it did not hear the CONNECT_IND, which the radio's other work or the
    /// air can take; then the host connects anew. Core Vol 6, Part B, 4.5; Vol 1, Part F, 2.62.
    ///
    /// - Parameter attempts: how often to connect at most; the last connection is not waited for.
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

    /// Asks the peer for its features. It may refuse to tell, or the controller to ask.
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
                // The connection may have come first.
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

    /// An identity address that the controller knows private addresses of has a type of its own; in the extended command it has not.
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

    /// Waits for a connection that another device makes to this one, or takes one that has come.
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
