import Packets

/// The server of a host: what it publishes, and what its clients have configured. Core Vol 3, Part G, 2.5.
final class GATTServer {
    let database: GATTDatabase
    /// The ATT_MTU offered to clients.
    var offeredMTU = ATTBearer.maximumMTU
    /// Of clients that are bonded and not connected.
    private var configurations: [PeerIdentity: ClientConfigurations] = [:]

    init(database: GATTDatabase) {
        self.database = database
    }

    /// A client has come; one that is bonded finds its configurations as it left them.
    func session(of client: PeerIdentity) -> GATTServerSession {
        GATTServerSession(client: client, configurations: configurations.removeValue(forKey: client) ?? ClientConfigurations())
    }

    /// A client has gone. Configurations last across connections with a bonded client and are reset for others. Core Vol 3, Part G, 3.3.3.3.
    func ended(_ session: GATTServerSession, isBonded: Bool) {
        if isBonded, !session.configurations.isEmpty { configurations[session.client] = session.configurations }
        session.connection = nil
    }
}

/// Client Characteristic Configurations other than zero, by characteristic value handle. Core Vol 3, Part G, 3.3.3.3.
struct ClientConfigurations {
    /// Few: found faster in a list than in a dictionary.
    private var rows: [(value: UInt16, bits: UInt16)] = []

    var isEmpty: Bool { rows.isEmpty }

    /// Bit 0: notifications, bit 1: indications.
    subscript(value: UInt16) -> UInt16 {
        get {
            for row in rows where row.value == value { return row.bits }
            return 0
        }
        set {
            rows.removeAll { $0.value == value }
            if newValue != 0 { rows.append((value, newValue)) }
        }
    }
}

/// One client of the server, on as many bearers as it has.
final class GATTServerSession {
    let client: PeerIdentity
    var configurations: ClientConfigurations
    /// Until the connection has ended; nil for a server without one.
    unowned var connection: Connection?

    init(client: PeerIdentity, configurations: ClientConfigurations = ClientConfigurations()) {
        self.client = client
        self.configurations = configurations
    }

    /// Who asks, for the handlers of attributes.
    var access: AttributeAccess { AttributeAccess(connection: connection, security: connection?.security ?? .none) }
}
