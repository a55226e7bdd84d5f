import BBPackets
import BBTiming

/// Settings of the Enhanced ATT bearers that a host accepts and opens. Core Vol 3, Part G, 5.3.
public struct EnhancedBearerSettings: Sendable, Hashable {
    /// Most bearers of a connection, 1...5.
    public var most = EnhancedBearers.mostAtOnce
    /// MTU, MPS and credits of each channel. ATT_MTU is the smaller MTU of the two sides, at least 64 octets.
    public var channel = CreditBasedChannelSettings(mtu: UInt16(ATTBearer.maximumMTU), mps: 247, initialCredits: 10)

    public init() {}
}

/// The Enhanced ATT bearers of an LE connection: those that either side has opened. Core Vol 3, Part F, 3.2.11; Part G, 5.3 and 5.4.
final class EnhancedBearers {
    /// Channels in one request. Core Vol 3, Part A, 4.25.
    static let mostAtOnce = 5

    private(set) var bearers: [ATTBearer] = []
    unowned var connection: Connection?
    /// This client has told the server that it supports Enhanced ATT bearers, so the server may open some. Core Vol 3, Part G, 7.2.
    var isDeclared = false
    /// Number of channels requested from the peer.
    private var opening: Int { connection?.channels.requested(to: PSM.eatt) ?? 0 }
    /// A request of the peer was refused since this side has sent its own.
    private var hasCollided = false

    /// The bearer with the fewest pending requests; nil without an open one.
    var next: ATTBearer? {
        guard !bearers.isEmpty else { return nil }
        return bearers.lazy.filter(\.isHealthy).min { $0.pendingRequests < $1.pendingRequests }
    }

    /// The bearer with the fewest pending indications; nil without an open one.
    var nextForIndications: ATTBearer? {
        guard !bearers.isEmpty else { return nil }
        return bearers.lazy.filter(\.isHealthy).min { $0.pendingIndications < $1.pendingIndications }
    }

    /// Settings for the peer's requests; nil if this host takes none.
    private var accepted: EnhancedBearerSettings? {
        connection?.context.enhancedBearers ?? (isDeclared ? EnhancedBearerSettings() : nil)
    }

    private func room(_ most: Int) -> Int { max(0, most - bearers.count - opening) }

    // MARK: Bearers of the peer

    /// Answers the peer's request for channels to EATT.
    func decide(_ kind: CreditBasedKind, count: Int) -> CreditBasedSignaling.Decision {
        guard let connection, let settings = accepted else { return .refuse(.refusedSPSMNotSupported) }
        let quirks = connection.context.quirks.bearers
        guard kind == .enhanced || quirks.admitsOtherMode else { return .refuse(.refusedSPSMNotSupported) }
        if !quirks.admitsInClear, let refusal = connection.refusal(below: .encrypted, keySize: settings.channel.minimumKeySize) {
            return .refuse(refusal)
        }
        let room = room(settings.most)
        if room < count, opening > 0 { hasCollided = true }
        if room == 0 { return .refuse(.refusedNoResources) }
        return room < count ? .acceptFirst(room, settings.channel) : .accept(settings.channel)
    }

    /// Makes a bearer of a channel; nil if the channel has ended.
    @discardableResult
    func adopt(_ channel: CreditBasedChannel) -> ATTBearer? {
        guard let first = connection?.bearer, channel.isOpen else { return nil }
        let bearer = ATTBearer(over: channel, client: first.client, context: first.context, remote: first.remote)
        if first.context.quirks.bearers.ignoresOwnMTU { bearer.setMTU(channel.peerMTU) }
        bearers.append(bearer)
        channel.onReconfigured = { [weak bearer] in bearer?.channelChanged() }
        channel.closed.add { [unowned self, unowned bearer] error in
            bearer.ended(error)
            bearers.removeAll { $0 === bearer }
        }
        return bearer
    }

    // MARK: Own bearers

    /// Opens bearers; repeats a request that has collided with one of the peer.
    ///
    /// - Returns: the new bearers; none if those of the peer have taken the room meanwhile.
    func open(_ count: Int, _ settings: EnhancedBearerSettings) async throws -> [ATTBearer] {
        guard let connection else { return [] }
        guard connection.security > .none || connection.context.quirks.bearers.admitsInClear else { throw HostError.misuse(.notEncrypted) }
        guard (1...Self.mostAtOnce).contains(count), room(settings.most) > 0 else { throw HostError.misuse(.noChannelLeft) }
        hasCollided = false
        for attempt in 1...Connection.bearerRequests {
            let wanted = min(count, room(settings.most))
            guard wanted > 0 else { break }
            do {
                return try await request(wanted, settings.channel, connection)
            } catch HostError.peer(.channel(.creditBasedRefused(.refusedNoResources)))
                where hasCollided && attempt < Connection.bearerRequests
            {
                try await wait(connection)
            }
        }
        return []
    }

    private func request(_ count: Int, _ settings: CreditBasedChannelSettings, _ connection: Connection) async throws -> [ATTBearer] {
        var bearers: [ATTBearer] = []
        // A bearer serves from the response on: the peer's first request may come with it. Core Vol 3, Part A, 4.26.
        _ = try await connection.channels.open(PSM.eatt, settings, .enhanced, count: count) { [self] channel in
            if let bearer = adopt(channel) { bearers.append(bearer) }
        }
        return bearers.filter(\.isUsable)
    }

    private func wait(_ connection: Connection) async throws {
        let parameters = connection.parameters
        try await connection.pauseAfterCollision(parameters.intervalTime * (2 * (Int(parameters.latency) + 1)))
    }
}
