import BBPackets
import BBTiming
import BBTraffic

/// BR/EDR connections initiated by this host and by others. Core Vol 3, Part C, 4 and 7.
final class ClassicConnecting {
    /// All basic rate ACL packet types; EDR types are not excluded. Core Vol 4, Part E, 7.1.5.
    private static let packetTypes: UInt16 = 0xCC18
    /// Number of kept roles of connections that have no Connection_Complete yet.
    private static let mostEarlyRoles = 16

    /// Called with each new LE connection before anything is received on it.
    let opened = Listeners<(ClassicConnection) -> Void>()
    /// Decides about devices that request a connection; nil leaves HCI_Connection_Request to others.
    var accepts: ((BDADDR) -> Bool)?
    /// Devices being paged.
    private var paging: Set<BDADDR> = []
    /// Roles from events that preceded those of their connections.
    private var earlyRoles: [BDADDR: ConnectionRole] = [:]
    private unowned let host: Host

    init(_ host: Host) { self.host = host }

    func connect(to peer: BDADDR) async throws -> ClassicConnection {
        try await host.classicSetup.prepare()
        let command = HCICommands.CreateConnection(
            bdADDR: peer, packetType: Self.packetTypes, pageScanRepetitionMode: 1, clockOffset: 0, allowRoleSwitch: 0)
        paging.insert(peer)
        defer { paging.remove(peer) }
        // The connection is found with its event: later ones of the same turn may end it, or be about the next one.
        let outcome = try await host.commands.outcome(of: command, ends: HCIEvents.ConnectionComplete.self, on: nil) {
            [self] event -> (status: ErrorCode, connection: ClassicConnection?)? in
            guard event.bdADDR == peer, event.linkType == .acl else { return nil }
            paging.remove(peer)
            return (event.status, host.path.classicConnection(event.connectionHandle))
        }
        guard outcome.status == .success, let connection = outcome.connection else {
            throw HostError.peer(.rejected(HCICommands.CreateConnection.name, outcome.status))
        }
        return connection
    }

    // MARK: Events

    func requested(_ event: HCIEvents.ConnectionRequest) {
        guard let accepts else { return }
        guard event.linkType == .acl else { return synchronousRequested(event) }
        guard accepts(event.bdADDR) else {
            return host.commands.post(
                HCICommands.RejectConnectionRequest(bdADDR: event.bdADDR, reason: .connectionRejectedDueToLimitedResources))
        }
        host.commands.post(HCICommands.AcceptConnectionRequest(bdADDR: event.bdADDR, role: .peripheral))
    }

    /// A role switch may be reported before the connection. Core Vol 4, Part E, 7.1.8.
    func roleChanged(_ event: HCIEvents.RoleChange) {
        guard event.status == .success else { return }
        if let connection = host.path.classicConnection(to: event.bdADDR) {
            connection.isCentral = event.newRole == .central
        } else if earlyRoles.count < Self.mostEarlyRoles {
            earlyRoles[event.bdADDR] = event.newRole
        }
    }

    func opened(_ state: ConnectionState) {
        guard let peer = state.peer?.bdADDR else { return }
        if let old = host.path.classicConnection(state.handle) { host.end(old, .connectionTimeout) }
        let slot = host.context.scheduler.open(handle: state.handle.rawValue, pool: 1)
        let connection = ClassicConnection(state.handle, peer: peer, isInitiator: paging.contains(peer), host: host, slot: slot)
        if let role = earlyRoles.removeValue(forKey: peer) { connection.isCentral = role == .central }
        opened.tell { $0(connection) }
        host.path.add(.classic(connection), slot: slot)
        host.peers.opened(connection)
    }

    /// The controller was reset.
    func ended() { earlyRoles.removeAll() }

    // MARK: Synchronous connections

    /// The link's profiles decide on a request of the peer.
    private func synchronousRequested(_ event: HCIEvents.ConnectionRequest) {
        guard let setting = host.path.classicConnection(to: event.bdADDR)?.layers.synchronousSettings(for: event.linkType) else {
            return host.commands.post(
                HCICommands.RejectSynchronousConnectionRequest(
                    bdADDR: event.bdADDR, reason: .connectionRejectedDueToLimitedResources))
        }
        host.commands.post(
            HCICommands.AcceptSynchronousConnectionRequest(
                bdADDR: event.bdADDR, transmitBandwidth: setting.bandwidth, receiveBandwidth: setting.bandwidth,
                maxLatency: setting.maxLatency, voiceSetting: setting.voiceSetting, retransmissionEffort: setting.retransmissionEffort,
                packetType: setting.packetTypes))
    }

    func synchronousCompleted(_ event: HCIEvents.SynchronousConnectionComplete) {
        guard event.status == .success, let link = host.path.classicConnection(to: event.bdADDR) else { return }
        let voice = SynchronousConnection(event, host: host)
        host.path.add(voice)
        link.layers.opened(voice)
    }
}

extension Host {
    /// Called with each new BR/EDR connection before anything is received on it.
    public var newClassicConnections: Listeners<(ClassicConnection) -> Void> { classicConnecting.opened }
    /// Decides about devices that request a connection over BR/EDR; nil leaves HCI_Connection_Request to others.
    public var acceptsClassic: ((BDADDR) -> Bool)? {
        get { classicConnecting.accepts }
        set { classicConnecting.accepts = newValue }
    }

    /// Connects to a BR/EDR device.
    ///
    /// - Throws: `HostError.peer(.rejected)` with the reason, such as Page Timeout.
    public func connectClassic(to peer: BDADDR) async throws -> ClassicConnection { try await classicConnecting.connect(to: peer) }

    /// Accepts channels to a service on BR/EDR. Core Vol 3, Part A, 4.2.
    ///
    /// - Parameter level: required security level of the link; nil for the minimum.
    func listen(
        psm: UInt16, _ settings: ClassicChannelSettings = ClassicChannelSettings(), level: SecurityMode4Level? = nil,
        opened: @escaping (ClassicDataChannel, ClassicConnection) -> Void
    ) {
        context.classicServices[psm] = ClassicService(settings: settings, level: level ?? ClassicService.leastLevel(psm), opened: opened)
    }

    /// Stops accepting channels; open channels stay open.
    func stopListening(psm: UInt16) { context.classicServices[psm] = nil }
}
