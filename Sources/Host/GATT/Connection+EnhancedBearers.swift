import BBPackets
import BBTiming

/// An Enhanced ATT bearer of a connection, for procedures and values on this one only. Core Vol 3, Part F, 3.2.11.
public struct EnhancedBearer {
    let bearer: ATTBearer

    public var isOpen: Bool { bearer.isUsable }
    public var mtu: Int { bearer.mtu }
    /// The longest payload of a K-frame that the peer accepts.
    public var peerMPS: Int { bearer.creditBased?.peerMPS ?? 0 }
    /// True if every PDU handed to the bearer has gone to the link.
    public var isIdle: Bool { bearer.creditBased?.queuedSDUs == 0 }
    /// Called when a value or write command can be sent again after `SendResult.full`.
    public var writable: Listeners<() -> Void> { bearer.creditBased?.writable ?? Listeners() }
    /// A client whose procedures run on this bearer.
    public var gatt: GATTClient { GATTClient(bearer) }
    /// Sends notifications and indications on this bearer.
    public var values: GATTValues { GATTValues(bearer) }

    /// Closes the bearer without waiting for the peer.
    public func close() { bearer.close() }
}

extension Host {
    /// Accepts Enhanced ATT bearers of peers. A host whose database has the bit in Server Supported Features does so from the beginning.
    public func offerEnhancedBearers(_ settings: EnhancedBearerSettings = EnhancedBearerSettings()) {
        context.enhancedBearers = settings
    }
}

extension Connection {
    /// The open Enhanced ATT bearers, whichever side has opened them.
    public var enhancedBearers: [EnhancedBearer] { enhanced.bearers.map { EnhancedBearer(bearer: $0) } }

    /// A client whose procedures run on the bearer with the fewest pending requests; the fixed channel is the last choice.
    public var leastBusyClient: GATTClient {
        GATTClient((enhanced.bearers.filter(\.isHealthy) + [bearer]).min { $0.pendingRequests < $1.pendingRequests } ?? bearer)
    }

    /// Opens Enhanced ATT bearers on an encrypted link. Core Vol 3, Part G, 5.3 and 5.4.
    ///
    /// - Parameter count: 1...5; fewer are opened if the peer or the settings allow no more.
    /// - Returns: the new bearers; none if the peer's own have taken the room meanwhile.
    /// - Throws: `HostError.misuse(.notEncrypted)`, `.misuse(.noChannelLeft)`, `.peer(.channel)` with the refusal.
    @discardableResult
    public func openEnhancedBearers(_ count: Int, _ settings: EnhancedBearerSettings? = nil) async throws -> [EnhancedBearer] {
        try await enhanced.open(count, settings ?? context.enhancedBearers ?? EnhancedBearerSettings())
            .map { EnhancedBearer(bearer: $0) }
    }

    /// As a client, tells the server of Enhanced ATT bearers and Multiple Handle Value Notifications, and opens bearers if the server supports
    /// them. Core Vol 3, Part G, 7.2 and 7.4.
    ///
    /// - Returns: the new bearers; none if the server does not support them: requests stay on the fixed channel then.
    @discardableResult
    public func enableEnhancedBearers(_ count: Int, _ settings: EnhancedBearerSettings? = nil) async throws -> [EnhancedBearer] {
        guard security > .none else { throw HostError.misuse(.notEncrypted) }
        guard try await gatt.readServerFeatures().contains(.enhancedBearer) else { return [] }
        try await declareEnhancedBearers()
        return try await openEnhancedBearers(count, settings)
    }

    /// As a client, tells the server of Enhanced ATT bearers and Multiple Handle Value Notifications; the server may open bearers then. Core
    /// Vol 3, Part G, 7.2.
    public func declareEnhancedBearers() async throws {
        enhanced.isDeclared = true
        try await gatt.declare([.enhancedBearer, .multipleNotifications])
    }

    /// The reason for refusing a channel that needs a level of security. Core Vol 3, Part A, 4.26; Part C, 10.3.1.
    func refusal(below level: LinkSecurity, keySize: Int) -> CreditBasedConnectionResult? {
        var settings = CreditBasedChannelSettings()
        (settings.minimumSecurity, settings.minimumKeySize) = (level, keySize)
        return settings.refusal(security: security, keySize: encryptionKeySize, hasKey: context.keys[peer] != nil)
    }
}

extension GATTClient {
    /// Server Supported Features; none without the characteristic. Core Vol 3, Part G, 7.4.
    func readServerFeatures() async throws -> ServerFeatures {
        do {
            return ServerFeatures(rawValue: try await read(uuid: .serverSupportedFeatures).first?.value.first ?? 0)
        } catch HostError.peer(.att(_, _, .attributeNotFound)) {
            return []
        }
    }

    /// Adds bits to Client Supported Features, if the server has the characteristic. Core Vol 3, Part G, 7.2.
    func declare(_ features: ClientFeatures) async throws {
        do {
            guard let found = try await read(uuid: .clientSupportedFeatures).first else { return }
            let declared = ClientFeatures(rawValue: found.value.first ?? 0)
            guard !declared.isSuperset(of: features) else { return }
            try await write(found.handle, [declared.union(features).rawValue] + found.value.dropFirst())
        } catch HostError.peer(.att(_, _, .attributeNotFound)) {
            return
        }
    }
}
