import BBPackets
import BBTiming

/// The server of a host: its database and the configurations of its clients. Core Vol 3, Part G, 2.5.
final class GATTServer {
    let database: GATTDatabase
    /// ATT_MTU offered to clients.
    var offeredMTU = ATTBearer.maximumMTU
    /// Called after the clients are notified.
    var databaseChanged: (() -> Void)?
    private var sessions: [GATTServerSession] = []
    /// One queue of prepared writes for all clients, as an injected fault.
    var commonQueue: [GATTServerSession.PreparedWrite] = []
    private var listener: Listeners<(ClosedRange<UInt16>) -> Void>.Token?

    init(database: GATTDatabase) {
        self.database = database
        listener = database.changes.add { [unowned self] range in
            for session in sessions { session.databaseChanged(range) }
            databaseChanged?()
        }
    }

    deinit { if let listener { database.changes.remove(listener) } }

    /// Creates a session for a client. Its stored configuration applies once the link is encrypted with the key of the bond.
    func session(of client: PeerIdentity) -> GATTServerSession {
        let session = GATTServerSession(client: client, database: database)
        session.server = self
        sessions.append(session)
        return session
    }

    /// Configures a client on its other transport, too: it is one client if keys of the same bond encrypt both links. Core Vol 3, Part G, 3.3.3.3.
    fileprivate func configured(_ characteristic: UInt16, _ bits: UInt16, by session: GATTServerSession) {
        if session.quirks.sharesConfigurations { for other in others(than: session) { other.take(characteristic, bits) } }
        guard let client = session.link?.provenBond?.identity else { return }
        for other in sessions where other !== session && other.link?.provenBond?.identity == client { other.take(characteristic, bits) }
    }

    fileprivate var first: GATTServerSession? { sessions.first }
    fileprivate func others(than session: GATTServerSession) -> [GATTServerSession] { sessions.filter { $0 !== session } }

    /// Ends the session of a client.
    func ended(_ session: GATTServerSession) {
        if session.quirks.forgetsTogether { for other in others(than: session) { other.forget() } }
        session.link = nil
        sessions.removeAll { $0 === session }
    }
}

/// Non-zero Client Characteristic Configurations by characteristic value handle. Core Vol 3, Part G, 3.3.3.3.
struct ClientConfigurations: Sendable, Hashable {
    struct Row: Sendable, Hashable {
        var value: UInt16
        var bits: UInt16
    }

    /// Configurations of one client. They are few, so a list is faster than a dictionary.
    private(set) var rows: [Row] = []

    var isEmpty: Bool { rows.isEmpty }

    /// Client Characteristic Configuration: bit 0 notifications, bit 1 indications.
    subscript(value: UInt16) -> UInt16 {
        get {
            for row in rows where row.value == value { return row.bits }
            return 0
        }
        set {
            rows.removeAll { $0.value == value }
            if newValue != 0 { rows.append(Row(value: value, bits: newValue)) }
        }
    }
}

/// Data of a bonded client that a server keeps between connections. Core Vol 3, Part G, 2.5.2.1 and 3.3.3.3.
public struct ClientRecord: Sendable, Hashable {
    var configurations = ClientConfigurations()
    var features: ClientFeatures = []
    /// Database Hash of the client's last known database; nil if it has missed a change.
    var knownHash: [UInt8]?
}

/// One client of the server, with one or more bearers.
final class GATTServerSession {
    let client: PeerIdentity
    let database: GATTDatabase
    private(set) var configurations = ClientConfigurations()
    /// Characteristics that the client has configured on this link.
    private var configured: Set<UInt16> = []
    private(set) var features: ClientFeatures = []
    var awareness = ChangeAwareness()
    weak var server: GATTServer?
    /// The connection until it ends; nil for a server without one.
    unowned var link: (any AttributeLink)?
    /// A configuration from an earlier link was restored. Its values are sent once this link has the required security. Core Vol 3, Part C,
    /// 10.3.1.1.
    private var wasRestored = false
    private var isRestored = false
    /// Number of database changes.
    private var changes = 0
    struct PreparedWrite {
        var handle: UInt16
        var offset: Int
        var value: [UInt8]
    }

    /// The client's queue of prepared writes, one for all its bearers. Core Vol 3, Part F, 3.4.6.
    var prepared: [PreparedWrite] = []
    /// Number of open bearers, and of all so far.
    private(set) var bearers = 0
    private var bearersSoFar = 0

    init(client: PeerIdentity, database: GATTDatabase) {
        self.client = client
        self.database = database
    }

    /// Counts a new bearer.
    ///
    /// - Returns: its number.
    func addBearer() -> Int {
        bearers += 1
        bearersSoFar += 1
        return bearersSoFar
    }

    func removeBearer() {
        bearers -= 1
        if bearers == 0 { prepared.removeAll() }
    }

    // MARK: Several clients

    fileprivate var quirks: ClientQuirks { link?.context.quirks.clients ?? ClientQuirks() }
    /// The sessions with other clients, for faults that mix them up.
    var others: [GATTServerSession] { server?.others(than: self) ?? [] }
    var first: GATTServerSession? { server?.first }
    fileprivate func forget() { configurations = ClientConfigurations() }

    /// The client's access rights, for attribute handlers.
    var access: AttributeAccess {
        let own = link?.access ?? AttributeAccess()
        guard quirks.sharesSecurity else { return own }
        var best = own
        for other in others.compactMap({ $0.link?.access }) where other.security > best.security {
            (best.security, best.keySize) = (other.security, other.keySize)
        }
        return best
    }

    var record: ClientRecord {
        ClientRecord(configurations: configurations, features: features, knownHash: awareness.isAware ? database.databaseHash : nil)
    }

    // MARK: Robust caching

    var isRobust: Bool { features.contains(.robustCaching) }
    /// True if the client must not get values or send commands. Core Vol 3, Part G, 2.5.2.1.
    var isOutOfSync: Bool { isRobust && !awareness.isAware }

    /// Handles a write of Client Supported Features; set bits cannot be cleared, and reserved ones are ignored. Core Vol 3, Part G, 7.2.
    func declare(_ value: RawSpan) -> ATTErrorCode? {
        guard (1...512).contains(value.byteCount) else { return .invalidAttributeValueLength }
        let declared = ClientFeatures(rawValue: value.u8(at: 0)).intersection(.defined)
        guard declared.isSuperset(of: features) else { return .valueNotAllowed }
        features = declared
        hasChanged()
        return nil
    }

    func databaseChanged(_ range: ClosedRange<UInt16>) {
        guard let link, !link.context.quirks.hidesChanges else { return }
        awareness.databaseChanged()
        changes += 1
        hasChanged()
        tellOfChange(range)
    }

    /// The link is encrypted: restores a bonded client's configuration and notifies it of missed changes. Core Vol 3, Part G, 7.1.
    func encrypted() {
        restore()
        if !awareness.isAware { tellOfChange(1...UInt16.max) }
    }

    /// Restores the stored configuration; values configured on this link take precedence.
    private func restore() {
        guard !isRestored, let record = link?.kept else { return }
        isRestored = true
        for row in database.valid(record.configurations).rows where !configured.contains(row.value) {
            configurations[row.value] = row.bits
            wasRestored = true
        }
        features.formUnion(record.features)
        if record.knownHash != database.databaseHash { awareness.databaseChanged() }
    }

    /// Handles a write of a Client Characteristic Configuration.
    func configure(_ characteristic: UInt16, _ bits: UInt16) {
        take(characteristic, bits)
        hasChanged()
        server?.configured(characteristic, bits, by: self)
    }

    fileprivate func take(_ characteristic: UInt16, _ bits: UInt16) {
        configurations[characteristic] = bits
        configured.insert(characteristic)
    }

    /// Sends a Service Changed indication. Core Vol 3, Part G, 7.1.
    private func tellOfChange(_ range: ClosedRange<UInt16>) {
        guard let bearer = link?.attributeBearer, let handle = database.valueHandle(of: .serviceChanged), configurations[handle] & 2 != 0
        else {
            return
        }
        let change = changes
        var writer = ByteWriter()
        writer.u16(range.lowerBound)
        writer.u16(range.upperBound)
        bearer.indicate(handle, writer.bytes) { [weak self] result in
            guard let self, case .success = result, change == changes else { return }
            awareness.confirmed(isOnly: bearers == 1)
            hasChanged()
        }
    }

    // MARK: Bonds

    /// Stores the changed client data with its bond.
    func hasChanged() { link?.keep(record) }

    /// True if the link has the security required to send values of a characteristic.
    func maySend(_ characteristic: UInt16) -> Bool {
        guard wasRestored, let attribute = database[attribute: characteristic] else { return true }
        return access.security >= attribute.permissions.protectionForReading(keySize: 0).level
    }
}
