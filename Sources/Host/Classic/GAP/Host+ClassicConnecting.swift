import HCI
import Packets
import Timing

/// A service that peers may open connection-oriented channels to.
struct ClassicService {
    var settings: ClassicChannelSettings
    var opened: (ClassicDataChannel) -> Void
}

/// Connections over BR/EDR. Core Vol 3, Part C, 4 and 7.
extension Host {
    /// Every ACL packet type of basic rate; packets of enhanced data rate are not excluded. Core Vol 4, Part E, 7.1.5.
    private static let packetTypes: UInt16 = 0xCC18

    /// Which inquiries and pages are answered; whoever connects is let in, unless `acceptsClassic` says otherwise. Core Vol 3, Part C, 4.1 and 4.2.
    public func setScan(isDiscoverable: Bool, isConnectable: Bool) async throws {
        try await prepareClassic()
        acceptsClassic = acceptsClassic ?? { _ in true }
        try await send(HCICommands.WriteScanEnable(scanEnable: (isDiscoverable ? 1 : 0) | (isConnectable ? 2 : 0)))
    }

    /// Connects to a device over BR/EDR.
    ///
    /// - Throws: `HostError.peer(.rejected)` with the reason, such as Page Timeout.
    public func connectClassic(to peer: BDADDR) async throws -> ClassicConnection {
        try await prepareClassic()
        let command = HCICommands.CreateConnection(
            bdADDR: peer, packetType: Self.packetTypes, pageScanRepetitionMode: 1, clockOffset: 0, allowRoleSwitch: 0)
        let event = try await procedure(command, ends: HCIEvents.ConnectionComplete.self, on: nil) {
            $0.bdADDR == peer && $0.linkType == .acl
        }
        guard event.status == .success, let connection = path.classicConnection(event.connectionHandle) else {
            throw HostError.peer(.rejected(HCICommands.CreateConnection.name, event.status))
        }
        return connection
    }

    /// Lets peers open channels to a service over BR/EDR. Core Vol 3, Part A, 4.2.
    func listen(psm: UInt16, _ settings: ClassicChannelSettings = ClassicChannelSettings(), opened: @escaping (ClassicDataChannel) -> Void)
    {
        context.classicServices[psm] = ClassicService(settings: settings, opened: opened)
    }

    /// Lets the events of BR/EDR through, beside those of LE.
    private func prepareClassic() async throws {
        let events: [any HCIEvent.Type] = [HCIEvents.ConnectionComplete.self, HCIEvents.ConnectionRequest.self]
        try await send(HCICommands.SetEventMask(eventMask: .covering(Self.handledEvents + events)))
    }

    // MARK: Events

    func connectionRequested(_ event: HCIEvents.ConnectionRequest) {
        guard let acceptsClassic else { return }
        guard event.linkType == .acl, acceptsClassic(event.bdADDR) else {
            return post(HCICommands.RejectConnectionRequest(bdADDR: event.bdADDR, reason: .connectionRejectedDueToLimitedResources))
        }
        post(HCICommands.AcceptConnectionRequest(bdADDR: event.bdADDR, role: .peripheral))
    }

    func openedClassic(_ state: ConnectionState) {
        guard let peer = state.peer?.bdADDR else { return }
        if let old = path.classicConnection(state.handle) { endClassic(old, .connectionTimeout) }
        let slot = context.scheduler.open(handle: state.handle.rawValue, pool: 1)
        let connection = ClassicConnection(state.handle, peer: peer, host: self, slot: slot)
        newClassicConnections.tell { $0(connection) }
        path.add(connection, slot: slot)
    }

    func endClassic(_ connection: ClassicConnection, _ reason: ErrorCode) {
        let error = HostError.peer(.disconnected(reason))
        connection.ended(error, reason: reason)
        path.remove(connection)
        failWaiters(of: connection.handle.rawValue, error)
    }
}
