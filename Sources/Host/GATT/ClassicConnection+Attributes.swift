import BBL2CAP
import BBPackets

/// GATT over BR/EDR: the same database as on LE, on L2CAP channels in basic mode. Core Vol 3, Part G, 2.2 and 9.
extension Host {
    /// Settings of the L2CAP channel.
    static let attributeChannel: ClassicChannelSettings = {
        var settings = ClassicChannelSettings()
        settings.isModeMandatory = true
        return settings
    }()

    /// Publishes the database over BR/EDR: on PSM 31, with a service record for each primary service. Core Vol 3, Part G, 9.
    public func offerAttributesOverClassic() {
        guard context.classicServices[PSM.att] == nil else { return }
        listen(psm: PSM.att, Self.attributeChannel) { channel, connection in _ = connection.layers.addBearer(channel) }
        context.publishAttributes()
        context.server.databaseChanged = { [unowned context] in context.publishAttributes() }
    }
}

extension HostContext {
    /// Updates the service records after a change of the database.
    fileprivate func publishAttributes() {
        for handle in attributeRecords { discovery.remove(handle) }
        let database = server.database
        attributeRecords = database.services.filter { database[attribute: $0.handle]?.type == .primaryService }.map {
            discovery.add(.attributeService($0.uuid, from: $0.handle, to: $0.endHandle))
        }
    }
}

extension ClassicConnection {
    /// A GATT client on the existing bearer, or on one that is opened now; repeats a request that has collided with one of the peer. Core Vol 3,
    /// Part G, 5.1 and 5.4.
    public func openAttributes() async throws -> GATTClient {
        hasCollided = false
        var requests = Self.bearerRequests
        while true {
            requests -= 1
            if let bearer = try await arrivingBearer() { return GATTClient(bearer) }
            do {
                return GATTClient(layers.addBearer(try await openChannel(PSM.att, Host.attributeChannel)))
            } catch HostError.peer(.channel(.refused(.refusedNoResources))) where hasCollided && requests > 0 {
                try await pauseAfterCollision()
            }
        }
    }

    /// The bearer on a channel that the peer has opened or is about to open; nil if there is none.
    private func arrivingBearer() async throws -> ATTBearer? {
        try await awaitArrival(psm: PSM.att) { attributeBearer != nil }
        return attributeBearer
    }

    /// Sends notifications and indications to the peer; nil while it has no bearer.
    public var values: GATTValues? { attributeBearer.map { GATTValues($0) } }
}

extension ClassicConnection: AttributeLink {
    var access: AttributeAccess { AttributeAccess(over: self, security: securityLevel.linkSecurity, keySize: encryptionKeySize) }
    var provenBond: Bond? { bond.flatMap { $0.linkKey != nil && $0.linkKey == security.machine.encryption?.linkKey ? $0 : nil } }
    var attributeBearer: ATTBearer? { layers.bearers.first }
    var enhancedAttributeBearers: [ATTBearer] { [] }
}
