import Packets

/// GATT over BR/EDR: the same database as on LE, on L2CAP channels in basic mode. Core Vol 3, Part G, 2.2 and 9.
extension Host {
    /// What a bearer is carried by.
    static let attributeChannel: ClassicChannelSettings = {
        var settings = ClassicChannelSettings()
        settings.isModeMandatory = true
        return settings
    }()

    /// Lets clients reach the database over BR/EDR, too: on PSM 31, with a service record for each primary service. Core Vol 3, Part G, 9.
    public func offerAttributesOverClassic() {
        guard context.classicServices[ClassicPSM.att] == nil else { return }
        listen(psm: ClassicPSM.att, Self.attributeChannel) { channel, connection in _ = connection.layers.addBearer(channel) }
        context.publishAttributes()
        context.server.databaseChanged = { [unowned context] in context.publishAttributes() }
    }
}

extension HostContext {
    /// What is offered changes with the database.
    fileprivate func publishAttributes() {
        for handle in attributeRecords { discovery.remove(handle) }
        let database = server.database
        attributeRecords = database.services.filter { database[attribute: $0.handle]?.type == .primaryService }.map {
            discovery.add(.attributeService($0.uuid, from: $0.handle, to: $0.endHandle))
        }
    }
}

extension ClassicConnection {
    /// The attribute protocol's client side, on the bearer that is there, or on one that this side opens. Core Vol 3, Part G, 5.3.
    public func openAttributes() async throws -> GATTClient {
        if let bearer = attributeBearer { return GATTClient(bearer) }
        return GATTClient(layers.addBearer(try await openChannel(ClassicPSM.att, Host.attributeChannel)))
    }

    /// The server's values for the peer; nil while it has no bearer.
    public var values: GATTValues? { attributeBearer.map { GATTValues($0) } }
}

extension ClassicConnection: AttributeLink {
    var context: HostContext { host.context }
    var access: AttributeAccess { AttributeAccess(over: self, security: securityLevel.linkSecurity, keySize: encryptionKeySize) }
    var provenBond: Bond? { bond.flatMap { $0.linkKey != nil && $0.linkKey == security.machine.encryption?.linkKey ? $0 : nil } }
    var attributeBearer: ATTBearer? { layers.bearers.first }
}
