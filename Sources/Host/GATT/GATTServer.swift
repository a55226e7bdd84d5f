import Packets
import Timing

/// The server of a host: what it publishes, and what its clients have configured. Core Vol 3, Part G, 2.5.
final class GATTServer {
    let database: GATTDatabase
    /// The ATT_MTU offered to clients.
    var offeredMTU = ATTBearer.maximumMTU
    /// Told after the clients.
    var databaseChanged: (() -> Void)?
    private var sessions: [GATTServerSession] = []
    private var listener: Listeners<(ClosedRange<UInt16>) -> Void>.Token?

    init(database: GATTDatabase) {
        self.database = database
        listener = database.changes.add { [unowned self] range in
            for session in sessions { session.databaseChanged(range) }
            databaseChanged?()
        }
    }

    deinit { if let listener { database.changes.remove(listener) } }

    /// A client has come: a stranger, until the link is encrypted with the key of a bond.
    func session(of client: PeerIdentity) -> GATTServerSession {
        let session = GATTServerSession(client: client, database: database)
        sessions.append(session)
        return session
    }

    /// A client has gone.
    func ended(_ session: GATTServerSession) {
        session.link = nil
        sessions.removeAll { $0 === session }
    }
}

/// Client Characteristic Configurations other than zero, by characteristic value handle. Core Vol 3, Part G, 3.3.3.3.
struct ClientConfigurations: Sendable, Hashable {
    struct Row: Sendable, Hashable {
        var value: UInt16
        var bits: UInt16
    }

    /// Few: found faster in a list than in a dictionary.
    private(set) var rows: [Row] = []

    var isEmpty: Bool { rows.isEmpty }

    /// Bit 0: notifications, bit 1: indications.
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

/// What a server keeps of a bonded client from one connection to the next. Core Vol 3, Part G, 2.5.2.1 and 3.3.3.3.
public struct ClientRecord: Sendable, Hashable {
    var configurations = ClientConfigurations()
    var features: ClientFeatures = []
    /// The Database Hash of what the client knows; nil if it has missed a change.
    var knownHash: [UInt8]?
}

/// One client of the server, on as many bearers as it has.
final class GATTServerSession {
    let client: PeerIdentity
    let database: GATTDatabase
    private(set) var configurations = ClientConfigurations()
    /// The client's configuration on this link.
    private var configured: Set<UInt16> = []
    private(set) var features: ClientFeatures = []
    var awareness = ChangeAwareness()
    /// Until the connection has ended; nil for a server without one.
    unowned var link: (any AttributeLink)?
    /// What the client configured on an earlier link goes out once this one is as well protected as it must be. Core Vol 3, Part C, 10.3.1.1.
    private var wasRestored = false
    private var isRestored = false
    /// How often the database has changed.
    private var changes = 0

    init(client: PeerIdentity, database: GATTDatabase) {
        self.client = client
        self.database = database
    }

    /// Who asks, for the handlers of attributes.
    var access: AttributeAccess { link?.access ?? AttributeAccess() }

    var record: ClientRecord {
        ClientRecord(configurations: configurations, features: features, knownHash: awareness.isAware ? database.databaseHash : nil)
    }

    // MARK: Robust caching

    var isRobust: Bool { features.contains(.robustCaching) }
    /// The client may not be sent values, and may not command. Core Vol 3, Part G, 2.5.2.1.
    var isOutOfSync: Bool { isRobust && !awareness.isAware }

    /// Client Supported Features are written; a bit that was set stays set. Core Vol 3, Part G, 7.2.
    func declare(_ value: RawSpan) -> ATTErrorCode? {
        guard value.byteCount > 0 else { return .invalidAttributeValueLength }
        let declared = ClientFeatures(rawValue: value.u8(at: 0))
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

    /// The link is encrypted: a bonded client finds everything as it left it, and is told of what it has missed. Core Vol 3, Part G, 7.1.
    func encrypted() {
        restore()
        if !awareness.isAware { tellOfChange(1...UInt16.max) }
    }

    /// Takes what was kept of the client; what it has configured on this link meanwhile stays.
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

    /// The client writes a Client Characteristic Configuration.
    func configure(_ characteristic: UInt16, _ bits: UInt16) {
        configurations[characteristic] = bits
        configured.insert(characteristic)
        hasChanged()
    }

    /// Core Vol 3, Part G, 7.1.
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
            awareness.confirmed()
            hasChanged()
        }
    }

    // MARK: Bonds

    /// What is kept of the client with its bond has changed.
    func hasChanged() { link?.keep(record) }

    /// Whether values of a characteristic may go out on the link as it is protected.
    func maySend(_ characteristic: UInt16) -> Bool {
        guard wasRestored, let attribute = database[attribute: characteristic] else { return true }
        return access.security >= attribute.permissions.protectionForReading(keySize: 0).level
    }
}
