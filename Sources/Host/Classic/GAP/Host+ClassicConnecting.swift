import HCI
import Packets
import Timing

/// BR/EDR connections. Core Vol 3, Part C, 4 and 7.
extension Host {
    /// All basic rate ACL packet types; EDR types are not excluded. Core Vol 4, Part E, 7.1.5.
    private static let packetTypes: UInt16 = 0xCC18

    /// Connects to a BR/EDR device.
    ///
    /// - Throws: `HostError.peer(.rejected)` with the reason, such as Page Timeout.
    public func connectClassic(to peer: BDADDR) async throws -> ClassicConnection {
        try await prepareClassic()
        let command = HCICommands.CreateConnection(
            bdADDR: peer, packetType: Self.packetTypes, pageScanRepetitionMode: 1, clockOffset: 0, allowRoleSwitch: 0)
        paging.insert(peer)
        defer { paging.remove(peer) }
        let event = try await procedure(command, ends: HCIEvents.ConnectionComplete.self, on: nil) {
            $0.bdADDR == peer && $0.linkType == .acl
        }
        guard event.status == .success, let connection = path.classicConnection(event.connectionHandle) else {
            throw HostError.peer(.rejected(HCICommands.CreateConnection.name, event.status))
        }
        return connection
    }

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

    // MARK: Events

    func connectionRequested(_ event: HCIEvents.ConnectionRequest) {
        guard let acceptsClassic else { return }
        guard event.linkType == .acl else { return synchronousRequested(event) }
        guard acceptsClassic(event.bdADDR) else {
            return post(HCICommands.RejectConnectionRequest(bdADDR: event.bdADDR, reason: .connectionRejectedDueToLimitedResources))
        }
        post(HCICommands.AcceptConnectionRequest(bdADDR: event.bdADDR, role: .peripheral))
    }

    /// A role switch may be reported before the connection. Core Vol 4, Part E, 7.1.8.
    func roleChanged(_ event: HCIEvents.RoleChange) {
        guard event.status == .success else { return }
        if let connection = classicConnection(to: event.bdADDR) {
            connection.isCentral = event.newRole == .central
        } else if earlyRoles.count < 16 {
            earlyRoles[event.bdADDR] = event.newRole
        }
    }

    func openedClassic(_ state: ConnectionState) {
        guard let peer = state.peer?.bdADDR else { return }
        if let old = path.classicConnection(state.handle) { endClassic(old, .connectionTimeout) }
        let slot = context.scheduler.open(handle: state.handle.rawValue, pool: 1)
        let connection = ClassicConnection(
            state.handle, peer: peer, isInitiator: paging.contains(peer), host: self, slot: slot)
        if let role = earlyRoles.removeValue(forKey: peer) { connection.isCentral = role == .central }
        newClassicConnections.tell { $0(connection) }
        path.add(connection, slot: slot)
        linkOpened(connection)
    }

    func endClassic(_ connection: ClassicConnection, _ reason: ErrorCode) {
        let error = HostError.peer(.disconnected(reason))
        connection.ended(error, reason: reason)
        path.remove(connection)
        failWaiters(of: connection.handle.rawValue, error)
    }
}
